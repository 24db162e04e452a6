//! The whole path from chunks to a finished disk, on a sparse file, judged by sfdisk and mtools where they are there.

use std::fs::{self, File, OpenOptions};
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use bessemer_protocol::{BootstrapDelivery, Digest, DigestAlgorithm, HostId, NodeIdentity, Seed};
use bytes::Bytes;
use gptman::{GPT, GPTPartitionEntry};
use proptest::prelude::*;
use ring::digest::{SHA256, SHA512, digest};
use tokio::sync::mpsc;

use super::decode::{Stopped, into_disk};
use super::disk::Target;
use super::{Chunk, DeployError, fetch, finish};

const MIB: usize = 1 << 20;
const DISK: u64 = 160 << 20;

/// A disk full of what a previous tenant left, so that a zero that was not written shows.
fn used_disk(folder: &Path) -> PathBuf {
    let path = folder.join("disk");
    let mut file = File::create(&path).unwrap();
    file.set_len(DISK).unwrap();
    for at in [0, 5 * MIB, 11 * MIB, 17 * MIB, 40 * MIB, DISK as usize - MIB] {
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(&[0xaa; MIB]).unwrap();
    }
    path
}

/// An EFI partition and a root, some data, long runs of zeroes.
fn image(megabytes: usize) -> Vec<u8> {
    let mut image = vec![0; megabytes * MIB];
    let mut cursor = Cursor::new(&mut image[..]);
    let mut table = GPT::new_from(&mut cursor, 512, [7; 16]).unwrap();
    let entry = |kind: u128, first: u64, last: u64, name: &str| GPTPartitionEntry {
        partition_type_guid: uuid::Uuid::from_u128(kind).to_bytes_le(),
        unique_partition_guid: uuid::Uuid::new_v4().to_bytes_le(),
        starting_lba: first,
        ending_lba: last,
        attribute_bits: 0,
        partition_name: name.into(),
    };
    let last = table.header.last_usable_lba;
    table[1] = entry(0xC12A_7328_F81F_11D2_BA4B_00A0_C93E_C93B, 2048, 8191, "ESP");
    table[2] = entry(0x0FC6_3DAF_8483_4772_8E79_3D69_D847_7DE4, 8192, last, "root");
    GPT::write_protective_mbr_into(&mut cursor, 512).unwrap();
    table.write_into(&mut cursor).unwrap();
    for (at, byte) in [(2, 1), (4, 2), (9, 3), (megabytes - 2, 4)] {
        image[at * MIB + 100..at * MIB + 70_000].fill(byte);
    }
    image
}

fn sha256(bytes: &[u8]) -> Digest {
    let hex = digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Digest { algorithm: DigestAlgorithm::Sha256, hex }
}

fn identity() -> NodeIdentity {
    NodeIdentity {
        controllers: vec!["https://10.0.2.2:8444".into()],
        ca: "CA".into(),
        certificate: "CERT".into(),
        key: "KEY".into(),
        host_id: HostId::random(),
        claim: "metal/m0".into(),
        hostname: "r1-u1".into(),
        delivery: BootstrapDelivery::Agent,
    }
}

fn seed() -> Seed {
    Seed { hostname: "r1-u1".into(), instance_id: "i-1".into(), ..Seed::default() }
}

/// Runs the part after the network; `cut` sends a failure in place of the end.
fn deploy(disk: &Path, bytes: &[u8], piece: usize, cut: bool, wanted: &Digest) -> Result<Vec<String>, DeployError> {
    let target = Arc::new(Target::open(disk.to_str().unwrap()).unwrap());
    target.destroy_tables().unwrap();
    let (sender, receiver) = mpsc::channel::<Chunk>(4);
    let pieces: Vec<Bytes> = bytes.chunks(piece).map(Bytes::copy_from_slice).collect();
    let feeding = std::thread::spawn(move || {
        for piece in pieces {
            if sender.blocking_send(Ok(piece)).is_err() {
                return;
            }
        }
        if cut {
            let _ = sender.blocking_send(Err(fetch::Cut));
        }
    });
    let result = match into_disk(receiver, &target, wanted) {
        Ok(held) => finish::finish(&target, held, &seed(), Some(&identity())),
        Err(Stopped::Cut) => Err(DeployError::Fetch("cut".into())),
        Err(Stopped::Failed(error)) => Err(error),
    };
    feeding.join().unwrap();
    result
}

