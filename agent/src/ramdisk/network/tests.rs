//! In network namespaces, with dnsmasq at the other end of a cable.
//!
//! Each test starts itself again in namespaces of its own, where it is the machine that boots; the other end is in a third one.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant as Clock;

use super::super::inspect::fixture::Sys;
use super::*;

const INSIDE: &str = "BESSEMER_TEST_IN_NAMESPACE";

/// Runs the test named `name` again inside. True when this is the inside.
fn inside(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let missing = ["dnsmasq", "ip", "nsenter", "unshare"].into_iter().find(|program| {
        !["/usr/sbin", "/usr/bin", "/sbin", "/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
    });
    if let Some(missing) = missing {
        println!("SKIP {missing} is not installed");
        return false;
    }
    if !rustix::process::geteuid().is_root() {
        println!("SKIP not root: network namespaces are made with sudo");
        return false;
    }
    let output = Command::new("unshare")
        .args(["--net", "--mount", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("ramdisk::network::tests::{name}"), "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
    false
}

/// The other end of the cables.
struct Far {
    holder: Child,
    servers: Vec<Child>,
    folder: tempfile::TempDir,
}

impl Far {
    fn new() -> Self {
        let holder = Command::new("unshare").args(["--net", "sleep", "600"]).spawn().unwrap();
        // It is there once it has left our namespace.
        let ours = fs::read_link("/proc/self/ns/net").unwrap();
        let namespace = format!("/proc/{}/ns/net", holder.id());
        let started = Clock::now();
        while fs::read_link(&namespace).unwrap() == ours {
            assert!(started.elapsed().as_secs() < 10);
            std::thread::yield_now();
        }
        Self { holder, servers: Vec::new(), folder: tempfile::tempdir().unwrap() }
    }

    fn run(&self, line: &str) {
        let output = Command::new("nsenter")
            .args(["--net", "--target", &self.holder.id().to_string(), "--"])
            .args(line.split_whitespace())
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
    }

    /// A cable from `name` here to `far-name` there.
    fn cable(&self, name: &str, mac: &str) {
        here(&format!("ip link add {name} address {mac} type veth peer name far-{name} netns {}", self.holder.id()));
        self.run(&format!("ip link set far-{name} up"));
    }

    fn dnsmasq(&mut self, options: &str) {
        let server = Command::new("nsenter")
            .args(["--net", "--target", &self.holder.id().to_string(), "--"])
            .args([
                "dnsmasq",
                "--keep-in-foreground",
                "--conf-file=/dev/null",
                "--port=0",
                "--log-dhcp",
                "--log-facility=-",
            ])
            .args([
                "--leasefile-ro",
                "--user=root",
                &format!("--pid-file={}", self.folder.path().join("pid").display()),
            ])
            .args(options.split_whitespace())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.servers.push(server);
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        for child in self.servers.iter_mut().chain([&mut self.holder]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn here(line: &str) {
    let mut words = line.split_whitespace();
    let output = Command::new(words.next().unwrap()).args(words).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}

fn said(line: &str) -> String {
    let mut words = line.split_whitespace();
    String::from_utf8(Command::new(words.next().unwrap()).args(words).output().unwrap().stdout).unwrap()
}

/// What the kernel would show of `nics`: name and address.
fn sys_of(nics: &[(&str, &str)]) -> Sys {
    let sys = Sys::new();
    for (name, mac) in nics {
        let shown = said(&format!("ip -o link show {name}"));
        let index = shown.split(':').next().unwrap().trim().to_owned();
        let folder = format!("class/net/{name}");
        sys.file(&format!("{folder}/type"), "1\n").file(&format!("{folder}/address"), mac);
        sys.file(&format!("{folder}/ifindex"), index).file(&format!("{folder}/device/vendor"), "0x1af4\n");
    }
    sys
}

const FIRST: &str = "52:54:00:00:00:01";
const SECOND: &str = "52:54:00:00:00:02";

#[tokio::test]
async fn c189_the_boot_nic_is_waited_for_and_routes_are_those_of_the_server() {
    if !inside("c189_the_boot_nic_is_waited_for_and_routes_are_those_of_the_server") {
        return;
    }
    let mut far = Far::new();
    far.cable("eth0", FIRST);
    far.cable("eth1", SECOND);
    far.run("ip address add 10.78.0.1/24 dev far-eth1");
    far.run("ip address add 10.77.0.1/24 dev far-eth0");
    let sys = sys_of(&[("eth0", FIRST), ("eth1", SECOND)]);
    // The other NIC is answered at once, the boot NIC only after its cable was plugged in again.
    far.dnsmasq(
        "--bind-interfaces --interface=far-eth0 --interface=far-eth1 --dhcp-range=10.77.0.50,10.77.0.60,255.255.255.0,1h \
         --dhcp-range=10.78.0.50,10.78.0.60,255.255.255.0,1h --dhcp-option=26,1400 \
         --dhcp-option=121,169.254.169.254/32,0.0.0.0,0.0.0.0/0,10.77.0.1 --dhcp-option=6,10.77.0.53",
    );
    far.run("ip link set far-eth0 down");
    let links = Links::follow().await.unwrap();
    let resolv = tempfile::NamedTempFile::new().unwrap();
    let resolvers = Resolvers::new(resolv.path());
    let nics = physical_nics(sys.path());
    let path = sys.path().to_owned();
    let asking = tokio::spawn(async move {
        by_asking(&path, links, nics, Some(FIRST), &resolvers, Duration::from_secs(60)).await.unwrap()
    });
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!asking.is_finished(), "the other NIC was taken");
    far.run("ip link set far-eth0 up");
    let plugged = Clock::now();
    let ready = tokio::time::timeout(Duration::from_secs(20), asking).await.unwrap().unwrap();
    println!("an address {:.1} s after the cable was plugged in", plugged.elapsed().as_secs_f32());
    assert!(plugged.elapsed().as_secs() < 10);
    assert_eq!((ready.interface.name.as_str(), ready.prefix), ("eth0", 24));
    assert!(ready.address.to_string().starts_with("10.77.0."), "{}", ready.address);
    let routes = said("ip route show dev eth0");
    assert!(routes.contains("default via 10.77.0.1"), "{routes}");
    assert!(
        routes.lines().any(|route| route.starts_with("169.254.169.254 ") && route.contains("scope link")),
        "{routes}"
    );
    assert!(said("ip link show eth0").contains("mtu 1400"));
    assert_eq!(fs::read_to_string(resolv.path()).unwrap(), "nameserver 10.77.0.53\n");
}

#[tokio::test]
async fn a_boot_nic_without_a_server_is_not_the_end() {
    if !inside("a_boot_nic_without_a_server_is_not_the_end") {
        return;
    }
    let mut far = Far::new();
    far.cable("eth0", FIRST);
    far.cable("eth1", SECOND);
    far.run("ip address add 10.78.0.1/24 dev far-eth1");
    far.dnsmasq("--bind-interfaces --interface=far-eth1 --dhcp-range=10.78.0.50,10.78.0.60,255.255.255.0,1h");
    let sys = sys_of(&[("eth0", FIRST), ("eth1", SECOND)]);
    let resolv = tempfile::NamedTempFile::new().unwrap();
    let resolvers = Resolvers::new(resolv.path());
    let started = Clock::now();
    let asked = by_asking(
        sys.path(),
        Links::follow().await.unwrap(),
        physical_nics(sys.path()),
        Some(FIRST),
        &resolvers,
        Duration::from_secs(2),
    );
    let ready = tokio::time::timeout(Duration::from_secs(20), asked).await.unwrap().unwrap();
    assert_eq!(ready.interface.name, "eth1");
    assert!(started.elapsed().as_secs() >= 2);
}

#[tokio::test]
async fn an_address_comes_by_dhcpv6_alone() {
    if !inside("an_address_comes_by_dhcpv6_alone") {
        return;
    }
    if !Path::new("/proc/sys/net/ipv6").exists() {
        println!("SKIP no ipv6 on this machine");
        return;
    }
    let mut far = Far::new();
    far.cable("eth0", FIRST);
    far.run("ip address add fd77::1/64 dev far-eth0 nodad");
    far.dnsmasq("--bind-interfaces --interface=far-eth0 --enable-ra --dhcp-range=fd77::100,fd77::200,64,1h --dhcp-option=option6:dns-server,[fd77::53]");
    let sys = sys_of(&[("eth0", FIRST)]);
    let resolv = tempfile::NamedTempFile::new().unwrap();
    let resolvers = Resolvers::new(resolv.path());
    let asked = by_asking(
        sys.path(),
        Links::follow().await.unwrap(),
        physical_nics(sys.path()),
        None,
        &resolvers,
        Duration::from_secs(60),
    );
    let ready = tokio::time::timeout(Duration::from_secs(40), asked).await.unwrap().unwrap();
    assert!(ready.address.to_string().starts_with("fd77::"), "{}", ready.address);
    assert!(said("ip -6 address show dev eth0").contains(&format!("{}/128", ready.address)));
    assert_eq!(fs::read_to_string(resolv.path()).unwrap(), "nameserver fd77::53\n");
}

#[tokio::test]
async fn a_static_address_is_set_as_written() {
    if !inside("a_static_address_is_set_as_written") {
        return;
    }
    let far = Far::new();
    far.cable("eth0", FIRST);
    let sys = sys_of(&[("eth0", FIRST)]);
    let config: NetworkConfig = serde_json::from_str(&format!(
        r#"{{"links": [{{"id": "uplink", "type": "physical", "mac": "{FIRST}", "mtu": 1400,
            "addresses": [{{"from": "static", "address": "192.0.2.7", "prefix": 25}}],
            "routes": [{{"destination": "0.0.0.0", "prefix": 0, "gateway": "198.51.100.1", "metric": 50}},
                       {{"destination": "198.51.100.1", "prefix": 32}}]}}],
            "resolvers": ["192.0.2.53"]}}"#
    ))
    .unwrap();
    let resolv = tempfile::NamedTempFile::new().unwrap();
    let mut links = Links::follow().await.unwrap();
    let resolvers = Resolvers::new(resolv.path());
    let ready = configured(sys.path(), &mut links, &config, &resolvers).await.unwrap();
    assert_eq!(
        (ready.address.to_string(), ready.prefix, ready.interface.name.as_str()),
        ("192.0.2.7".into(), 25, "eth0")
    );
    let shown = said("ip -4 address show dev eth0") + &said("ip route show dev eth0");
    assert!(shown.contains("mtu 1400") && shown.contains("192.0.2.7/25"), "{shown}");
    assert!(shown.contains("default via 198.51.100.1 proto static metric 50"), "{shown}");
    assert_eq!(fs::read_to_string(resolv.path()).unwrap(), "nameserver 192.0.2.53\n");
    // Twice is as good as once: an agent that starts again finds its own addresses.
    configured(sys.path(), &mut links, &config, &resolvers).await.unwrap();

    let other =
        serde_json::from_str(&serde_json::to_string(&config).unwrap().replace(FIRST, "52:54:00:00:00:99")).unwrap();
    tokio::time::pause();
    let error = configured(sys.path(), &mut links, &other, &resolvers).await.err().unwrap().to_string();
    assert!(error.contains("52:54:00:00:00:99") && error.contains("60 s"), "{error}");
}

