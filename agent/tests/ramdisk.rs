//! The ramdisk role on a real kernel: boots, enrols, inspects, refuses, fails safely, deploys, leaves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::fs::File;
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bessemer_protocol::{
    BootConfig, BootId, BootstrapDelivery, Deploy, DeployReport, Digest, Down, FailureCode, HardwareDetails, HostId,
    Image, ImageFormat, LeaveHow, Outcome, Report, Role, RootDeviceHints, Seed, Up, Work, WorkId, WorkItem,
};
use support::controller::{Controller, Event};
use support::{image, machine};

const IMAGE_MEGABYTES: usize = 256;

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

fn item(host_id: HostId, work: Work) -> WorkItem {
    WorkItem { id: WorkId::random(), host_id, claim: Some("metal/m0".into()), deadline: now() + 600, work }
}

fn deploy(port: u16, path: &str, digest: &Digest) -> Work {
    Work::Deploy(Deploy {
        sources: vec![format!("http://10.0.2.2:{port}/missing"), format!("http://10.0.2.2:{port}/{path}")],
        image: Image { format: ImageFormat::Raw, checksum: digest.clone().into() },
        root: RootDeviceHints { serial_number: Some("disk0".into()), ..RootDeviceHints::default() },
        disk: None,
        keep: Vec::new(),
        seed: Seed {
            hostname: "r1-u1".into(),
            instance_id: "i-1".into(),
            // The image is no system, and takes no agent.
            delivery: BootstrapDelivery::CloudInit,
            ..Seed::default()
        },
    })
}

async fn result(controller: &mut Controller, id: WorkId) -> Outcome {
    let outcome = controller
        .wait("result", 300, |event| match event {
            Event::Up(Up::Result { work_id, outcome }) if work_id == id => Some(outcome),
            _ => None,
        })
        .await;
    controller.send(&Down::Stored { work_id: id });
    outcome
}

async fn run(controller: &mut Controller, item: WorkItem) -> Outcome {
    let id = item.id;
    controller.send(&Down::Work(item));
    result(controller, id).await
}

fn failure(outcome: Outcome) -> (FailureCode, String) {
    match outcome {
        Outcome::Failed(failure) => (failure.code, failure.message),
        Outcome::Done { report } => panic!("done: {report:?}"),
    }
}

