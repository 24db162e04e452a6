use std::sync::Arc;

use bessemer_fake_bmc::host::boot::Persistence;
use bessemer_fake_bmc::host::power::PowerState;
use bessemer_fake_bmc::host::users::Users;
use bessemer_fake_bmc::ipmi::{Options, Server};
use bessemer_fake_bmc::{Host, HostOptions};

use crate::transcript::{PASSWORD, Transcript};

#[tokio::test(flavor = "multi_thread")]
async fn the_same_commands_do_the_same_over_ipmi() {
    let options = HostOptions { users: Users::administrator("admin", PASSWORD), ..HostOptions::numbered(1) };
    let host = Host::new(options);
    let server = Server::start(Arc::clone(&host), Options::default()).await.unwrap();
    let access = format!("-a ipmi://{} -u admin", server.address());
    let mut said = Transcript::new("ipmi");
    said.hide(&access, "ACCESS");
    said.hide(server.address(), "BMC");
    said.hide(server.address().port(), "PORT5");
    tokio::task::block_in_place(|| {
        let mut run = |words: &str| said.run(&format!("{words} {access}"));
        for words in ["info", "info -o json", "power on", "power status -o yaml", "power cycle"] {
            assert_eq!(run(words), 0, "{words}");
        }
        assert_eq!((host.power(), host.boots()), (PowerState::On, 2));
        for words in ["boot pxe --once", "boot disk", "sensors", "console --ways"] {
            assert_eq!(run(words), 0, "{words}");
        }
        let boot = host.boot_override();
        assert_eq!((boot.target.as_str(), boot.enabled), ("Hdd", Persistence::Continuous));
        // what IPMI has no words for
        for words in ["media list", "media insert http://10.0.0.1/boot.iso", "boot http http://10.0.0.1/boot.efi"] {
            assert_eq!(run(words), 6, "{words}");
        }
        // what IPMI cannot do to a certificate it has not
        for words in ["power status --insecure", "power status --pin aa", "power status --ca-file ca.pem"] {
            assert_eq!(run(words), 2, "{words}");
        }
        assert_eq!(run("power off"), 0);
        let wrong = [("BESSEMER_BMC_PASSWORD", "wrong")];
        assert_eq!(said.run_with(&format!("power status {access}"), &wrong, ""), 5);
    });
    said.check();
    assert_eq!(server.open_sessions(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_is_typed_into_read_and_left() {
    let options = HostOptions { users: Users::administrator("admin", PASSWORD), ..HostOptions::numbered(1) };
    let host = Host::new(options);
    // its serial port sends back what it gets
    let server = Server::start(host, Options::default()).await.unwrap();
    let words = format!("console -a ipmi://{} -u admin", server.address());
    let mut said = Transcript::new("console");
    let (keys, environment) = ("login: ~.\nroot\n~~\n~.never sent\n", [("BESSEMER_BMC_PASSWORD", PASSWORD)]);
    let code = tokio::task::block_in_place(|| said.run_with(&words, &environment, keys));
    assert_eq!(code, 0, "{}", said.text());
    assert!(!said.text().contains("never sent"), "{}", said.text());
    assert_eq!(server.open_sessions(), 0, "{}", said.text());
}
