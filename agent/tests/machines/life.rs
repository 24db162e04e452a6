//! One life: from power-on through enrolment, inspection, erasure and deployment to the installed system's own words.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use bessemer_images::os::{Format, Sector};
use bessemer_protocol::{
    BootConfig, BootId, Deploy, DeployReport, DiskIdentity, Down, Erase, EraseMode, EraseReport, HardwareDetails,
    HostId, Image, ImageFormat, LeaveHow, Outcome, Report, Role, RootDeviceHints, Seed, Unlisted, Up, Work, WorkId,
    WorkItem,
};

use crate::debian::{self, Served};
use crate::support::controller::{Controller, Event};
use crate::vm::{DiskKind, Firmware, Medium, Parts};
use crate::{files, inventory, vm};

const DISK: u64 = 4 << 30;
const HOSTNAME: &str = "r1-u1";

/// Two emulated machines at once are slower than one after the other.
static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A way through it.
#[derive(Debug, Clone, Copy)]
pub struct Life {
    pub firmware: Firmware,
    pub medium: Medium,
    /// The disk that is erased and written.
    pub target: DiskKind,
    /// More disks, which stay as they are.
    pub others: &'static [DiskKind],
    pub format: Format,
    pub sector: Sector,
    /// Length of the image, if it is to be longer.
    pub padded_to: Option<u64>,
    pub leave: LeaveHow,
    /// Whether to compare the inventory with the golden one.
    pub inventory: bool,
}

impl Default for Life {
    fn default() -> Self {
        Self {
            firmware: Firmware::default(),
            medium: Medium::default(),
            target: DiskKind::default(),
            others: &[],
            format: Format::Zst,
            sector: Sector::Bytes512,
            padded_to: None,
            leave: LeaveHow::Reboot,
            inventory: false,
        }
    }
}

pub async fn live(life: &Life) {
    if let Some(reason) = vm::missing() {
        println!("SKIP {reason}");
        return;
    }
    let _alone = ONE_AT_A_TIME.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let served = match life.padded_to {
        Some(size) => Served::padded(folder.path(), size),
        None => Served::of(&debian::image(life.format, life.sector)),
    };
    let kinds: Vec<DiskKind> = [&[life.target], life.others].concat();
    let parts = Parts::new(folder.path(), life.firmware, &kinds, DISK);
    for (_, disk) in &parts.disks {
        dirty(disk);
    }
    let images = files::serve(served.path.clone()).await;
    let mut controller = Controller::start().await;
    let config = BootConfig {
        controllers: vec![format!("https://10.0.2.2:{}", controller.port)],
        ca: controller.ca.clone(),
        token: "t0ken".into(),
        boot_id: BootId::random(),
        time: now(),
        network: None,
    };
    let mut machine = parts.boot_ramdisk(life.medium, &config);
    let said = |event| matches!(event, Event::Up(Up::Hello { role: Role::Ramdisk, .. })).then_some(());
    controller.wait("hello", 120, said).await;
    println!("WALL {:.1} s from power on to the agent's hello", machine.started.elapsed().as_secs_f32());

    let hardware = inspect(&mut controller).await;
    assert_eq!(hardware.storage.len(), kinds.len(), "{:?}", hardware.storage);
    if life.inventory {
        inventory::compare(&hardware);
    }
    let target = hardware.storage.iter().find(|disk| disk.serial_number == life.target.serial()).unwrap();
    let erased = erase(&mut controller, DiskIdentity::of(target)).await;
    assert_eq!((erased.erased.len(), erased.skipped.len()), (1, kinds.len() - 1), "{erased:?}");
    assert!(is_blank(&parts.disks[0].1), "the disk is not erased");
    assert!(parts.disks[1..].iter().all(|(_, disk)| !is_blank(disk)), "another disk is erased");
    println!(
        "WALL {:.1} s from power on to the erased disk: {}",
        machine.started.elapsed().as_secs_f32(),
        erased.erased[0].steps.join("; ")
    );

    let report = deploy(&mut controller, life, images, &served).await;
    println!(
        "WALL {:.1} s from power on to the written disk: {} on {}",
        machine.started.elapsed().as_secs_f32(),
        report.format,
        report.disk.name
    );
    println!("{:?}; notes: {:?}; {:?}", report.partitions, report.notes, report.boot);
    assert_eq!(report.disk.serial_number, life.target.serial());
    assert_eq!(report.image_bytes, served.raw_size);
    assert_eq!(report.boot.uefi, life.firmware == Firmware::Uefi);
    if let Some(end) = life.padded_to {
        // The last of it belongs to the seed and the root by now.
        assert!(debian::is_written_up_to(&parts.disks[0].1, end - (1 << 30)), "the image was not written to its end");
    }

    let left = run(&mut controller, Work::Leave { how: life.leave }).await;
    let Report::Leaving(left) = left else { panic!("{left:?}") };
    assert_eq!(left.how, life.leave, "{:?}", left.detail);
    let proof = if life.leave == LeaveHow::Kexec {
        let proof = machine.says("PROOF ", 120).await;
        println!("WALL {:.1} s from power on to the disk's system, by kexec", machine.started.elapsed().as_secs_f32());
        proof
    } else {
        machine.ends(30).await;
        println!("WALL {:.1} s from power on to power off", machine.started.elapsed().as_secs_f32());
        drop(machine);
        let mut booted = parts.boot_disk();
        let proof = booted.says("PROOF ", 120).await;
        println!("WALL {:.1} s from the next power on to the disk's system", booted.started.elapsed().as_secs_f32());
        proof
    };
    println!("{proof}");
    let firmware = if life.firmware == Firmware::Uefi { "uefi" } else { "bios" };
    assert!(
        proof.contains(&format!("firmware={firmware} ")) && proof.ends_with(&format!("seed={HOSTNAME}")),
        "{proof}"
    );
    let size: u64 = proof.split("mebibytes=").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(size > 3000, "the root has not grown: {proof}");
}

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

