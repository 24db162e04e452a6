//! The agent by virtual media, whole: our ISO, spliced by our boot server, fetched by somebody else's BMC, booted by
//! firmware, read by the agent.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bessemer_bmc::{BootDevice, MediaKind, Medium, PowerAction, PowerState};
use bessemer_bmc_peers::{Libvirt, libvirt_cannot_run, missing_program, peers};
use bessemer_images::cache::Cache;
use bessemer_images::iso::{self, IsoSpec};
use bessemer_images::ramdisk::{self, RamdiskSpec, Variant};
use bessemer_protocol::{AddressSource, BOOT_CONFIG_PATH, BootConfig, Link, LinkKind, NetworkConfig};
use bessemer_pxe::{
    Answer, BootFiles, BootId, BootServer, BootTarget, ClientIdentity, Config, DirectoryError, Exchange, HostDirectory,
    Interface, Ipxe, Lease, Media, Mode, Overlay, OverlayFile, Reach, Subnet,
};
use common::{bmc, once, switch};
use tokio_util::sync::CancellationToken;

#[macro_use]
mod common;

const BOOT: BootId = BootId(0x00be_55e4);

/// In the overlay of this boot and nowhere else: the machine's DHCP server gives other addresses.
const MARKER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 77);

/// Names the static agent.
const AGENT_VARIABLE: &str = "BESSEMER_AGENT";

/// Served by the boot server beside the ISO; nobody asks for it here.
const IPXE: &str = "/usr/lib/ipxe/snponly.efi";

fn missing() -> Option<String> {
    if std::env::var_os(AGENT_VARIABLE).is_none() {
        return Some(format!("no agent: set {AGENT_VARIABLE}"));
    }
    let tools = ["apt-get", "dpkg-deb", "xorriso", "grub-mkimage", "mcopy", "mkfs.vfat"];
    missing_program(&tools).or_else(|| (!Path::new(IPXE).is_file()).then(|| format!("no {IPXE}")))
}

/// The ISO as operators build it.
fn iso(folder: &Path) -> PathBuf {
    let spec = RamdiskSpec {
        variant: Variant::Cloud,
        agent: std::env::var_os(AGENT_VARIABLE).unwrap().into(),
        firmware: None,
        out_dir: folder.join("ramdisk"),
        cache: Cache::from_env().unwrap(),
    };
    let ramdisk = ramdisk::build(&spec).unwrap();
    let out = folder.join("agent.iso");
    let size = iso::build(&IsoSpec { ramdisk: &ramdisk, cmdline: "console=ttyS0 panic=-1 quiet", out: &out }).unwrap();
    say!("iso: {size} bytes");
    out
}

/// What this boot adds: the agent shall take an address that nobody else told it.
fn boot_config() -> BootConfig {
    BootConfig {
        controllers: vec!["https://192.0.2.1:9".into()],
        ca: String::new(),
        token: "t0ken".into(),
        boot_id: bessemer_protocol::BootId::random(),
        time: 0,
        network: Some(NetworkConfig {
            links: vec![Link {
                id: "boot".into(),
                kind: LinkKind::Physical { mac: Libvirt::MAC.into() },
                mtu: None,
                addresses: vec![AddressSource::Static { address: MARKER.into(), prefix: 24 }],
                routes: Vec::new(),
            }],
            resolvers: Vec::new(),
        }),
    }
}

/// Knows one boot, which is by virtual media.
#[derive(Default)]
struct OneBoot(Mutex<Vec<Exchange>>);

#[async_trait::async_trait]
impl HostDirectory for OneBoot {
    async fn boot_target(&self, _: &ClientIdentity) -> Result<BootTarget, DirectoryError> {
        Ok(BootTarget::Nothing)
    }

    async fn lease(
        &self,
        _: &ClientIdentity,
        _: &Subnet,
        _: Option<Ipv4Addr>,
    ) -> Result<Option<Lease>, DirectoryError> {
        Ok(None)
    }

    async fn overlay(&self, boot_id: &BootId) -> Result<BootFiles, DirectoryError> {
        if *boot_id != BOOT {
            return Ok(BootFiles::Unknown);
        }
        let file = OverlayFile {
            path: BOOT_CONFIG_PATH.trim_start_matches('/').into(),
            mode: 0o600,
            content: serde_json::to_vec(&boot_config()).unwrap().into(),
        };
        Ok(BootFiles::Ready(Overlay { files: vec![file], media: true, ..Overlay::default() }))
    }

    fn observed(&self, exchange: &Exchange) {
        self.0.lock().unwrap().push(exchange.clone());
    }
}

/// Without DHCP, on an address of loopback that no other run of this test has: TFTP's port is fixed.
async fn serve(iso: PathBuf, directory: Arc<OneBoot>) -> BootServer {
    let third = u8::try_from(std::process::id() % 251).unwrap();
    let prefix = format!("127.69.{third}.0/24").parse().unwrap();
    let config = Config {
        interfaces: vec![Interface::new("lo", Ipv4Addr::new(127, 69, third, 77))],
        subnets: vec![Subnet { mode: Mode::Off, ..Subnet::new(prefix, Reach::OnLink("lo".into())) }],
        ipxe: Ipxe { x64: std::fs::read(IPXE).unwrap().into(), ..Ipxe::default() },
        media: Media { iso: Some(iso), ..Media::default() },
        ..Config::default()
    };
    BootServer::start(config, directory, CancellationToken::new()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bmc_boots_the_agent_from_our_iso_with_the_overlay_of_this_boot() {
    if let Some(why) = peers().err().or_else(libvirt_cannot_run).or_else(missing) {
        println!("SKIP {why}");
        return;
    }
    let begun = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let image = tokio::task::block_in_place(|| iso(folder.path()));
    let directory = Arc::<OneBoot>::default();
    let server = serve(image.clone(), Arc::clone(&directory)).await;
    let url = server.iso_urls(BOOT).remove(0);
    let libvirt = Libvirt::start().unwrap();
    let (_sushy, port) = libvirt.sushy().unwrap();
    let redfish = bmc(&format!("redfish+http://127.0.0.1:{port}/redfish/v1/Systems/{}", Libvirt::UUID));

    say!("inserted: {:?}", redfish.insert_media(&Medium::cd(url)).await.unwrap());
    let size = std::fs::metadata(&image).unwrap().len();
    let whole = |exchange: &Exchange| {
        exchange.boot_id == Some(BOOT) && matches!(exchange.answer, Answer::Sent { bytes, .. } if bytes == size)
    };
    let told = directory.0.lock().unwrap().clone();
    assert!(told.iter().any(whole), "the BMC did not fetch {size} bytes: {told:?}");
    say!("cd: {:?}", redfish.set_boot_override(&once(BootDevice::Cd)).await.unwrap());
    let on = Instant::now();
    switch(&*redfish, PowerAction::On, PowerState::On).await;
    let line = libvirt.line(&format!(" has {MARKER}/24")).await.unwrap();
    println!("{line}");
    println!(
        "WALL {:.1} s from power on to the agent by virtual media, {:.1} s with the CD's insertion",
        on.elapsed().as_secs_f32(),
        begun.elapsed().as_secs_f32()
    );
    assert!(line.contains("bessemer:"), "somebody else said {line}");
    switch(&*redfish, PowerAction::ForceOff, PowerState::Off).await;
    say!("ejected: {:?}", redfish.eject_media(MediaKind::Cd).await.unwrap());
}