fn read(disk: &Path, at: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    File::open(disk).unwrap().read_exact_at(&mut bytes, at).unwrap();
    bytes
}

fn is_bootable(disk: &Path) -> bool {
    read(disk, 0, MIB).iter().any(|byte| *byte != 0) || read(disk, DISK - MIB as u64, MIB).iter().any(|byte| *byte != 0)
}

/// Everything of the image but the table is on the disk, byte by byte.
fn assert_written(disk: &Path, image: &[u8]) {
    let entries = 34 * 512;
    let end = image.len() - entries;
    assert!(read(disk, 0, image.len())[entries..end] == image[entries..end], "the disk differs from the image");
}

#[test]
fn an_image_becomes_a_disk_that_others_accept() {
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let image = image(24);
    let partitions = deploy(&disk, &image, 77_777, false, &sha256(&image)).unwrap();
    assert_written(&disk, &image);
    let seed_first = 194_560;
    assert_eq!(
        partitions,
        [
            "1 ESP 2048-8191".to_owned(),
            format!("2 root 8192-{}", seed_first - 1),
            format!("3 config-2 {seed_first}-{}", seed_first + 131_071),
        ]
    );
    outside_says_so(&disk, seed_first * 512);
}

fn outside_says_so(disk: &Path, seed_start: u64) {
    match Command::new("sfdisk").arg("-V").arg(disk).output() {
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && words.contains("No errors detected"), "{words}");
        }
        Err(_) => println!("SKIP no sfdisk"),
    }
    let image = format!("{}@@{seed_start}", disk.display());
    let mtools = |arguments: &[&str]| Command::new("mtype").args(["-i", &image]).args(arguments).output();
    match mtools(&["::/openstack/latest/meta_data.json"]) {
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            let meta: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(meta["uuid"], "i-1");
            assert_eq!(meta["local-hostname"], "r1-u1");
            assert!(mtools(&["::/bessemer/identity.json"]).unwrap().status.success());
            let label = Command::new("mlabel").args(["-i", &image, "-s", "::"]).output().unwrap();
            assert!(String::from_utf8_lossy(&label.stdout).contains("config-2"), "{label:?}");
        }
        Err(_) => println!("SKIP no mtools"),
    }
}

#[test]
fn a_compressed_image_gives_the_same_disk() {
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let image = image(24);
    let compressed = zstd::bulk::compress(&image, 3).unwrap();
    deploy(&disk, &compressed, 1000, false, &sha256(&compressed)).unwrap();
    assert_written(&disk, &image);
}

#[test]
fn sha512_is_as_good() {
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let image = image(24);
    let hex = digest(&SHA512, &image).as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    deploy(&disk, &image, MIB, false, &Digest { algorithm: DigestAlgorithm::Sha512, hex }).unwrap();
}

#[test]
fn an_image_as_long_as_the_disk_leaves_no_backup_table_when_it_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let image = image(DISK as usize / MIB);
    let error = deploy(&disk, &image, MIB, false, &sha256(b"other")).unwrap_err();
    assert!(matches!(error, DeployError::Digest { .. }), "{error}");
    assert!(!is_bootable(&disk));
}