async fn run(controller: &mut Controller, work: Work) -> Report {
    let (host_id, id): (HostId, _) = (controller.host, WorkId::random());
    let item = WorkItem { id, host_id, claim: Some("metal/m0".into()), deadline: now() + 600, work };
    controller.send(&Down::Work(item));
    let outcome = controller
        .wait("result", 300, |event| match event {
            Event::Up(Up::Result { work_id, outcome }) if work_id == id => Some(outcome),
            _ => None,
        })
        .await;
    controller.send(&Down::Stored { work_id: id });
    match outcome {
        Outcome::Done { report } => report,
        Outcome::Failed(failure) => panic!("{:?}: {}", failure.code, failure.message),
    }
}

async fn inspect(controller: &mut Controller) -> HardwareDetails {
    match run(controller, Work::Inspect).await {
        Report::Inspected { hardware } => *hardware,
        other => panic!("{other:?}"),
    }
}

async fn erase(controller: &mut Controller, disk: DiskIdentity) -> EraseReport {
    let plan = Erase { mode: EraseMode::Metadata, disks: vec![disk], keep: Vec::new(), unlisted: Unlisted::Keep };
    match run(controller, Work::Erase(plan)).await {
        Report::Erased(report) => report,
        other => panic!("{other:?}"),
    }
}

async fn deploy(controller: &mut Controller, life: &Life, port: u16, served: &Served) -> DeployReport {
    let format = if life.format == Format::Qcow2 { ImageFormat::Qcow2 } else { ImageFormat::Raw };
    let work = Work::Deploy(Deploy {
        sources: vec![format!("http://10.0.2.2:{port}/image")],
        image: Image { format, checksum: served.digest.clone().into() },
        root: RootDeviceHints { serial_number: Some(life.target.serial().into()), ..RootDeviceHints::default() },
        disk: None,
        keep: Vec::new(),
        seed: Seed { hostname: HOSTNAME.into(), instance_id: "i-1".into(), ..Seed::default() },
    });
    match run(controller, work).await {
        Report::Deployed(report) => report,
        other => panic!("{other:?}"),
    }
}

/// Leaves on the disk what a former life does: a partition table at both ends.
fn dirty(disk: &Path) {
    let mut sfdisk = Command::new("/sbin/sfdisk")
        .arg("--quiet")
        .arg(disk)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut sfdisk.stdin.take().unwrap(), b"label: gpt\nsize=64MiB\n").unwrap();
    assert!(sfdisk.wait().unwrap().success());
}

/// Whether nothing of that can be found any more.
fn is_blank(disk: &Path) -> bool {
    let file = File::open(disk).unwrap();
    let mut table = [0; 8];
    file.read_exact_at(&mut table, 512).unwrap();
    let found = Command::new("/sbin/wipefs").arg("--no-act").arg(disk).output().unwrap();
    table == [0; 8] && found.stdout.is_empty()
}
