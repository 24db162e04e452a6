//! IPv6 clients of installed systems: ISC's DHCP client, on our link and behind ISC's relay agent, and the kernel that
//! hears what is advertised.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use bessemer_pxe::{Answer, BootServer, BootTarget, Protocol, SubnetV6};
use tokio_util::sync::CancellationToken;

use crate::MAC;
use crate::host::{OneHost, config_v6};
use crate::network::{Neighbour, inside, lacks};

const PATIENCE: Duration = Duration::from_secs(20);

fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what} did not come within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A client's hook that writes down what it is told.
fn hook(folder: &Path) -> String {
    let (hook, told) = (folder.join("hook"), folder.join("told"));
    let line = "$reason ${new_ip6_address:-$old_ip6_address} $new_dhcp6_name_servers";
    std::fs::write(&hook, format!("#!/bin/sh\necho \"{line}\" >> {}\n", told.display())).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    hook.to_str().unwrap().to_owned()
}

fn told(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("told")).unwrap_or_default()
}

/// Runs ISC's client once; true if it got its lease.
fn dhclient(host: &Neighbour, folder: &Path, arguments: &[&str]) -> bool {
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    std::fs::write(folder.join("conf"), "timeout 4;\n").unwrap();
    let mut client = host.command("dhclient");
    client.args(["-6", "-v", "-cf", &file("conf"), "-lf", &file("leases"), "-pf", &file("pid"), "-sf", &hook(folder)]);
    let output = client.args(arguments).arg("eth0").output().unwrap();
    println!("{}", String::from_utf8_lossy(&output.stderr));
    output.status.success()
}

#[test]
fn dhclient_leases_releases_and_a_stranger_hears_nothing() {
    if lacks("dhclient_leases_releases_and_a_stranger_hears_nothing", &["dhclient"]) {
        return;
    }
    inside("clients_v6::dhclient_leases_releases_and_a_stranger_hears_nothing", async |artefacts| {
        let host = OneHost::new(BootTarget::LocalDisk);
        let _server = BootServer::start(config_v6(artefacts), host.clone(), CancellationToken::new()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let client = Neighbour::with_mac("client", MAC);
        assert!(dhclient(&client, folder.path(), &["-1"]));
        assert!(told(folder.path()).contains("BOUND6 fd77::1:7 fd77::1\n"), "{}", told(folder.path()));
        assert!(dhclient(&client, folder.path(), &["-r"]));
        // The client is gone before its release is answered.
        wait("the release", || host.answers(Protocol::Dhcp6).len() >= 3);
        let said: Vec<String> =
            host.answers(Protocol::Dhcp6).iter().map(|(asked, answer, _)| format!("{asked}: {answer}")).collect();
        assert_eq!(said, ["solicit: offered fd77::1:7", "request: confirmed fd77::1:7", "release: noted"]);
        // The kernel knows the link's prefix, and made up no address in it.
        let mut routes = String::new();
        wait("the prefix", || {
            routes = String::from_utf8(client.command("ip").args(["-6", "route"]).output().unwrap().stdout).unwrap();
            routes.lines().any(|line| line.starts_with("fd77::/64 dev eth0"))
        });
        assert!(!routes.contains("default"), "{routes}");
        let addresses = client.command("ip").args(["-6", "addr", "show", "dev", "eth0", "scope", "global"]).output();
        assert!(addresses.unwrap().stdout.is_empty());

        let stranger = Neighbour::with_mac("other", bessemer_pxe::MacAddr([0x52, 0x54, 0, 0, 0, 2]));
        let folder = tempfile::tempdir().unwrap();
        assert!(!dhclient(&stranger, folder.path(), &["-1"]));
        let silent =
            |(_, answer, why): &(String, Answer, String)| *answer == Answer::Silent && why == "unknown machine";
        let answers = host.answers(Protocol::Dhcp6);
        let of_stranger = answers.get(3..).unwrap_or_default();
        assert!(!of_stranger.is_empty() && of_stranger.iter().all(silent), "{of_stranger:?}");
    });
}

#[test]
fn dhclient_behind_a_relay_agent_gets_an_address_of_its_own_link() {
    if lacks("dhclient_behind_a_relay_agent_gets_an_address_of_its_own_link", &["dhclient", "dhcrelay"]) {
        return;
    }
    let name = "clients_v6::dhclient_behind_a_relay_agent_gets_an_address_of_its_own_link";
    inside(name, async |artefacts| {
        let host = OneHost::new(BootTarget::LocalDisk);
        let mut config = config_v6(artefacts);
        let far = SubnetV6 { network: "fd78::".parse().unwrap(), ..config.interfaces[0].v6.subnets[0].clone() };
        config.interfaces[0]
            .v6
            .subnets
            .push(SubnetV6 { pool: Some(("fd78::1:0".parse().unwrap(), "fd78::1:ffff".parse().unwrap())), ..far });
        let _server = BootServer::start(config, host.clone(), CancellationToken::new()).await.unwrap();
        let mut relay = Neighbour::join("relay", "10.77.0.3/24");
        relay.ip(&["addr", "add", "fd77::3/64", "dev", "eth0", "nodad"]);
        let client = Neighbour::behind(&relay, "client", MAC);
        relay.ip(&["addr", "add", "fd78::1/64", "dev", "eth1", "nodad"]);
        wait("the relay's addresses", || {
            let tentative = relay.command("ip").args(["-6", "addr", "show", "tentative"]).output().unwrap();
            tentative.stdout.is_empty()
        });
        let mut agent = relay.command("dhcrelay");
        agent.args(["-6", "-d", "-I", "-l", "eth1", "-u", "eth0"]);
        relay.start(agent);
        let folder = tempfile::tempdir().unwrap();
        wait("a lease", || dhclient(&client, folder.path(), &["-1"]));
        assert!(told(folder.path()).contains("BOUND6 fd78::1:7 fd77::1\n"), "{}", told(folder.path()));
        assert_eq!(host.relays(), ["fd78::1".parse::<std::net::IpAddr>().unwrap()]);
        assert!(dhclient(&client, folder.path(), &["-r"]));
    });
}
