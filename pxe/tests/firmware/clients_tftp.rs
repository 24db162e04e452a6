//! TFTP clients that people and boot loaders use, over both protocols, from one port and from many.

use std::path::Path;
use std::process::Command;

use bessemer_pxe::{Answer, BootServer, BootTarget, Protocol};
use tokio_util::sync::CancellationToken;

use crate::host::{OneHost, config_v6};
use crate::network::{inside, lacks};

/// A client's arguments; `@` is the server, `OUT` the file to write. None: the address cannot be written its way.
fn clients(busybox: &str, v6: bool) -> Vec<Vec<&str>> {
    let mut clients = vec![
        // One that asks for nothing, in netascii: what comes back is the file again.
        vec!["tftp", "@", "-c", "get", "ipxe.efi", "OUT"],
        vec!["tftp", "-m", "octet", "@", "-c", "get", "/ipxe.efi", "OUT"],
        vec!["atftp", "--get", "--remote-file", "ipxe.efi", "--local-file", "OUT", "@"],
        vec![
            "atftp",
            "--option",
            "blksize 1400",
            "--option",
            "windowsize 16",
            "--option",
            "tsize 0",
            "--get",
            "--remote-file",
            "ipxe.efi",
            "--local-file",
            "OUT",
            "@",
        ],
        vec!["curl", "-sS", "--tftp-no-options", "-o", "OUT", "tftp://@/ipxe.efi"],
        vec!["curl", "-sS", "--tftp-blksize", "8192", "-o", "OUT", "tftp://@/ipxe.efi"],
    ];
    // busybox takes no bare IPv6 address where a port may follow.
    if !v6 {
        clients.push(vec![busybox, "tftp", "-g", "-r", "ipxe.efi", "-l", "OUT", "-b", "1468", "@"]);
    }
    clients
}

fn fetch(arguments: &[&str], server: &str, out: &Path) {
    let is_url = |argument: &str| argument.contains("://");
    let arguments: Vec<String> = arguments
        .iter()
        .map(|argument| match *argument {
            "OUT" => out.to_str().unwrap().to_owned(),
            url if is_url(url) && server.contains(':') => url.replace('@', &format!("[{server}]")),
            other => other.replace('@', server),
        })
        .collect();
    let output = Command::new(&arguments[0]).args(&arguments[1..]).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

#[test]
fn tftp_clients_fetch_the_exact_file() {
    if lacks("tftp_clients_fetch_the_exact_file", &["tftp", "atftp", "curl"]) {
        return;
    }
    inside("clients_tftp::tftp_clients_fetch_the_exact_file", async |artefacts| {
        let busybox = artefacts.busybox.to_str().unwrap();
        for single_port in [false, true] {
            let mut config = config_v6(artefacts);
            config.tftp.single_port = single_port;
            let host = OneHost::new(BootTarget::LocalDisk);
            let cancel = CancellationToken::new();
            let server = BootServer::start(config, host.clone(), cancel.clone()).await.unwrap();
            let mut fetched = 0;
            for address in ["10.77.0.1", "fd77::1"] {
                for client in clients(busybox, address.contains(':')) {
                    let folder = tempfile::tempdir().unwrap();
                    let out = folder.path().join("file");
                    fetch(&client, address, &out);
                    assert!(std::fs::read(&out).unwrap() == artefacts.ipxe_efi, "{client:?} {address}");
                    fetched += 1;
                }
            }
            let said = host.answers(Protocol::Tftp);
            let sent = said.iter().filter(|(_, answer, _)| matches!(answer, Answer::Sent { resent: 0, .. })).count();
            assert_eq!((sent, said.len()), (fetched, fetched), "{said:?}");
            let windows = said.iter().filter(|(.., why)| why.contains("windows of 16 blocks of 1400")).count();
            assert_eq!(windows, 2, "atftp did not get its windows: {said:?}");
            cancel.cancel();
            server.stopped().await;
        }
    });
}
