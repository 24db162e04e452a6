//! What emulators do have of the hardware that the agent commands: an NVMe disk that is formatted, a management controller that is asked from
//! within, and disks with bad sectors or that stop answering in the middle of a write.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bessemer_protocol::{
    BootConfig, BootId, Deploy, Disk, DiskIdentity, Down, Erase, EraseMode, Failure, FailureCode, Image, ImageFormat,
    LeaveHow, Outcome, Report, Role, RootDeviceHints, Seed, Unlisted, Up, Work, WorkId, WorkItem,
};
use support::controller::{Controller, Event};
use support::{image, machine};

const IMAGE_MEGABYTES: usize = 48;
const FAULTY_BYTES: u64 = 192 << 20;

/// A sector in the middle of the image, to which nothing can be written.
const BAD_WRITE: u64 = 40_000;

/// A sector in the first MiB that is written last, which cannot be read.
const BAD_READ: u64 = 1000;

/// Writes after which a disk answers nothing any more: the tables are gone by then, and most of the image is still to come.
const LAST_WRITE: usize = 16;

/// QEMU's arguments for a disk with `faults`, named by its serial number.
fn faulty(folder: &Path, serial: &str, faults: &str) -> (PathBuf, Vec<String>) {
    let path = folder.join(serial);
    File::create(&path).unwrap().set_len(FAULTY_BYTES).unwrap();
    let layer =
        format!("driver=blkdebug,node-name={serial}-faults,image.driver=file,image.filename={}", path.display());
    let arguments = [
        "-blockdev".to_owned(),
        format!("{layer},{faults}"),
        "-blockdev".to_owned(),
        format!("driver=raw,node-name={serial},file={serial}-faults"),
        "-device".to_owned(),
        format!("virtio-blk-pci,drive={serial},serial={serial},rerror=report,werror=report"),
    ];
    (path, arguments.to_vec())
}

fn bad_sector(way: &str, sector: u64) -> String {
    format!(
        "inject-error.0.event=none,inject-error.0.iotype={way},inject-error.0.errno=5,inject-error.0.sector={sector}"
    )
}

/// Counts writes by going from state to state; in the last one every request fails.
fn vanishing() -> String {
    let counted = (1..LAST_WRITE).map(|state| {
        let number = state - 1;
        format!(
            "set-state.{number}.event=write_aio,set-state.{number}.state={state},set-state.{number}.new_state={},",
            state + 1
        )
    });
    counted.collect::<String>()
        + &format!("inject-error.0.event=write_aio,inject-error.0.state={LAST_WRITE},inject-error.0.errno=5")
}

fn is_bootable(disk: &Path) -> bool {
    let (file, mut ends) = (File::open(disk).unwrap(), vec![0; 2 << 20]);
    let (first, last) = ends.split_at_mut(1 << 20);
    file.read_exact_at(first, 0).unwrap();
    file.read_exact_at(last, FAULTY_BYTES - (1 << 20)).unwrap();
    ends.iter().any(|byte| *byte != 0)
}

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

async fn run(controller: &mut Controller, work: Work) -> Outcome {
    let item = WorkItem { id: WorkId::random(), host_id: controller.host, claim: None, deadline: now() + 600, work };
    let id = item.id;
    controller.send(&Down::Work(item));
    let outcome = controller
        .wait("result", 120, |event| match event {
            Event::Up(Up::Result { work_id, outcome }) if work_id == id => Some(outcome),
            _ => None,
        })
        .await;
    controller.send(&Down::Stored { work_id: id });
    outcome
}

/// Deployments that must fail.
struct Faulty {
    image: Vec<u8>,
    /// To be left alone.
    root: Disk,
}

