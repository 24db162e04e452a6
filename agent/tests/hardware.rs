//! What emulators do have of the hardware that the agent commands: an NVMe disk that is formatted, and a management controller that is asked
//! from within.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::fs::{self, File};
use std::time::{SystemTime, UNIX_EPOCH};

use bessemer_protocol::{
    BootConfig, BootId, DiskIdentity, Down, Erase, EraseMode, FailureCode, LeaveHow, Outcome, Report, Role, Unlisted,
    Up, Work, WorkId, WorkItem,
};
use support::controller::{Controller, Event};
use support::machine;

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

#[tokio::test(flavor = "multi_thread")]
async fn an_nvme_disk_is_formatted_and_the_management_controller_is_found() {
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
    let mut machine =
        machine::Machine::boot_server(folder.path(), &config, &kept, &[&["-drive", &drive][..], &devices].concat());
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
    assert!(matches!(run(&mut controller, Work::Leave { how: LeaveHow::PowerOff }).await, Outcome::Done { .. }));
    assert!(machine.wait_off(30), "still on: {}", machine.console());
}