#[test]
fn what_is_wrong_with_an_image_is_said_and_nothing_boots() {
    let image = image(24);
    let compressed = zstd::bulk::compress(&image, 3).unwrap();
    let cut = &compressed[..compressed.len() / 2];
    let mut corrupt = compressed.clone();
    corrupt[compressed.len() / 2] ^= 0x10;
    let page = b"<html>404</html>".repeat(100);
    let long = vec![1; DISK as usize + MIB];
    let mut no_table = image.clone();
    no_table[512..1024].fill(0);
    let mut other_sector = image.clone();
    other_sector.copy_within(512..1024, 4096);
    other_sector[512..1024].fill(0);
    let mut absurd = image.clone();
    absurd[512 + 80..512 + 84].fill(0xff);
    let table: [(&str, &[u8], bool, Digest, &str); 9] = [
        ("wrong digest", &image, false, sha256(b"x"), "image digest is sha256:"),
        ("cut", &image[..5 * MIB], true, sha256(&image), "no source gave the image"),
        (
            "truncated zstd whose digest is right",
            cut,
            false,
            sha256(cut),
            "cannot be decoded although its digest is right",
        ),
        ("corrupt zstd", &corrupt, false, sha256(&compressed), "image digest is"),
        ("a web page", &page, false, sha256(&image), "image digest is"),
        ("longer than the disk", &long, false, sha256(&long), "longer than"),
        ("no table", &no_table, false, sha256(&no_table), "no GUID partition table"),
        ("for other disks", &other_sector, false, sha256(&other_sector), "sectors of 4096 bytes"),
        ("absurd table", &absurd, false, sha256(&absurd), "entries of 128 bytes"),
    ];
    for (what, bytes, cut, digest, expected) in table {
        let folder = tempfile::tempdir().unwrap();
        let disk = used_disk(folder.path());
        let error = deploy(&disk, bytes, MIB, cut, &digest).unwrap_err().to_string();
        assert!(error.contains(expected), "{what}: {error}");
        assert!(!is_bootable(&disk), "{what}");
    }
}

#[test]
fn an_image_that_leaves_no_room_for_the_seed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let image = image(100);
    let error = deploy(&disk, &image, MIB, false, &sha256(&image)).unwrap_err().to_string();
    assert!(error.contains("must have 67108864 left for the seed"), "{error}");
    assert!(!is_bootable(&disk));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// However the bytes arrive and wherever one of them is wrong.
    #[test]
    fn success_means_the_wanted_bytes(piece in 1usize..3_000_000, wrong in proptest::option::of(0usize..12 * MIB), zstd: bool) {
        let folder = tempfile::tempdir().unwrap();
        let disk = used_disk(folder.path());
        let image = image(12);
        let mut bytes = if zstd { zstd::bulk::compress(&image, 1).unwrap() } else { image.clone() };
        let wanted = sha256(&bytes);
        if let Some(at) = wrong {
            let at = at % bytes.len();
            bytes[at] ^= 1;
        }
        let result = deploy(&disk, &bytes, piece.max(bytes.len() / 5000 + 1), false, &wanted);
        prop_assert_eq!(result.is_ok(), wrong.is_none(), "{:?}", result);
        if wrong.is_none() {
            assert_written(&disk, &image);
        } else {
            prop_assert!(!is_bootable(&disk));
        }
    }
}

#[test]
fn a_disk_in_tables_only_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny");
    fs::write(&path, [0; 512]).unwrap();
    assert!(Target::open(path.to_str().unwrap()).is_err());
    OpenOptions::new().write(true).open(&path).unwrap().set_len(DISK).unwrap();
    assert_eq!(Target::open(path.to_str().unwrap()).unwrap().size(), DISK);
}

#[test]
fn a_failure_says_what_became_of_the_disk() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = used_disk(folder.path());
    let target = Arc::new(Target::open(path.to_str().unwrap()).unwrap());
    let error = runtime.block_on(super::scrubbed(target, DeployError::Late("writing the image")));
    assert_eq!(error.to_string(), "deadline passed while writing the image; the disk was not made bootable");
    assert!(fs::read(&path).unwrap()[..MIB].iter().all(|byte| *byte == 0));
}