impl Faulty {
    /// The hints choose `hinted`, and the item means `meant`.
    async fn deploy(&self, controller: &mut Controller, port: u16, hinted: &Disk, meant: &Disk) -> Failure {
        let work = Work::Deploy(Deploy {
            sources: vec![format!("http://10.0.2.2:{port}/raw")],
            image: Image { format: ImageFormat::Raw, checksum: image::sha256(&self.image).into() },
            root: RootDeviceHints { serial_number: Some(hinted.serial_number.clone()), ..RootDeviceHints::default() },
            disk: Some(DiskIdentity::of(meant)),
            keep: vec![DiskIdentity::of(&self.root)],
            seed: Seed { hostname: "r1-u1".into(), instance_id: "i-1".into(), ..Seed::default() },
        });
        match run(controller, work).await {
            Outcome::Failed(failure) => {
                println!("{}: {}", hinted.serial_number, failure.message);
                failure
            }
            Outcome::Done { report } => panic!("{}: {report:?}", hinted.serial_number),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn disks_fail_as_hardware_does_and_the_management_controller_is_found() {
    if let Some(reason) = machine::missing() {
        println!("SKIP {reason}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (kept, erased) = (folder.path().join("kept"), folder.path().join("erased"));
    File::create(&kept).unwrap().set_len(5 << 30).unwrap();
    let data: Vec<u8> = (0..32 << 20).map(|at| (at % 251) as u8).collect();
    fs::write(&erased, &data).unwrap();
    let mut controller = Controller::start().await;
    let config = BootConfig {
        controllers: vec![format!("https://10.0.2.2:{}", controller.port)],
        ca: controller.ca.clone(),
        token: "t0ken".into(),
        boot_id: BootId::random(),
        time: now(),
        network: None,
    };
    let drive = format!("if=none,id=d1,format=raw,file={},cache=unsafe,discard=unmap", erased.display());
    let devices =
        ["-device", "ipmi-bmc-sim,id=bmc", "-device", "isa-ipmi-kcs,bmc=bmc", "-device", "nvme,drive=d1,serial=nvme1"];
    let (bad_write, write_arguments) = faulty(folder.path(), "badwrite", &bad_sector("write", BAD_WRITE));
    let (bad_read, read_arguments) = faulty(folder.path(), "badread", &bad_sector("read", BAD_READ));
    let (vanishing, vanish_arguments) = faulty(folder.path(), "vanish", &vanishing());
    let more: Vec<&str> =
        [&write_arguments, &read_arguments, &vanish_arguments].into_iter().flatten().map(String::as_str).collect();
    let arguments = [&["-drive", &drive][..], &devices, &more].concat();
    let mut machine = machine::Machine::boot_server(folder.path(), &config, &kept, &arguments);
    let said = |event| matches!(event, Event::Up(Up::Hello { role: Role::Ramdisk, .. })).then_some(());
    controller.wait("hello", 120, said).await;

    let Outcome::Done { report: Report::Inspected { hardware } } = run(&mut controller, Work::Inspect).await else {
        panic!("not inspected")
    };
    println!("unread: {:?}, bmc: {:?}", hardware.unread, hardware.bmc);
    let disk = hardware.storage.iter().find(|disk| disk.serial_number == "nvme1").unwrap();
    assert_eq!((disk.kind.as_str(), disk.transport.as_str(), disk.size_bytes), ("NVME", "nvme", 32 << 20));
    assert!(disk.alternate_names.iter().any(|name| name.ends_with("-nvme-1")), "{:?}", disk.alternate_names);
    let capabilities = disk.nvme.unwrap();
    assert!(capabilities.format && !capabilities.sanitize_block, "{capabilities:?}");
    // The emulated one has no LAN channel, and says so; that takes a command and its answer.
    let silence = hardware.unread.iter().find(|unread| unread.source == "bmc").map(|unread| unread.why.as_str());
    assert_eq!(silence, Some("it has no LAN channel"), "{:?}", hardware.unread);

    let order =
        |disk: DiskIdentity| Erase { mode: EraseMode::Full, disks: vec![disk], keep: vec![], unlisted: Unlisted::Keep };
    let other = DiskIdentity { serial_number: "another".into(), ..DiskIdentity::of(disk) };
    let Outcome::Failed(failure) = run(&mut controller, Work::Erase(order(other))).await else { panic!("erased") };
    assert_eq!(failure.code, FailureCode::WrongDisk, "{}", failure.message);
    assert_eq!(fs::read(&erased).unwrap(), data, "a disk that was not meant is touched");

    let outcome = run(&mut controller, Work::Erase(order(DiskIdentity::of(disk)))).await;
    let Outcome::Done { report: Report::Erased(report) } = outcome else { panic!("{outcome:?}\n{}", machine.said()) };
    println!("{report:?}");
    assert_eq!(report.erased[0].steps, ["NVMe format, user data erase"]);
    assert!(fs::read(&erased).unwrap().iter().all(|byte| *byte == 0), "data is left");

    let disks = |serial: &str| hardware.storage.iter().find(|disk| disk.serial_number == serial).unwrap().clone();
    let faulty = Faulty { image: image::image(IMAGE_MEGABYTES), root: disks("disk0") };
    let port = image::serve(faulty.image.clone(), Vec::new()).await;
    let (write_disk, read_disk, vanish_disk) = (disks("badwrite"), disks("badread"), disks("vanish"));

    // Another disk than the hints choose is meant.
    let failure = faulty.deploy(&mut controller, port, &write_disk, &read_disk).await;
    assert_eq!(failure.code, FailureCode::WrongDisk, "{}", failure.message);

    let failure = faulty.deploy(&mut controller, port, &write_disk, &write_disk).await;
    assert_eq!(failure.code, FailureCode::WriteFailed, "{}", failure.message);
    assert!(failure.message.ends_with("the disk was not made bootable"), "{}", failure.message);
    assert!(!is_bootable(&bad_write), "half an image is bootable");

    // It is all there, but what was written last cannot be read back.
    let failure = faulty.deploy(&mut controller, port, &read_disk, &read_disk).await;
    assert_eq!(failure.code, FailureCode::WriteFailed, "{}", failure.message);
    assert!(failure.message.contains("read back"), "{}", failure.message);
    assert!(failure.message.ends_with("the disk was not made bootable"), "{}", failure.message);
    assert!(!is_bootable(&bad_read), "an image that cannot be read back is bootable");

    // One bad disk does not keep the others from being erased, and fails the item.
    let plan = Erase {
        mode: EraseMode::Metadata,
        disks: vec![DiskIdentity::of(&read_disk), DiskIdentity::of(&write_disk)],
        keep: vec![],
        unlisted: Unlisted::Keep,
    };
    let Outcome::Failed(failure) = run(&mut controller, Work::Erase(plan)).await else { panic!("erased") };
    println!("{}", failure.message);
    assert_eq!(failure.code, FailureCode::EraseFailed, "{}", failure.message);
    let (failed, erased) = failure.message.split_once("; erased: ").unwrap();
    assert!(failed.contains(&read_disk.name) && erased.contains(&write_disk.name), "{}", failure.message);

    let failure = faulty.deploy(&mut controller, port, &vanish_disk, &vanish_disk).await;
    assert_eq!(failure.code, FailureCode::WriteFailed, "{}", failure.message);
    assert!(failure.message.contains("could not be scrubbed after that"), "{}", failure.message);
    assert!(!is_bootable(&vanishing), "half an image is bootable");
    let written = fs::read(&vanishing).unwrap();
    assert!(written.iter().any(|byte| *byte != 0), "it vanished before anything was written");

    // What the kernel said of it all is told when asked for.
    let Outcome::Done { report: Report::Collected { agent, kernel } } = run(&mut controller, Work::Collect).await
    else {
        panic!("not collected")
    };
    assert!(kernel.iter().any(|line| line.contains("I/O error")), "{kernel:?}");
    assert!(agent.iter().any(|line| line.contains("deploying for")), "{agent:?}");
    assert!(matches!(run(&mut controller, Work::Leave { how: LeaveHow::PowerOff }).await, Outcome::Done { .. }));
    assert!(machine.wait_off(30), "still on: {}", machine.console());
}