#[tokio::test]
async fn addresses_and_neighbours_are_those_of_the_wire() {
    if !inside("addresses_and_neighbours_are_those_of_the_wire") {
        return;
    }
    here(&format!("ip link add eth0 address {FIRST} type veth peer name far-eth0"));
    here("ip link set far-eth0 up");
    let sys = sys_of(&[("eth0", FIRST)]);
    let links = Links::follow().await.unwrap();
    let nic = physical_nics(sys.path()).remove(0);
    links.up(nic.index).await.unwrap();
    links.add_address(nic.index, "192.0.2.7".parse().unwrap(), 24).await.unwrap();
    let addresses = super::super::inspect::addresses::read(links.handle()).await.unwrap();
    assert_eq!(addresses.get(&nic.index), Some(&vec!["192.0.2.7".parse().unwrap()]));

    let listener = Listener::start(links.handle(), std::slice::from_ref(&nic)).await;
    let far = crate::ioctl::packet_socket(links.index("far-eth0").unwrap(), [0x88, 0xcc]).unwrap();
    // One frame of ours, from the far end to the bridges' group address, and one before it that says nothing.
    let frame = "0180c200000e 020000000001 88cc 02070402000000000104050573777037 0a056c65616631 0000".replace(' ', "");
    let frames = ["0180c200000e02000000000188cc0000".to_owned(), frame].map(|frame| {
        let octets = (0..frame.len()).step_by(2).map(|at| u8::from_str_radix(&frame[at..at + 2], 16).unwrap());
        octets.collect::<Vec<_>>()
    });
    // As switches do, again and again: a link that just came up drops what is sent before the kernel has noticed.
    let speaks = async {
        let mut turns = tokio::time::interval(Duration::from_millis(100));
        loop {
            turns.tick().await;
            for frame in &frames {
                rustix::net::send(far.get_ref(), frame, rustix::net::SendFlags::empty()).unwrap();
            }
        }
    };
    let awaited = BTreeSet::from([nic.index]);
    let (heard, silent) = tokio::select! {
        never = speaks => never,
        waited = tokio::time::timeout(Duration::from_secs(20), listener.neighbours(&awaited)) => waited.unwrap(),
    };
    let neighbour = heard.get(&nic.index).unwrap();
    assert_eq!((neighbour.system_name.as_str(), neighbour.port_id.as_str()), ("leaf1", "swp7"));
    assert!(silent.is_empty());
}
