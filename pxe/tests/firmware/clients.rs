//! Clients of installed systems, and a second server beside ours.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use bessemer_pxe::BootTarget;
use tokio_util::sync::CancellationToken;

use crate::MAC;
use crate::host::{OneHost, serve, start};
use crate::network::{self, inside};

#[test]
fn an_installed_system_gets_its_lease_and_a_stranger_gets_none() {
    inside("clients::an_installed_system_gets_its_lease_and_a_stranger_gets_none", async |artefacts| {
        let host = OneHost::new(BootTarget::LocalDisk);
        let _server = serve(artefacts, host.clone()).await;
        network::add_wire("client0", "wire0");
        let script =
            r#"[ "$1" = bound ] && echo "$ip/$mask lease=$lease server=$serverid file=${boot_file:-none}"; true"#;
        let hook = tempfile::Builder::new().permissions(std::fs::Permissions::from_mode(0o755)).tempfile().unwrap();
        std::fs::write(hook.path(), format!("#!/bin/sh\n{script}\n")).unwrap();
        let hook = hook.into_temp_path();
        let ask = |mac: &str| {
            network::ip(&["link", "set", "client0", "address", mac]).unwrap();
            let mut client = std::process::Command::new(&artefacts.busybox);
            client.args(["udhcpc", "-i", "client0", "-f", "-q", "-n", "-t", "3", "-T", "1", "-s"]).arg(&hook);
            let output = client.output().unwrap();
            (output.status.success(), String::from_utf8(output.stdout).unwrap())
        };
        let expected = "10.77.0.160/24 lease=600 server=10.77.0.1 file=none\n";
        assert_eq!(ask(&MAC.to_string()), (true, expected.to_owned()));
        assert_eq!(ask("52:54:00:00:00:02"), (false, String::new()));
    });
}

#[test]
fn curl_fetches_by_tftp() {
    inside("clients::curl_fetches_by_tftp", async |artefacts| {
        let _server = serve(artefacts, OneHost::new(BootTarget::LocalDisk)).await;
        for options in [&["--tftp-no-options"][..], &["--tftp-blksize", "1024"], &["--tftp-blksize", "8192"]] {
            let output =
                std::process::Command::new("curl").arg("-sS").args(options).arg("tftp://10.77.0.1/ipxe.efi").output();
            assert!(output.unwrap().stdout == artefacts.ipxe_efi, "{options:?}");
        }
        let none = std::process::Command::new("curl").args(["-sS", "tftp://10.77.0.1/etc/passwd"]).output().unwrap();
        assert!(!none.status.success() && none.stdout.is_empty(), "{none:?}");
    });
}

#[test]
fn a_second_server_is_told_which_port_is_taken_and_a_cancelled_one_frees_it() {
    inside("clients::a_second_server_is_told_which_port_is_taken_and_a_cancelled_one_frees_it", async |artefacts| {
        let host = OneHost::new(BootTarget::LocalDisk);
        let cancel = CancellationToken::new();
        let server = start(artefacts, host.clone(), cancel.clone()).await.unwrap();
        let error = start(artefacts, host.clone(), cancel.clone()).await.unwrap_err();
        let said = "DHCP cannot listen on UDP 0.0.0.0:67 of br0: the port is taken; stop the other DHCP server \
                        (`ss -lpn sport = :67` names it) or choose another interface";
        assert_eq!(error.to_string(), said);
        cancel.cancel();
        tokio::time::timeout(Duration::from_secs(5), server.stopped()).await.unwrap();
        start(artefacts, host, CancellationToken::new()).await.unwrap();
    });
}
