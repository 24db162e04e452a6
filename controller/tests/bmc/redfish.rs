use std::sync::Arc;
use std::time::Duration;

use bessemer_fake_bmc::host::boot::Persistence;
use bessemer_fake_bmc::host::power::{PowerState, Timing};
use bessemer_fake_bmc::host::users::Users;
use bessemer_fake_bmc::redfish::tls::Tls;
use bessemer_fake_bmc::redfish::{Fault, Rule};
use bessemer_fake_bmc::{FakeBmc, HostOptions, fleet, seed};

use crate::transcript::{PASSWORD, Transcript};

async fn fake() -> FakeBmc {
    let options = HostOptions { users: Users::administrator("admin", PASSWORD), ..HostOptions::numbered(1) };
    fleet::start_one(&seed::minimal().unwrap(), options, Tls::SelfSigned).await.unwrap()
}

/// How to get at it, in words of the command line.
fn access(bmc: &FakeBmc) -> String {
    let pin: String = fingerprint(bmc.certificate().unwrap());
    format!("-a redfish://{} -u admin --pin {pin}", bmc.address())
}

fn fingerprint(certificate: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn transcript(name: &'static str, bmc: &FakeBmc) -> Transcript {
    let mut transcript = Transcript::new(name);
    transcript.hide(access(bmc), "ACCESS");
    transcript.hide(bmc.address(), "BMC");
    transcript
}

/// Commands run beside the fake: its tasks need a thread.
fn beside<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    tokio::task::block_in_place(act)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_is_shown_in_words_json_and_yaml() {
    let bmc = fake().await;
    bmc.host().note("Warning", "Fan 2 is slow");
    let access = access(&bmc);
    let mut said = transcript("read", &bmc);
    beside(|| {
        for words in [
            "info",
            "info -o json",
            "info -o yaml",
            "info --capabilities",
            "info --inventory",
            "power status",
            "power status -o json",
            "media list",
            "media list -o json",
            "sensors",
            "sensors -o yaml",
            "console --ways",
        ] {
            assert_eq!(said.run(&format!("{words} {access}")), 0, "{words}");
        }
    });
    said.check();
    let mut log = Transcript::new("log");
    let entry = beside(|| log.run(&format!("log {access}")));
    assert_eq!(entry, 0);
    // with its time, which is now
    assert!(log.text().contains("Fan 2 is slow") && log.text().contains("SEVERITY"), "{}", log.text());
    let sessions = bmc.redfish().session_counts();
    assert_eq!((sessions.open, sessions.peak, sessions.created), (0, 1, sessions.deleted), "{sessions:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_comes_about_and_is_read_back() {
    let bmc = fake().await;
    let (access, host) = (access(&bmc), Arc::clone(bmc.host()));
    let mut said = transcript("write", &bmc);
    beside(|| {
        let mut run = |words: &str| assert_eq!(said.run(&format!("{words} {access}")), 0, "{words}");
        run("power on");
        assert_eq!((host.power(), host.boots()), (PowerState::On, 1));
        run("power reset -o json");
        run("power cycle -o yaml");
        assert_eq!((host.power(), host.boots()), (PowerState::On, 3));
        run("power off --soft");
        assert_eq!(host.power(), PowerState::Off);
        run("power on");
        run("power off");
        assert_eq!(host.power(), PowerState::Off);
        for (words, target, enabled) in [
            ("boot pxe --once", "Pxe", Persistence::Once),
            ("boot cd -o json", "Cd", Persistence::Continuous),
            ("boot disk --once -o yaml", "Hdd", Persistence::Once),
            ("boot http http://10.0.0.1/boot.efi --once", "UefiHttp", Persistence::Once),
        ] {
            run(words);
            let boot = host.boot_override();
            assert_eq!((boot.target.as_str(), boot.enabled), (target, enabled), "{words}");
        }
        assert_eq!(host.boot_override().http_uri.as_deref(), Some("http://10.0.0.1/boot.efi"));
        run("boot none");
        assert_eq!(host.boot_override().enabled, Persistence::Disabled);
        run("media insert http://10.0.0.1/boot.iso");
        run("media list");
        run("media eject");
        run("media eject -o json");
    });
    said.check();
    assert_eq!(bmc.redfish().session_counts().open, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_way_to_fail_has_its_words_and_its_exit_code() {
    let bmc = fake().await;
    let access = access(&bmc);
    let address = format!("-a redfish://{} -u admin", bmc.address());
    let mut said = transcript("fail", &bmc);
    let trusted = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(trusted.path(), bmc.trusted().unwrap()).unwrap();
    said.hide(trusted.path().display(), "CA");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    said.hide(nobody, "NOBODY");
    beside(|| {
        assert_eq!(said.run("power status"), 2);
        assert_eq!(said.run("power status -a redfish://bmc"), 2);
        assert_eq!(said.run("power status -a gopher://bmc -u admin"), 2);
        assert_eq!(said.run_with(&format!("power status {address} --insecure"), &[], ""), 2);
        assert_eq!(said.run(&format!("boot cd http://h/a.iso {access}")), 2);
        assert_eq!(said.run(&format!("power status -u admin -a redfish://{nobody}")), 4);
        // the certificate
        assert_eq!(said.run(&format!("power status {address}")), 2);
        assert_eq!(said.run(&format!("power status {address} --pin {}", "00".repeat(32))), 2);
        assert_eq!(said.run(&format!("power status {address} --insecure")), 0);
        assert_eq!(said.run(&format!("power status {address} --ca-file {}", trusted.path().display())), 0);
        // the password
        let wrong = [("BESSEMER_BMC_PASSWORD", "wrong")];
        assert_eq!(said.run_with(&format!("power status {access}"), &wrong, ""), 5);
        let input = format!("{PASSWORD}\n");
        assert_eq!(said.run_with(&format!("power status {access}"), &[], &input), 0);
        assert_eq!(said.run_with(&format!("power status {access} --password-file -"), &wrong, &input), 0);
        assert_eq!(said.run_with(&format!("power status {access} --password-file /nonexistent"), &[], ""), 2);
    });
    // what it cannot do, what it does not do, and what it says instead
    bmc.redfish().faults().add(Rule::on("PATCH", "/Systems/1", Fault::Ignore).times(1));
    assert_eq!(beside(|| said.run(&format!("boot pxe --once {access}"))), 7);
    bmc.host().set_timing(Timing { graceful: Duration::from_secs(3600), ..Timing::default() });
    beside(|| {
        assert_eq!(said.run(&format!("power on {access}")), 0);
        assert_eq!(said.run(&format!("power off --soft --timeout 3s {access}")), 3);
        assert_eq!(said.run(&format!("media insert http://h/a.img --kind floppy {access}")), 6);
    });
    said.check();
}
