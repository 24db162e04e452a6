//! `bessemer boot` as it runs near the racks: two of these programs on one link over one Kubernetes API, asked by real DHCP
//! clients, in network namespaces. Needs root, `ip`, `dhclient`, `curl` and Debian's iPXE.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use bessemer_agents::SiteSecret;
use bessemer_api::bessemer::{BootLease, BootStep, BootTarget, HostRecord};
use bessemer_api::metal3::BareMetalHost;
use bessemer_api::well_known::HOST_ID_ANNOTATION;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use uuid::Uuid;

const NAME: &str = "two_boot_servers_give_every_host_an_address_of_its_own_and_its_script";
/// Where the test runs again.
const INSIDE: &str = "BESSEMER_BOOT_TEST_INSIDE";
const IPXE: &str = "/usr/lib/ipxe/snponly.efi";
const SERVERS: [&str; 2] = ["10.77.0.2", "10.77.0.3"];
const HOSTS: usize = 8;

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A network namespace; it goes with this.
struct Place(String);

impl Place {
    fn new(name: String) -> Self {
        ip(&["netns", "add", &name]);
        let place = Self(name);
        place.ip(&["link", "set", "lo", "up"]);
        place
    }

    /// With an `eth0` that is plugged into our bridge.
    fn plugged(name: &str) -> Self {
        let place = Self::new(format!("{}-{name}", std::env::var(INSIDE).unwrap()));
        let plug = format!("to-{name}");
        ip(&["link", "add", &plug, "type", "veth", "peer", "name", "eth0", "netns", &place.0]);
        ip(&["link", "set", &plug, "master", "br0", "up"]);
        place.ip(&["link", "set", "eth0", "up"]);
        place
    }

    fn ip(&self, arguments: &[&str]) {
        ip(&[&["-n", &self.0], arguments].concat());
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0, program]).stdin(Stdio::null());
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

/// A program of ours that said it is ready; it ends with this.
struct Program {
    child: Child,
    /// A program whose words nobody reads any more would end.
    said: BufReader<ChildStdout>,
}

