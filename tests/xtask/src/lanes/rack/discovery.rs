//! A server that nobody registered, and a laptop, on the same wire: the one is asked what it is and gets nothing else,
//! the other is left in silence. Both are there while another host boots, so that it costs no boot's time of its own.

use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bessemer_rack::{BRIDGE, Host, HostSpec, Power, Rack};
use serde_json::Value;

use crate::demo::feed::{Feed, text};
use crate::kubectl::Kubectl;
use crate::say::say;
use crate::{deadline, run};

const SERVER: &str = "stranger";
const LAPTOP: &str = "laptop0";
const LAPTOP_MAC: &str = "52:54:00:77:00:fe";

/// Where the controller keeps what belongs to nobody.
const NAMESPACE: &str = "bessemer-system";

/// Firmware, iPXE, kernel and inspection under emulation; a busy machine takes longer.
const REPORTS: Duration = Duration::from_secs(300);

/// Where the controller of this rack counts what it hears.
pub(super) const METRICS: &str = "10.77.0.1:9100";

/// Questions of installed systems that were not answered.
const HEARD: &str = r#"bessemer_boot_exchanges_total{protocol="dhcp4",phase="system",answer="silent"}"#;

const AT_ONCE: Duration = Duration::from_secs(30);

/// Both of them.
pub(super) struct Strangers {
    server: Host,
    laptop: Child,
}

/// The server, as the rack is asked for it.
pub(super) fn server() -> HostSpec {
    HostSpec { cpus: 1, ..HostSpec::small(SERVER) }
}

impl Strangers {
    /// Turns them on.
    pub(super) fn arrive(rack: &Rack) -> Result<Self> {
        let plug = "to-laptop";
        for arguments in [
            &["link", "add", LAPTOP, "address", LAPTOP_MAC, "type", "veth", "peer", "name", plug][..],
            &["link", "set", plug, "master", BRIDGE, "up"],
            &["link", "set", LAPTOP, "up"],
        ] {
            let mut ip = rack.exec("ip");
            ip.args(arguments);
            run::must(ip, deadline::after(AT_ONCE), |_| {})?;
        }
        let file = |name: &str| rack.dir().join(format!("laptop.{name}"));
        fs::write(file("conf"), "timeout 10;\n")?;
        let mut client = rack.exec("dhclient");
        client.args(["-4", "-1", "-d", "-sf", "/bin/true"]);
        client.arg("-cf").arg(file("conf")).arg("-lf").arg(file("leases")).arg("-pf").arg(file("pid")).arg(LAPTOP);
        let laptop = client.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let server = rack.host(SERVER)?;
        server.boot_from_network()?;
        Ok(Self { server, laptop: laptop.context("cannot run dhclient: install isc-dhcp-client")? })
    }

    /// What became of them; the server is turned off then.
    pub(super) fn met(&mut self, rack: &Rack, kubectl: &Kubectl<'_>) -> Result<()> {
        let met = self.reported(kubectl).and_then(|()| self.left_in_silence(rack, kubectl));
        self.server.cut_power()?;
        met
    }

    fn reported(&self, kubectl: &Kubectl<'_>) -> Result<()> {
        let feed = Feed::open(kubectl, &["hostrecords.bessemer.dev"])?;
        let name = format!("discovered-{}", self.server.mac().replace(':', "-"));
        let record = feed.wait(("HostRecord", &name), "reported", REPORTS, |record| {
            record.pointer("/status/discovered/hardware").is_some()
        })?;
        let said = |pointer: &str| record.pointer(&format!("/status/discovered{pointer}")).cloned().unwrap_or_default();
        let hardware = (said("/serial"), said("/macs"), said("/hardware/cpu/count"), said("/hardware/storage/0/name"));
        let expected = (self.server.serial_number(), [self.server.mac()], 1, "/dev/vda");
        ensure!(
            hardware == (expected.0.into(), expected.1.as_slice().into(), expected.2.into(), expected.3.into()),
            "the report is not of this machine: {record}"
        );
        ensure!(text(&record, "/metadata/namespace") == NAMESPACE, "the record lies elsewhere: {record}");
        // it is nobody's: nothing was decided about it, given to it or done with it
        for of_hosts in ["boot", "work", "claim"] {
            ensure!(record.pointer(&format!("/status/{of_hosts}")).is_none(), "it has a {of_hosts}: {record}");
        }
        let state = self.server.state()?;
        ensure!(state.starts == 1 && state.power == Power::On, "it did not stay in the ramdisk: {state:?}");
        say(format!("{name}: {} from {}", text(&record, "/status/discovered/manufacturer"), said("/from")));
        Ok(())
    }

    /// It was heard, which only a count tells, and neither answered nor given an address, which the server was.
    fn left_in_silence(&mut self, rack: &Rack, kubectl: &Kubectl<'_>) -> Result<()> {
        let status = self.laptop.wait()?;
        ensure!(!status.success(), "the laptop got an address of somebody");
        let mut curl = rack.exec("curl");
        curl.args(["--silent", "--show-error", "--fail", &format!("http://{METRICS}/metrics")]);
        let metrics = run::must(curl, deadline::after(AT_ONCE), |_| {})?;
        let count = metrics.lines().find_map(|line| line.strip_prefix(HEARD)?.trim().parse::<u32>().ok());
        let count =
            count.filter(|count| *count > 0).with_context(|| format!("the laptop was not heard:\n{metrics}"))?;
        let mac = |object: &Value| text(object, "/spec/mac").to_owned();
        let leases = kubectl.get(&["bootleases.bessemer.dev", "--namespace", NAMESPACE])?;
        let macs: Vec<String> = items(&leases).iter().map(mac).collect();
        ensure!(macs == [self.server.mac()], "leases of unknown machines: {macs:?}");
        let traces = kubectl.get(&["boottraces.bessemer.dev", "--namespace", NAMESPACE])?;
        let kept = items(&traces).iter().any(|trace| text(trace, "/status/machine") == LAPTOP_MAC);
        ensure!(!kept, "what a laptop says is kept: {traces}");
        say(format!("the laptop asked {count} times and was left in silence"));
        Ok(())
    }
}

fn items(list: &Value) -> &[Value] {
    list.pointer("/items").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
