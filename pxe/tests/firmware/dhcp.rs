//! DHCP clients and a relay agent of somebody else, through a whole lease: discovered, kept, given back.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use bessemer_pxe::{BootServer, BootTarget, Interface, Pool, Reach, Subnet};
use socket2::{Domain, Socket, Type};
use tokio_util::sync::CancellationToken;

use crate::MAC;
use crate::host::{OneHost, config, serve};
use crate::network::{BRIDGE, Neighbour, add_wire, inside, ip};

/// A host on our bridge that has no address yet.
fn guest() -> Neighbour {
    let guest = Neighbour::join("guest", "10.77.0.99/24");
    guest.ip(&["link", "set", "eth0", "down"]);
    guest.ip(&["link", "set", "eth0", "address", &MAC.to_string()]);
    guest.ip(&["addr", "flush", "dev", "eth0"]);
    guest.ip(&["link", "set", "eth0", "up"]);
    guest
}

/// What both clients call on each change: the address is put where it belongs.
fn hook(directory: &Path) -> String {
    let script = r#"#!/bin/sh
        case "${1:-$reason}" in
            bound|renew) ip addr replace "$ip/$mask" dev "$interface";;
            PREINIT) ip link set "$interface" up;;
            BOUND|RENEW|REBOOT) ip addr replace "$new_ip_address/24" dev "$interface";;
        esac
        echo "${1:-$reason}" >> "$(dirname "$0")/called"
    "#;
    program(directory, script)
}