impl Program {
    /// With what it says to be read by line.
    fn run(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    fn start(command: Command) -> Self {
        let mut program = Self::run(command);
        let mut line = String::new();
        program.said.read_line(&mut line).unwrap();
        assert!(line.starts_with("ready"), "{line}");
        println!("{}", line.trim_end());
        program
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // `timeout` hands this on to its client, which would outlive a harder end.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

/// A host's network card, and the client behind it.
struct Guest {
    place: Place,
    mac: String,
}

/// What it was given: address, server, boot file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Given {
    address: String,
    server: String,
    file: String,
}

impl Guest {
    fn new(number: usize) -> Self {
        let (place, mac) = (Place::plugged(&format!("g{number}")), format!("52:54:00:00:00:{number:02x}"));
        place.ip(&["link", "set", "eth0", "address", &mac]);
        Self { place, mac }
    }

    /// A whole conversation, as iPXE of UEFI, with any server but `except`.
    fn ask(&self, dir: &Path, except: &str) -> Given {
        let file = |what: &str| dir.join(format!("{what}-{}", self.place.0));
        let config = format!(
            "option arch code 93 = unsigned integer 16;\nsend arch 7;\nsend user-class \"iPXE\";\n\
             send vendor-class-identifier \"PXEClient:Arch:00007:UNDI:003001\";\nrequest subnet-mask, routers;\n\
             timeout 20;\ninitial-interval 1;\nbackoff-cutoff 2;\nreject {except};\n"
        );
        std::fs::write(file("conf"), config).unwrap();
        let mut client = self.place.command("timeout");
        client.args(["-k", "1", "30", "dhclient", "-4", "-1", "-d", "-sf"]).arg(dir.join("hook"));
        // it never heard of its last lease
        client.arg("-cf").arg(file("conf")).args(["-lf", "/dev/null"]).arg("-pf").arg(file("pid")).arg("eth0");
        let mut client = Program::run(client);
        let lines = client.said.by_ref().lines().map_while(Result::ok);
        let mut lines = lines.filter_map(|line| line.strip_prefix("GOT ").map(str::to_owned));
        let told = lines.next();
        let told = told.unwrap_or_else(|| panic!("{} got no address from another than {except}", self.mac));
        let mut words = told.split(' ').map(str::to_owned);
        let mut word = || words.next().unwrap();
        Given { address: word(), server: word(), file: word() }
    }

    fn curl(&self, url: &str) -> String {
        let output = self.place.command("curl").args(["-sSf", "--max-time", "20", url]).output().unwrap();
        assert!(output.status.success(), "{url}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// All at once, each from the server that stands beside it.
fn ask_all(guests: &[Guest], dir: &Path, server: impl Fn(usize) -> usize + Sync) -> Vec<Given> {
    std::thread::scope(|scope| {
        let server = &server;
        let asked = guests.iter().enumerate().map(|(number, guest)| {
            scope.spawn(move || {
                let given = guest.ask(dir, SERVERS[1 - server(number)]);
                assert_eq!(given.server, SERVERS[server(number)], "{given:?}");
                given
            })
        });
        let asked: Vec<_> = asked.collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    })
}

async fn client(kubeconfig: &Path) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// What the controller writes for boot servers, and the hosts.
async fn objects(client: &Client) {
    let make = PostParams::default();
    let named = |name: &str| json!({ "metadata": { "name": name } });
    let namespace: Namespace = serde_json::from_value(named("bessemer-system")).unwrap();
    Api::all(client.clone()).create(&make, &namespace).await.unwrap();
    let site = SiteSecret::generate(time::OffsetDateTime::now_utc()).unwrap();
    let mut secret: Secret = serde_json::from_value(named("bessemer-boot")).unwrap();
    let data = [("ca.crt", site.trusted_pem().into_bytes()), ("token.key", site.token_key.clone())];
    secret.data = Some(data.map(|(name, value)| (name.to_owned(), ByteString(value))).into());
    Api::namespaced(client.clone(), "bessemer-system").create(&make, &secret).await.unwrap();
    let hosts: Api<BareMetalHost> = Api::namespaced(client.clone(), "default");
    let records: Api<HostRecord> = Api::namespaced(client.clone(), "default");
    for number in 0..HOSTS {
        let mac = format!("52:54:00:00:00:{number:02x}");
        let name = format!("r1-u{number}");
        let spec = json!({ "bootMACAddress": mac, "online": true });
        let annotations = json!({ HOST_ID_ANNOTATION: boot_id(number).to_string() });
        let host = json!({ "metadata": { "name": name, "annotations": annotations }, "spec": spec });
        hosts.create(&make, &serde_json::from_value(host).unwrap()).await.unwrap();
        // As the controller leaves it once the BMC was told to switch the host on.
        let record = json!({ "metadata": { "name": name }, "spec": {} });
        records.create(&make, &serde_json::from_value(record).unwrap()).await.unwrap();
        let boot = json!({
            "id": boot_id(number).to_string(), "target": BootTarget::Ramdisk, "step": BootStep::Waiting, "enrolled": false,
            "issued": "2026-11-30T12:00:00Z", "expires": "2126-11-30T12:00:00Z",
        });
        let status = Patch::Merge(json!({ "status": { "boot": boot } }));
        records.patch_status(&name, &PatchParams::default(), &status).await.unwrap();
    }
}

fn boot_id(number: usize) -> Uuid {
    Uuid::from_u128(0xb007_0000 + number as u128)
}

fn configuration(dir: &Path, interface: &str) -> std::path::PathBuf {
    let path = dir.join(format!("{interface}.yaml"));
    let text = format!(
        "interfaces: [{{name: {interface}}}]\n\
         subnets: [{{prefix: 10.77.0.0/24, interface: {interface}, pool: 10.77.0.100-10.77.0.119}}]\n\
         controllers: ['https://10.77.0.1:8444']\nramdisk: {}\n",
        dir.display()
    );
    std::fs::write(&path, text).unwrap();
    path
}

fn boot(place: &Place, config: &Path) -> Command {
    let mut command = place.command(env!("CARGO_BIN_EXE_bessemer"));
    command.args(["boot", "--config"]).arg(config);
    command
}

/// By machine, as they are stored.
async fn leases(client: &Client) -> BTreeMap<String, Value> {
    let leases = Api::<BootLease>::all(client.clone()).list(&Default::default()).await.unwrap();
    leases.iter().map(|lease| (lease.metadata.name.clone().unwrap(), json!(lease))).collect()
}

async fn scenario() {
    ip(&["link", "set", "lo", "up"]);
    ip(&["link", "add", "br0", "type", "bridge"]);
    ip(&["addr", "add", "10.77.0.1/24", "dev", "br0"]);
    ip(&["link", "set", "br0", "up"]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    for name in ["vmlinuz", "initrd"] {
        std::fs::write(path.join(name), name).unwrap();
    }
    let hook = "#!/bin/sh\ncase $reason in\nPREINIT) ip link set eth0 up;;\nBOUND|REBOOT) ip addr flush dev eth0\n\
                ip addr add $new_ip_address/24 dev eth0\n\
                echo GOT $new_ip_address $new_dhcp_server_identifier $new_filename;;\nesac\n";
    std::fs::write(path.join("hook"), hook).unwrap();
    std::fs::set_permissions(path.join("hook"), std::fs::Permissions::from_mode(0o755)).unwrap();

    let kubeconfig = path.join("kubeconfig");
    let mut up = Command::new(env!("CARGO_BIN_EXE_bessemer"));
    up.args(["up", "--controllers", "none", "--api", "10.77.0.1:0", "--state"]).arg(path.join("state"));
    let _up = Program::start({
        up.arg("--kubeconfig").arg(&kubeconfig);
        up
    });
    let client = client(&kubeconfig).await;
    objects(&client).await;

    let places = SERVERS.map(|address| {
        let place = Place::plugged(&format!("s{}", address.rsplit('.').next().unwrap()));
        place.ip(&["addr", "add", &format!("{address}/24"), "dev", "eth0"]);
        place
    });
    let config = configuration(path, "eth0");
    check(&places[0], &config, &configuration(path, "eth9"));
    let [first, _second] = places.each_ref().map(|place| {
        let mut command = boot(place, &config);
        command.arg("--kubeconfig").arg(&kubeconfig);
        Program::start(command)
    });

    let guests: Vec<Guest> = (0..HOSTS).map(Guest::new).collect();
    let (some, later) = guests.split_at(HOSTS - 2);
    // Both servers give out of one pool at the same time.
    let given = ask_all(some, path, |number| number % 2);
    println!("{given:#?}");
    let addresses: BTreeSet<&str> = given.iter().map(|given| given.address.as_str()).collect();
    assert_eq!(addresses.len(), some.len(), "one address was given twice: {given:?}");
    for (number, (guest, given)) in some.iter().zip(&given).enumerate() {
        let folder = format!("http://{}:8080/b/{}/", given.server, boot_id(number).simple());
        assert_eq!(given.file, format!("{folder}boot.ipxe"));
        let script = guest.curl(&given.file);
        assert!(
            script.starts_with("#!ipxe\n") && script.contains(&format!("/b/{}/", boot_id(number).simple())),
            "{script}"
        );
    }
    let stored = leases(&client).await;
    for (guest, given) in some.iter().zip(&given) {
        let of = |lease: &&Value| lease["spec"]["address"] == given.address;
        let found: Vec<&Value> = stored.values().filter(of).collect();
        assert_eq!(found.len(), 1, "{given:?}: {stored:?}");
        assert_eq!((&found[0]["spec"]["mac"], &found[0]["spec"]["confirmed"]), (&json!(guest.mac), &json!(true)));
    }

    // What one of them gave, the other gives as well; and from either, the same.
    let swapped = ask_all(some, path, |number| 1 - number % 2);
    let address = |given: &Given| given.address.clone();
    assert_eq!(
        swapped.iter().map(address).collect::<Vec<_>>(),
        given.iter().map(address).collect::<Vec<_>>(),
        "a host has another address from the other server"
    );
    // One alone goes on, and knows what the other gave.
    drop(first);
    for given in ask_all(later, path, |_| 1) {
        assert!(!addresses.contains(given.address.as_str()), "{given:?} is another host's");
    }
}

/// `--check` takes the one and names what is wrong with the other.
fn check(place: &Place, good: &Path, bad: &Path) {
    let check = |config: &Path| {
        let output = boot(place, config).arg("--check").output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    assert_eq!(check(good), (Some(0), format!("{} can be used\n", good.display()), String::new()));
    let (code, out, error) = check(bad);
    assert_eq!((code, out.as_str()), (Some(1), ""), "{error}");
    assert!(error.contains("eth9.yaml") && error.contains("interface eth9 does not exist"), "{error}");
}

#[test]
fn two_boot_servers_give_every_host_an_address_of_its_own_and_its_script() {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        return runtime.block_on(Box::pin(scenario()));
    }
    let has = |program: &str| Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok();
    let missing = ["ip", "dhclient", "curl"].into_iter().find(|program| !has(program));
    let missing = missing.or_else(|| (!Path::new(IPXE).exists()).then_some(IPXE));
    if let Some(missing) = missing {
        println!("SKIP {NAME}: {missing} is not installed");
        return;
    }
    if !rustix::process::geteuid().is_root() {
        println!("SKIP {NAME}: network namespaces need root");
        return;
    }
    let place = Place::new(format!("bsm-boot-{}", std::process::id()));
    let mut again = place.command(std::env::current_exe().unwrap().to_str().unwrap());
    let output = again.args([NAME, "--exact", "--nocapture"]).env(INSIDE, &place.0).output().unwrap();
    println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{NAME} failed inside the namespace");
}
