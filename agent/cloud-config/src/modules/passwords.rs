//! `chpasswd`, `password` and `ssh_pwauth`.

use super::users::chpasswd;
use super::{ConfigError, sections, warn_unknown};
use crate::yaml::Node;
use crate::{ApplyError, Program, System};

pub(super) const KEYS: [&str; 3] = ["chpasswd", "password", "ssh_pwauth"];

#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Passwords {
    /// User, password, whether it is a hash.
    users: Vec<(String, String, bool)>,
    /// Of the default user.
    default: Option<String>,
    expire: bool,
    by_ssh: Option<bool>,
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passwords").field("users", &self.users.len()).finish_non_exhaustive()
    }
}

impl Passwords {
    pub(super) fn is_empty(&self) -> bool {
        self.users.is_empty() && self.default.is_none() && self.by_ssh.is_none()
    }
}

pub(super) fn read(config: &Node, warnings: &mut Vec<String>) -> Result<Passwords, ConfigError> {
    let mut passwords = Passwords { expire: true, ..Passwords::default() };
    let default = sections::text(config, "", "password")?;
    if let Some(section) = config.get("chpasswd") {
        warn_unknown(section, "chpasswd", &["expire", "users", "list"], warnings);
        passwords.expire = sections::flag(section, "chpasswd", "expire", true)?;
        let mut add = |name: &str, password: &str, hashed: bool| {
            if password == "R" || password == "RANDOM" {
                // nobody would learn it: consoles are not logs
                warnings.push(format!("chpasswd: no random password is made for user {}", sections::shown(name)));
            } else {
                passwords.users.push((name.to_owned(), password.to_owned(), hashed));
            }
        };
        for line in sections::words(section, "chpasswd", "list")?.iter().flat_map(|text| text.lines()) {
            if let Some((name, password)) = line.split_once(':') {
                add(name.trim(), password, is_hash(password));
            }
        }
        for (index, item) in section.get("users").map(Node::items).unwrap_or_default().iter().enumerate() {
            let place = format!("chpasswd.users[{index}]");
            let name = sections::text(item, &place, "name")?.ok_or_else(|| ConfigError::new(&place, "has no name"))?;
            let kind = sections::text(item, &place, "type")?.unwrap_or_else(|| "hash".to_owned());
            let password = sections::text(item, &place, "password")?;
            match (kind.as_str(), password) {
                ("RANDOM", _) => add(&name, "RANDOM", false),
                ("hash" | "text", Some(password)) => add(&name, &password, kind == "hash"),
                _ => return Err(ConfigError::new(place, "has no password, or a type that is not known")),
            }
        }
    }
    for (name, password, _) in &passwords.users {
        sections::one_line(name, "chpasswd")?;
        sections::one_line(password, "chpasswd")?;
    }
    passwords.default = default.filter(|_| passwords.users.is_empty());
    if let Some(password) = &passwords.default {
        sections::one_line(password, "password")?;
    }
    passwords.by_ssh = match config.get("ssh_pwauth") {
        None => None,
        Some(value) => match value.flag() {
            Some(flag) => Some(flag),
            None if value.text() == Some("unchanged") => None,
            None => return Err(ConfigError::new("ssh_pwauth", "is none of true, false, unchanged")),
        },
    };
    Ok(passwords)
}

/// `$1$`, `$2a$`, `$2y$`, `$5$` and `$6$`, cloud-init's list, and yescrypt's.
fn is_hash(password: &str) -> bool {
    let mut parts = password.split('$');
    parts.next() == Some("")
        && parts.next().is_some_and(|kind| ["1", "2a", "2y", "5", "6", "y"].contains(&kind))
        && parts.filter(|part| !part.is_empty()).count() >= 2
        && !password.contains(':')
}

pub(super) fn apply(
    passwords: &Passwords,
    default_user: Option<&str>,
    system: &mut System<'_>,
) -> Result<(), ApplyError> {
    let mut users = passwords.users.clone();
    match (&passwords.default, default_user) {
        (Some(password), Some(user)) => users.push((user.to_owned(), password.clone(), is_hash(password))),
        (Some(_), None) => system.warn("password: there is no default user to whom it could belong"),
        (None, _) => {}
    }
    for (name, password, hashed) in &users {
        chpasswd(system, name, password, *hashed)?;
    }
    if passwords.expire {
        users.iter().try_for_each(|(name, ..)| system.run(&Program::new(["passwd", "--expire", name])))?;
    }
    match passwords.by_ssh {
        Some(allowed) => password_login(allowed, system),
        None => Ok(()),
    }
}

/// sshd takes the first value it meets: a file of its folder if it has one, else its own file.
fn password_login(allowed: bool, system: &mut System<'_>) -> Result<(), ApplyError> {
    const MAIN: &str = "/etc/ssh/sshd_config";
    let main = system.read(MAIN);
    if main.is_empty() {
        system.warn("ssh_pwauth: there is no /etc/ssh/sshd_config");
        return Ok(());
    }
    let included = main.lines().any(|line| line.starts_with(&format!("Include {MAIN}.d/*.conf")));
    let (file, mode) =
        if included { (format!("{MAIN}.d/50-cloud-init.conf"), 0o600) } else { (MAIN.to_owned(), 0o644) };
    let before = system.read(&file);
    let value = format!("PasswordAuthentication {}", if allowed { "yes" } else { "no" });
    let is_ours = |line: &str| {
        line.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("PasswordAuthentication"))
    };
    let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
    match lines.iter().any(|line| is_ours(line)) {
        true => lines.iter_mut().filter(|line| is_ours(line)).for_each(|line| line.clone_from(&value)),
        false => lines.push(value),
    }
    let after = lines.join("\n") + "\n";
    if after == before {
        return Ok(());
    }
    system.write(&file, &after, mode)?;
    let restart = ["ssh", "sshd"].map(|name| Program::new(["systemctl", "try-restart", name]));
    // a service of either name, or one that does not run yet
    restart.iter().for_each(|program| drop(system.run(program)));
    Ok(())
}
