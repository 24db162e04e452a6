//! The disk that is written is the one that was meant, whatever became of it meanwhile.

use std::cell::Cell;

use bessemer_protocol::{BootConfig, BootId, Deploy, Disk, DiskIdentity, RootDeviceHints, WorkId};

use super::super::{Job, deploy_among};
use super::*;
use crate::link::Controllers;
use crate::link::items::Items;
use crate::ramdisk::inspect::disks::FoundDisk;

fn found(path: &Path, serial: &str, gibibytes: u64) -> FoundDisk {
    let inventory = Disk {
        name: path.display().to_string(),
        serial_number: serial.into(),
        size_bytes: gibibytes << 30,
        ..Disk::default()
    };
    FoundDisk { inventory, objection: None, can_discard: false }
}

fn job(url: &str, digest: Digest, disk: Option<DiskIdentity>, keep: Vec<DiskIdentity>) -> Job {
    let controllers = vec!["https://127.0.0.1:1".to_owned()];
    Job {
        id: WorkId::random(),
        host: HostId::random(),
        claim: None,
        deadline: tokio::time::Instant::now() + Duration::from_secs(50),
        order: Deploy {
            sources: vec![url.to_owned()],
            image: Image { format: ImageFormat::Auto, checksum: digest.into() },
            root: RootDeviceHints::default(),
            disk,
            keep,
            seed: seed(),
        },
        config: Arc::new(BootConfig {
            controllers: controllers.clone(),
            ca: String::new(),
            token: String::new(),
            boot_id: BootId::random(),
            time: 0,
            network: None,
        }),
        controllers: Arc::new(Controllers::new(&controllers, "", None).unwrap()),
        items: Arc::new(Items::default()),
    }
}

/// Two disks; of the one that was inspected something becomes, and the other one must stay byte for byte.
#[tokio::test(flavor = "multi_thread")]
async fn when_the_chosen_disk_is_gone_no_other_takes_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (root, data) = (used_disk(folder.path()), folder.path().join("data"));
    fs::copy(&root, &data).unwrap();
    let image = image(24);
    let server = Server::start([("/image", Served::new(&image))]);
    let (chosen, other) = (found(&root, "R", 8), found(&data, "D", 16));
    let (wanted, kept) = (DiskIdentity::of(&chosen.inventory), DiskIdentity::of(&other.inventory));
    let exchanged = found(&root, "N", 8);
    let both = vec![chosen, other.clone()];
    // What is found when the item begins and once the disk is open, whether others are kept, and the words.
    let table = [
        ("gone before", vec![other.clone()], vec![], false, "by now: inspect the host again"),
        ("exchanged before", vec![exchanged.clone(), other.clone()], vec![], false, "choose"),
        (
            "exchanged while it was opened",
            both.clone(),
            vec![exchanged, other.clone()],
            true,
            "another disk has its name",
        ),
        ("gone while it was opened", both.clone(), vec![other], true, "is not there any more"),
    ];
    let before = fs::read(&data).unwrap();
    for (what, first, then, keep, words) in table {
        let keep = if keep { vec![kept.clone()] } else { vec![] };
        let looks = Cell::new(0);
        let list = || {
            looks.set(looks.get() + 1);
            if looks.get() == 1 { first.clone() } else { then.clone() }
        };
        let job = job(&server.url("/image"), sha256(&image), Some(wanted.clone()), keep);
        let error = Box::pin(deploy_among(job, list)).await.err().unwrap_or_else(|| panic!("{what}: deployed"));
        assert_eq!(error.code(), FailureCode::WrongDisk, "{what}: {error}");
        assert!(error.to_string().contains(words), "{what}: {error}");
        assert!(
            fs::read(&data).unwrap() == before && fs::read(&root).unwrap() == before,
            "{what}: something was written"
        );
    }
    // An item of an older controller, which means none, would take the other one: that is what the identity is for.
    let job = job(&server.url("/image"), sha256(&image), Some(wanted), vec![kept]);
    let report = Box::pin(deploy_among(job, || both.clone())).await.unwrap();
    assert_eq!(report.disk.serial_number, "R");
    assert_written(&root, &image);
    assert!(fs::read(&data).unwrap() == before);
}