fn program(directory: &Path, script: &str) -> String {
    let path = directory.join("hook");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The `line` that a shell makes of a lease which `udhcpc` gets on `interface`, run as `command`.
async fn lease(mut command: Command, interface: &str, line: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let hook = program(directory.path(), &format!("#!/bin/sh\n[ \"$1\" != bound ] || echo \"{line}\"\n"));
    command.args(["udhcpc", "-i", interface, "-f", "-q", "-n", "-t", "5", "-T", "1", "-s", &hook]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Waits until `file` holds `text`.
async fn until(file: &Path, text: &str) {
    let holds = async {
        while !std::fs::read_to_string(file).unwrap_or_default().contains(text) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let held = tokio::time::timeout(Duration::from_secs(10), holds).await;
    assert!(held.is_ok(), "no `{text}` in {}: {:?}", file.display(), std::fs::read_to_string(file));
}

/// Ends with the test, however that ends.
struct Client(Child);

impl Client {
    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// IPv4 packets that a host received as broadcasts.
fn broadcasts(host: &Neighbour) -> u64 {
    let output = host.command("cat").arg("/proc/net/netstat").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("IpExt:")).map(str::split_whitespace);
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    names.zip(values).find(|(name, _)| *name == "InBcastPkts").unwrap().1.parse().unwrap()
}

/// A client on `interface`, in our own namespace. The kernel usually takes no packet from an address of its own.
fn client_on(interface: &str) -> UdpSocket {
    assert!(Command::new("sysctl").args(["-qw", "net.ipv4.conf.all.accept_local=1"]).status().unwrap().success());
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
    socket.bind_device(Some(interface.as_bytes())).unwrap();
    socket.set_broadcast(true).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket.bind(&SocketAddr::from(([0, 0, 0, 0], 68)).into()).unwrap();
    socket.into()
}

/// A DISCOVER that wants to be answered by broadcast.
fn discover(id: u32) -> Vec<u8> {
    let mut discover = vec![0; 240];
    discover[..3].copy_from_slice(&[1, 1, 6]);
    discover[4..8].copy_from_slice(&id.to_be_bytes());
    discover[10] = 0x80;
    discover[28..34].copy_from_slice(&MAC.0);
    discover[236..].copy_from_slice(&[99, 130, 83, 99]);
    discover.extend_from_slice(&[53, 1, 1, 255]);
    discover
}

/// Where the offer to a DISCOVER through `interface` comes from.
fn offered_by(interface: &str) -> SocketAddr {
    let client = client_on(interface);
    client.send_to(&discover(7), "255.255.255.255:67").unwrap();
    client.recv_from(&mut [0; 1500]).unwrap().1
}

#[test]
fn udhcpc_keeps_its_lease_and_gives_it_back() {
    inside("dhcp::udhcpc_keeps_its_lease_and_gives_it_back", async |artefacts| {
        let host = OneHost::new(BootTarget::LocalDisk);
        let _server = serve(artefacts, host.clone()).await;
        let (guest, directory) = (guest(), tempfile::tempdir().unwrap());
        let mut command = guest.command(artefacts.busybox.to_str().unwrap());
        command.args(["udhcpc", "-i", "eth0", "-f", "-t", "5", "-T", "2", "-s", &hook(directory.path())]);
        let client = Client(command.spawn().unwrap());
        host.until("request (selecting): confirmed 10.77.0.160").await;
        // Before that, it is not ready to renew.
        until(&directory.path().join("called"), "bound").await;
        client.signal("-USR1");
        host.until("request (renewing): confirmed 10.77.0.160").await;
        until(&directory.path().join("called"), "renew").await;
        client.signal("-USR2");
        host.until("release: noted").await;
        let told = [
            "discover: offered 10.77.0.160",
            "request (selecting): confirmed 10.77.0.160",
            "request (renewing): confirmed 10.77.0.160",
            "release: noted",
        ];
        assert_eq!(host.told(), told);
        assert_eq!(broadcasts(&guest), 0, "it can take unicasts, so nobody else hears its answers");
    });
}

#[test]
fn dhclient_finds_its_lease_again_after_a_crash_and_gives_it_back() {
    let name = "dhcp::dhclient_finds_its_lease_again_after_a_crash_and_gives_it_back";
    if Command::new("dhclient").arg("--version").output().is_err() {
        println!("SKIP {name}: dhclient is not installed (isc-dhcp-client)");
        return;
    }
    inside(name, async |artefacts| {
        let host = OneHost::new(BootTarget::LocalDisk);
        let _server = serve(artefacts, host.clone()).await;
        let (guest, directory) = (guest(), tempfile::tempdir().unwrap());
        let hook = hook(directory.path());
        let file = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        let dhclient = |how: &str| {
            let mut command = guest.command("dhclient");
            command.args(["-4", "-d", how, "-cf", "/dev/null", "-sf", &hook]);
            command.args(["-lf", &file("leases"), "-pf", &file("pid"), "eth0"]);
            Client(command.spawn().unwrap())
        };
        let first = dhclient("-1");
        host.until("request (selecting): confirmed 10.77.0.160").await;
        // Its lease is on its disk once it has taken the address.
        until(&directory.path().join("leases"), "fixed-address 10.77.0.160").await;
        drop(first);
        let second = dhclient("-1");
        host.until("request (rebooting): confirmed 10.77.0.160").await;
        drop(second);
        let _third = dhclient("-r");
        host.until("release: noted").await;
        let told = [
            "discover: offered 10.77.0.160",
            "request (selecting): confirmed 10.77.0.160",
            "request (rebooting): confirmed 10.77.0.160",
            "release: noted",
        ];
        assert_eq!(host.told(), told);
    });
}

/// `dhcrelay -a` adds option 82, and drops answers that do not carry it back.
#[test]
fn c149_dhcrelay_takes_answers_with_its_option_in_them() {
    let name = "dhcp::c149_dhcrelay_takes_answers_with_its_option_in_them";
    if Command::new("dhcrelay").arg("--version").output().is_err() {
        println!("SKIP {name}: dhcrelay is not installed (isc-dhcp-relay)");
        return;
    }
    inside(name, async |artefacts| {
        let mut relay = Neighbour::join("relay", "10.77.0.2/24");
        for args in [
            &["link", "add", "far0", "type", "veth", "peer", "name", "client0"][..],
            &["link", "set", "client0", "address", &MAC.to_string(), "up"],
            &["addr", "add", "10.78.0.1/24", "dev", "far0"],
            &["link", "set", "far0", "up"],
        ] {
            relay.ip(args);
        }
        ip(&["route", "add", "10.78.0.0/24", "via", "10.77.0.2"]).unwrap();
        let mut command = relay.command("dhcrelay");
        command.args(["-4", "-d", "-a", "-m", "discard", "-id", "far0", "-iu", "eth0", "10.77.0.1"]);
        relay.start(command);
        let host = OneHost::new(BootTarget::LocalDisk);
        let mut config = config(artefacts);
        config.subnets.push(Subnet {
            pool: Some(Pool::new([10, 78, 0, 100].into(), [10, 78, 0, 200].into()).unwrap()),
            router: Some([10, 78, 0, 1].into()),
            ..Subnet::new("10.78.0.0/24".parse().unwrap(), Reach::Relayed)
        });
        let _server = BootServer::start(config, host.clone(), CancellationToken::new()).await.unwrap();
        let udhcpc = relay.command(artefacts.busybox.to_str().unwrap());
        assert_eq!(lease(udhcpc, "client0", "$ip by $router").await, "10.78.0.160 by 10.78.0.1");
        assert_eq!(host.circuits(), [b"far0".to_vec()]);
    });
}

/// One server, two interfaces: each link has its subnet, and the answers name the address of the interface that heard.
#[test]
fn each_interface_serves_its_own_subnet() {
    inside("dhcp::each_interface_serves_its_own_subnet", async |artefacts| {
        for (end, plug) in [("client0", "wire0"), ("client1", "wire1")] {
            ip(&["link", "add", end, "type", "veth", "peer", "name", plug]).unwrap();
            ip(&["link", "set", end, "address", &MAC.to_string(), "up"]).unwrap();
            ip(&["link", "set", plug, "up"]).unwrap();
        }
        ip(&["link", "set", "wire0", "master", BRIDGE]).unwrap();
        ip(&["addr", "add", "10.79.0.1/24", "dev", "wire1"]).unwrap();
        ip(&["addr", "add", "10.79.0.7/24", "dev", "wire1"]).unwrap();
        let host = OneHost::new(BootTarget::LocalDisk);
        let mut config = config(artefacts);
        config.interfaces.push(Interface::new("wire1", [10, 79, 0, 7].into()));
        config.subnets.push(Subnet {
            pool: Some(Pool::new([10, 79, 0, 100].into(), [10, 79, 0, 200].into()).unwrap()),
            ..Subnet::new("10.79.0.0/24".parse().unwrap(), Reach::OnLink("wire1".into()))
        });
        let server = BootServer::start(config, host.clone(), CancellationToken::new()).await.unwrap();
        let http: Vec<_> = server.http_addresses().iter().map(ToString::to_string).collect();
        assert_eq!(http, ["10.77.0.1:8080", "10.79.0.7:8080"]);
        for (interface, expected) in [("client0", "10.77.0.160 of 10.77.0.1"), ("client1", "10.79.0.160 of 10.79.0.7")]
        {
            let udhcpc = Command::new(&artefacts.busybox);
            assert_eq!(lease(udhcpc, interface, "$ip of $serverid").await, expected);
        }
        // Through the second interface from the second address, though the first is what the kernel would choose.
        let offer = tokio::task::spawn_blocking(|| offered_by("client1")).await.unwrap();
        assert_eq!(offer.to_string(), "10.79.0.7:67");
    });
}

/// Answers to one place leave as one buffer: each must still arrive as a message of its own, once.
#[test]
fn many_that_ask_at_once_get_an_answer_each() {
    inside("dhcp::many_that_ask_at_once_get_an_answer_each", async |artefacts| {
        add_wire("client0", "wire0");
        let host = OneHost::new(BootTarget::LocalDisk);
        let _server = serve(artefacts, host.clone()).await;
        let asks = || {
            let client = client_on("client0");
            for id in 0..90 {
                client.send_to(&discover(id), "255.255.255.255:67").unwrap();
            }
            let mut answers = BTreeMap::new();
            for _ in 0..90 {
                let mut buffer = [0; 1500];
                let (len, from) = client.recv_from(&mut buffer).unwrap();
                assert_eq!(
                    (from.to_string().as_str(), &buffer[..1], &buffer[16..20]),
                    ("10.77.0.1:67", &[2][..], &[10, 77, 0, 160][..])
                );
                answers.insert(u32::from_be_bytes(buffer[4..8].try_into().unwrap()), len);
            }
            answers
        };
        let answers = tokio::task::spawn_blocking(asks).await.unwrap();
        assert_eq!(answers, (0..90).map(|id| (id, 300)).collect());
        assert_eq!(host.told(), ["discover: offered 10.77.0.160"]);
    });
}