fn deployed(outcome: Outcome) -> DeployReport {
    match outcome {
        Outcome::Done { report: Report::Deployed(report) } => report,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_enrols_inspects_deploys_and_leaves() {
    if let Some(reason) = machine::missing() {
        println!("SKIP {reason}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let raw = image::image(IMAGE_MEGABYTES);
    let zst = zstd::bulk::compress(&raw, 3).unwrap();
    let (raw_digest, zst_digest) = (image::sha256(&raw), image::sha256(&zst));
    println!("SIZE image: {} bytes raw, {} bytes zstd", raw.len(), zst.len());
    let images = image::serve(raw.clone(), zst.clone()).await;
    let mut controller = Controller::start().await;
    let disk_path = folder.path().join("disk");
    File::create(&disk_path).unwrap().set_len(5 << 30).unwrap();
    let config = BootConfig {
        controllers: vec![format!("https://10.0.2.2:{}", controller.port)],
        ca: controller.ca.clone(),
        token: "t0ken".into(),
        boot_id: BootId::random(),
        time: now(),
        network: None,
    };
    let mut machine = machine::Machine::boot(folder.path(), &config, &disk_path);
    let disk = File::open(&disk_path).unwrap();
    let host = controller.host;

    let request = controller.wait("enrolment", 120, |event| match event {
        Event::Enrolled(request) => Some(request),
        _ => None,
    });
    let request = request.await;
    println!("WALL {:.1} s from power on to the enrolment", machine.started.elapsed().as_secs_f32());
    assert_eq!(request.token, config.token);
    assert_eq!(request.identity.macs, ["52:54:00:00:00:01"]);
    assert_eq!(request.identity.smbios_uuid.as_deref(), Some("7b1c9a0e-2f64-4a39-9c35-2d1e7d7f0001"));
    assert_eq!(request.identity.serial.as_deref(), Some("SN0001"));
    let hello = |event| match event {
        Event::Up(Up::Hello { role: Role::Ramdisk, items, .. }) => Some(items),
        _ => None,
    };
    assert_eq!(controller.wait("hello", 30, hello).await, []);

    // A result that nobody stored is told again on the next stream.
    let inspect = item(host, Work::Inspect);
    let inspect_id = inspect.id;
    controller.send(&Down::Work(inspect));
    controller
        .wait("inventory", 60, |event| match event {
            Event::Up(Up::Result { work_id, .. }) => (work_id == inspect_id).then_some(()),
            _ => None,
        })
        .await;
    controller.hang_up();
    let items = controller.wait("second hello", 30, hello).await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].work_id, inspect_id);
    match result(&mut controller, inspect_id).await {
        Outcome::Done { report: Report::Inspected { hardware } } => inventory_is_right(&hardware),
        other => panic!("{other:?}"),
    }

    let (code, message) =
        failure(run(&mut controller, item(HostId::random(), deploy(images, "raw", &raw_digest))).await);
    assert_eq!(code, FailureCode::Refused, "{message}");

    let (code, message) = failure(run(&mut controller, item(host, deploy(images, "nowhere", &raw_digest))).await);
    assert_eq!(code, FailureCode::FetchFailed, "{message}");
    assert!(message.contains("status 404"), "{message}");

    let wrong = item(host, deploy(images, "zst", &raw_digest));
    let (code, message) = failure(run(&mut controller, wrong.clone()).await);
    assert_eq!(code, FailureCode::DigestMismatch, "{message}");
    assert!(image::first_mebibyte(&disk).iter().all(|byte| *byte == 0), "half an image is bootable");
    // A known id is answered, not carried out.
    let again = Instant::now();
    assert_eq!(failure(run(&mut controller, wrong).await), (code, message));
    assert!(again.elapsed().as_secs() < 5);

    for (path, digest, fetched) in [("zst", &zst_digest, zst.len()), ("raw", &raw_digest, raw.len())] {
        let started = Instant::now();
        let order = item(host, deploy(images, path, digest));
        let id = order.id;
        controller.send(&Down::Work(order));
        let mut progress = 0;
        let outcome = controller
            .wait("deploy", 300, |event| match event {
                Event::Up(Up::Progress { work_id, .. }) if work_id == id => {
                    progress += 1;
                    None
                }
                Event::Up(Up::Result { work_id, outcome }) if work_id == id => Some(outcome),
                _ => None,
            })
            .await;
        controller.send(&Down::Stored { work_id: id });
        let report = deployed(outcome);
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "WALL {seconds:.1} s to deploy {path}, {:.1} MB/s of image, {progress} progress messages",
            raw.len() as f64 / 1e6 / seconds
        );
        assert!(progress as f64 <= seconds + 2.0, "more than one progress message a second");
        assert_eq!((report.fetched_bytes, report.image_bytes), (fetched as u64, raw.len() as u64));
        assert_eq!(report.disk.serial_number, "disk0");
        assert_eq!(report.partitions.len(), 3, "{:?}", report.partitions);
        assert!(image::is_on(&disk, &raw), "the disk differs from the image");
    }

    let leave = item(host, Work::Leave { how: LeaveHow::PowerOff });
    assert!(matches!(run(&mut controller, leave).await, Outcome::Done { report: Report::Leaving(_) }));
    assert!(machine.wait_off(30), "still on: {}", machine.console());
    println!("console:\n{}", machine.said());
    seed_is_right(&disk_path, host);
}

fn inventory_is_right(hardware: &HardwareDetails) {
    assert_eq!(hardware.system_vendor.manufacturer, "Bessemer");
    assert_eq!(hardware.cpu.count, 1);
    assert_eq!(hardware.cpu.arch, "x86_64");
    assert!((400..=512).contains(&hardware.ram_mebibytes), "{}", hardware.ram_mebibytes);
    assert_eq!(hardware.firmware.boot_mode, "legacy");
    assert_eq!(hardware.nics.len(), 1);
    assert!(hardware.nics[0].pxe && hardware.nics[0].ip.starts_with("10.0.2."), "{:?}", hardware.nics);
    assert_eq!(hardware.storage.len(), 1);
    let disk = &hardware.storage[0];
    assert_eq!((disk.name.as_str(), disk.size_bytes, disk.serial_number.as_str()), ("/dev/vda", 5 << 30, "disk0"));
}

fn seed_is_right(disk: &std::path::Path, host: HostId) {
    let table = Command::new("sfdisk").args(["-J"]).arg(disk).output().unwrap();
    let table: serde_json::Value = serde_json::from_slice(&table.stdout).unwrap();
    let partitions = table["partitiontable"]["partitions"].as_array().unwrap();
    let seed = partitions.iter().find(|partition| partition["name"] == "config-2").unwrap();
    let start = seed["start"].as_u64().unwrap() * 512;
    let verified = Command::new("sfdisk").arg("-V").arg(disk).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
    let image = format!("{}@@{start}", disk.display());
    let identity = Command::new("mtype").args(["-i", &image, "::/bessemer/identity.json"]).output().unwrap();
    let identity: bessemer_protocol::NodeIdentity = serde_json::from_slice(&identity.stdout).unwrap();
    assert_eq!((identity.host_id, identity.claim.as_str(), identity.hostname.as_str()), (host, "metal/m0", "r1-u1"));
    assert!(identity.key.contains("PRIVATE KEY") && identity.certificate.contains("CERTIFICATE"));
}
