//! `ntp`, for whichever of chrony, systemd-timesyncd and ntpd the image has.

use super::{ConfigError, sections, warn_unknown};
use crate::yaml::Node;
use crate::{ApplyError, Program, System};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ntp {
    servers: Vec<String>,
    pools: Vec<String>,
    /// `chrony`, `systemd-timesyncd`, `ntp`; none is whichever is found.
    client: Option<String>,
}

pub(super) fn read(config: &Node, warnings: &mut Vec<String>) -> Result<Option<Ntp>, ConfigError> {
    let Some(section) = config.get("ntp") else { return Ok(None) };
    warn_unknown(section, "ntp", &["enabled", "servers", "pools", "ntp_client"], warnings);
    if !sections::flag(section, "ntp", "enabled", true)? {
        return Ok(None);
    }
    let ntp = Ntp {
        servers: sections::words(section, "ntp", "servers")?,
        pools: sections::words(section, "ntp", "pools")?,
        client: sections::text(section, "ntp", "ntp_client")?.filter(|client| client != "auto"),
    };
    for name in ntp.servers.iter().chain(&ntp.pools) {
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '#') {
            return Err(ConfigError::new("ntp", "a server's name has blanks"));
        }
    }
    if ntp.servers.is_empty() && ntp.pools.is_empty() {
        warnings.push("cloud-config ntp names no servers: the image's own stay".to_owned());
        return Ok(None);
    }
    Ok(Some(ntp))
}

/// A client: its name, what shows that it is there, its file, its service.
const CLIENTS: [(&str, &[&str], &str, &str); 3] = [
    ("chrony", &["/usr/sbin/chronyd"], "/etc/chrony/chrony.conf", "chrony"),
    (
        "systemd-timesyncd",
        &["/lib/systemd/systemd-timesyncd", "/usr/lib/systemd/systemd-timesyncd"],
        "/etc/systemd/timesyncd.conf.d/cloud-init.conf",
        "systemd-timesyncd",
    ),
    ("ntp", &["/usr/sbin/ntpd"], "/etc/ntp.conf", "ntp"),
];

/// Other distributions' file for chrony, when it is there.
const OTHER_CHRONY: &str = "/etc/chrony.conf";

pub(super) fn apply(ntp: &Ntp, system: &mut System<'_>) -> Result<(), ApplyError> {
    let wanted = |name: &str| ntp.client.as_deref().is_none_or(|client| client == name);
    let found = CLIENTS.iter().find(|(name, programs, ..)| {
        wanted(name) && (ntp.client.is_some() || programs.iter().any(|program| system.path(program).is_file()))
    });
    let Some((name, programs, file, service)) = found else {
        let client = ntp.client.as_deref().unwrap_or("chrony, systemd-timesyncd or ntpd");
        system.warn(format!("ntp: the image has no {client}: time servers are not set"));
        return Ok(());
    };
    if !programs.iter().any(|program| system.path(program).is_file()) {
        system.warn(format!("ntp: {name} is asked for, and the image does not have it: it is configured all the same"));
    }
    let lines = |word: &str, names: &[String], option: &str| -> String {
        names.iter().map(|name| format!("{word} {name}{option}\n")).collect()
    };
    let content = match *name {
        "chrony" => format!(
            "# Written by the host's agent.\n{}{}keyfile /etc/chrony/chrony.keys\ndriftfile /var/lib/chrony/chrony.drift\nlogdir /var/log/chrony\nmaxupdateskew 100.0\nrtcsync\nmakestep 1 3\n",
            lines("pool", &ntp.pools, " iburst"),
            lines("server", &ntp.servers, " iburst")
        ),
        "systemd-timesyncd" => {
            let all: Vec<&str> = ntp.servers.iter().chain(&ntp.pools).map(String::as_str).collect();
            format!("# Written by the host's agent.\n[Time]\nNTP={}\n", all.join(" "))
        }
        _ => format!(
            "# Written by the host's agent.\ndriftfile /var/lib/ntp/ntp.drift\n{}{}restrict -4 default kod notrap nomodify nopeer noquery limited\nrestrict -6 default kod notrap nomodify nopeer noquery limited\nrestrict 127.0.0.1\nrestrict ::1\n",
            lines("pool", &ntp.pools, " iburst"),
            lines("server", &ntp.servers, " iburst")
        ),
    };
    let other = *name == "chrony" && !system.path(file).exists() && system.path(OTHER_CHRONY).is_file();
    let file = if other { OTHER_CHRONY } else { file };
    let service = if other { "chronyd" } else { service };
    // as cloud-init leaves it
    if system.path(file).is_file() && !system.path(&format!("{file}.dist")).exists() {
        let moved = std::fs::rename(system.path(file), system.path(&format!("{file}.dist")));
        moved.map_err(|error| ApplyError::io(std::path::Path::new(file), &error))?;
    }
    system.write(file, &content, 0o644)?;
    if let Err(error) = system.run(&Program::new(["systemctl", "try-reload-or-restart", service])) {
        system.warn(format!("ntp: {error}: the servers count from the next start on"));
    }
    Ok(())
}
