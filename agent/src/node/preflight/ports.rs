//! Ports that must be free, and who has them otherwise.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use super::Findings;
use crate::files;
use crate::node::kubeadm::config::Config;

/// `TCP_LISTEN` in the kernel's tables.
const LISTENING: &str = "0A";

pub(super) fn check(root: &Path, config: &Config, findings: &mut Findings) {
    let mut wanted = vec![(10_250, "the kubelet")];
    if config.control_plane {
        wanted.push((config.api_port.unwrap_or(6443), "the API server"));
        wanted.extend([(10_257, "the controller manager"), (10_259, "the scheduler"), (2379, "etcd"), (2380, "etcd")]);
    }
    for (port, whose) in wanted {
        if config.ignores(&format!("port-{port}")) || is_free(port) {
            continue;
        }
        let holder = holder(root, port).unwrap_or_else(|| "another program".to_owned());
        findings
            .fatal
            .push(format!("port {port}, which {whose} needs, is taken by {holder}: end that, or deploy the host anew"));
    }
}

fn is_free(port: u16) -> bool {
    !TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
}

/// The name and number of the process that listens there.
fn holder(root: &Path, port: u16) -> Option<String> {
    let tables = ["proc/net/tcp", "proc/net/tcp6"];
    let of = |table: &&str| listener(&fs::read_to_string(root.join(table)).ok()?, port).map(str::to_owned);
    let socket = tables.iter().find_map(of)?;
    let link = format!("socket:[{socket}]");
    let processes = files::entries(root.join("proc")).into_iter();
    let process =
        processes.filter(|path| files::name(path).bytes().all(|byte| byte.is_ascii_digit())).find(|process| {
            let mut open = files::entries(process.join("fd")).into_iter();
            open.any(|file| fs::read_link(file).is_ok_and(|target| target.as_os_str() == link.as_str()))
        })?;
    let name = files::line(process.join("comm"))?;
    Some(format!("{name} (process {})", files::name(&process)))
}

/// The inode of the socket that listens on `port`, by the kernel's table.
fn listener(table: &str, port: u16) -> Option<&str> {
    let port = format!("{port:04X}");
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, local) = fields.get(1)?.rsplit_once(':')?;
        (local == port && *fields.get(3)? == LISTENING).then(|| fields.get(9).copied())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_a_port_is_named() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        assert!(!is_free(port));
        let holder = holder(Path::new("/"), port).unwrap();
        assert!(holder.ends_with(&format!("(process {})", std::process::id())), "{holder}");
        drop(taken);
        assert!(is_free(port));
    }

    #[test]
    fn a_connection_on_the_port_is_no_listener() {
        let table = "  sl  local_address rem_address   st tx rx tr tm retr uid timeout inode\n   0: 0100007F:280A 0100007F:1F90 01 0:0 0:0 0 0 0 111 1\n   1: 00000000:280A 00000000:0000 0A 0:0 0:0 0 0 0 222 1\n";
        assert_eq!(listener(table, 10_250), Some("222"));
        assert_eq!(listener(table, 10_251), None);
    }
}
