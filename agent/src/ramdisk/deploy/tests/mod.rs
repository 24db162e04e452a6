//! The whole path from an image server to a finished disk, on a sparse file, judged by sfdisk and mtools where they are there.

use std::fs::{self, File, OpenOptions};
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bessemer_protocol::{
    BootstrapDelivery, Checksum, Digest, DigestAlgorithm, FailureCode, HostId, Image, ImageFormat, NodeIdentity, Seed,
};
use gptman::{GPT, GPTPartitionEntry};
use proptest::prelude::*;
use server::{Served, Server};

use super::disk::Target;
use super::pipeline::{Wanted, Written, from_source};
use super::seed::stale::Others;
use super::source::Http;
use super::{DeployError, finish, hash, scrubbed};

mod chosen;
mod cloud_init;
mod faults;
mod qcow2;
mod registry;
mod server;

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

#[test]
fn an_image_without_the_agent_is_refused_where_the_agent_has_to_bootstrap_and_boots_nothing() {
    let without = || Err("its root is Btrfs".to_owned());
    let note = super::with_agent(without(), BootstrapDelivery::CloudInit).unwrap().unwrap();
    assert!(note.contains("Btrfs") && note.contains("cloud-init has to do without"), "{note}");
    assert_eq!(super::with_agent(Ok(None), BootstrapDelivery::Agent).unwrap(), None);
    let cause = super::with_agent(without(), BootstrapDelivery::Agent).unwrap_err();
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let error = super::scrubbed_anew(disk.to_str().unwrap(), cause);
    assert_eq!(error.code(), FailureCode::BadImage);
    let words = error.to_string();
    assert!(["Btrfs", "bootstrap-delivery", "not made bootable"].iter().all(|word| words.contains(word)), "{words}");
    let bytes = fs::read(&disk).unwrap();
    assert!(bytes[..MIB].iter().chain(&bytes[bytes.len() - MIB..]).all(|byte| *byte == 0));
}

fn sha256(bytes: &[u8]) -> Digest {
    hash::of(bytes, DigestAlgorithm::Sha256)
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

/// What came of a deployment of one source. Other disks are in `sys` and `dev` beside the disk.
struct Deployed {
    removed: Vec<String>,
    partitions: Vec<String>,
    image_bytes: u64,
    fetched: u64,
    format: &'static str,
    resumed: u32,
}

async fn deployed(disk: &Path, url: &str, image: &Image) -> Result<Deployed, DeployError> {
    let target = Arc::new(Target::open(disk.to_str().unwrap()).unwrap());
    let http = Http::new("", tokio::time::Instant::now() + Duration::from_secs(50)).unwrap();
    let wanted = Wanted { image, seed_label: "config-2", is_system: true };
    let result = match Box::pin(from_source(&http, url, &wanted, &target, |_, _| ())).await {
        Ok(Written { image, fetched, format, resumed, .. }) => {
            let image_bytes = image.length;
            let folder = disk.parent().unwrap();
            let others = Others { sys: folder.join("sys"), dev: folder.join("dev"), root: vec![], kept: vec![] };
            finish::finish(&target, image, &seed(), Some(&identity()), &others).map(|(plan, removed)| Deployed {
                removed,
                partitions: plan.partitions(),
                image_bytes,
                fetched,
                format,
                resumed,
            })
        }
        Err(error) => Err(error),
    };
    match result {
        Ok(done) => Ok(done),
        Err(error) => Err(scrubbed(target, error).await),
    }
}

/// Deploys `url` to `disk`.
fn deploy_from(disk: &Path, url: &str, format: ImageFormat, checksum: Checksum) -> Result<Deployed, DeployError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(deployed(disk, url, &Image { format, checksum }))
}

/// Deploys what a good server serves.
fn deploy(disk: &Path, bytes: &[u8], wanted: &Digest) -> Result<Deployed, DeployError> {
    deploy_served(disk, Served::new(bytes), wanted)
}

fn deploy_served(disk: &Path, file: Served, wanted: &Digest) -> Result<Deployed, DeployError> {
    let server = Server::start([("/image", file)]);
    deploy_from(disk, &server.url("/image"), ImageFormat::Auto, wanted.clone().into())
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
    let done = deploy(&disk, &image, &sha256(&image)).unwrap();
    assert_written(&disk, &image);
    let seed_first = 194_560;
    assert_eq!(
        done.partitions,
        [
            "1 ESP 2048-8191".to_owned(),
            format!("2 root 8192-{}", seed_first - 1),
            format!("3 config-2 {seed_first}-{}", seed_first + 131_071),
        ]
    );
    assert_eq!((done.image_bytes, done.fetched, done.format), (image.len() as u64, image.len() as u64, "raw"));
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

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 1).unwrap()
}

#[test]
fn a_compressed_image_gives_the_same_disk() {
    let image = image(24);
    let mut two_frames = zstd(&image[..7 * MIB]);
    two_frames.extend(zstd(&image[7 * MIB..]));
    for (format, compressed) in
        [("raw in zstd", zstd(&image)), ("raw in gzip", gzip(&image)), ("raw in zstd", two_frames)]
    {
        let folder = tempfile::tempdir().unwrap();
        let disk = used_disk(folder.path());
        let done = deploy(&disk, &compressed, &sha256(&compressed)).unwrap();
        assert_written(&disk, &image);
        assert_eq!((done.format, done.image_bytes), (format, image.len() as u64));
    }
}

#[test]
fn an_xz_image_gives_the_same_disk() {
    let folder = tempfile::tempdir().unwrap();
    let image = image(24);
    fs::write(folder.path().join("image"), &image).unwrap();
    let Ok(output) = Command::new("xz").args(["-1", "-k", "-T2"]).arg(folder.path().join("image")).output() else {
        println!("SKIP no xz");
        return;
    };
    assert!(output.status.success());
    let compressed = fs::read(folder.path().join("image.xz")).unwrap();
    let disk = used_disk(folder.path());
    assert_eq!(deploy(&disk, &compressed, &sha256(&compressed)).unwrap().format, "raw in xz");
    assert_written(&disk, &image);
}

#[test]
fn every_digest_is_as_good_and_may_be_in_a_file() {
    let image = image(24);
    for algorithm in [DigestAlgorithm::Md5, DigestAlgorithm::Sha256, DigestAlgorithm::Sha512] {
        let folder = tempfile::tempdir().unwrap();
        let disk = used_disk(folder.path());
        let digest = hash::of(&image, algorithm);
        deploy(&disk, &image, &digest).unwrap();
        let sums = format!("{}  other.raw\n{}  image.raw\n", "0".repeat(digest.hex.len()), digest.hex);
        let server = Server::start([("/a/image.raw", Served::new(&image)), ("/sums", Served::new(sums.as_bytes()))]);
        let file = Checksum::File { url: server.url("/sums"), algorithm: None };
        deploy_from(&disk, &server.url("/a/image.raw"), ImageFormat::Raw, file).unwrap();
    }
}

#[test]
fn an_image_as_long_as_the_disk_leaves_no_table_when_it_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let mut image = image(DISK as usize / MIB);
    // A table that leaves room for the seed, so that only the digest is wrong.
    let mut cursor = Cursor::new(&mut image[..]);
    let mut table = GPT::read_from(&mut cursor, 512).unwrap();
    table[2].ending_lba = 100_000;
    table.write_into(&mut cursor).unwrap();
    let error = deploy(&disk, &image, &sha256(b"other")).err().unwrap();
    assert_eq!(error.code(), FailureCode::DigestMismatch, "{error}");
    assert!(error.to_string().ends_with("the disk was not made bootable"), "{error}");
    assert!(!is_bootable(&disk));
    deploy(&disk, &image, &sha256(&image)).unwrap();
    assert_eq!(read(&disk, 2 << 20, 51_200_000), image[2 << 20..(2 << 20) + 51_200_000]);
}

#[test]
fn an_image_that_leaves_no_room_for_the_seed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let image = image(100);
    let error = deploy(&disk, &image, &sha256(&image)).err().unwrap().to_string();
    assert!(error.contains("must have 67108864 left for the seed; the disk is as it was"), "{error}");
    assert!(is_bootable(&disk));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever is compressed, wherever a byte is wrong and however often the connection breaks.
    #[test]
    fn success_means_the_wanted_bytes(
        cuts in proptest::collection::vec(1usize..2_000_000, 0..4),
        wrong in proptest::option::of(0usize..12 * MIB),
        kind in 0..3,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let disk = used_disk(folder.path());
        let image = image(12);
        let mut bytes = match kind { 0 => image.clone(), 1 => zstd(&image), _ => gzip(&image) };
        let wanted = sha256(&bytes);
        if let Some(at) = wrong {
            let at = at % bytes.len();
            bytes[at] ^= 1;
        }
        let result = deploy_served(&disk, Served::new(&bytes).with(|file| file.cuts = cuts), &wanted);
        prop_assert_eq!(result.is_ok(), wrong.is_none(), "{:?}", result.err());
        if wrong.is_none() {
            assert_written(&disk, &image);
        } else {
            let untouched = read(&disk, 0, MIB).iter().all(|byte| *byte == 0xaa);
            prop_assert!(untouched || !is_bootable(&disk));
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
    let error = runtime.block_on(scrubbed(Arc::clone(&target), DeployError::Late("fetching the image")));
    assert_eq!(error.to_string(), "deadline passed while fetching the image; the disk is as it was");
    assert!(is_bootable(&path));
    target.destroy_tables().unwrap();
    let error = runtime.block_on(scrubbed(target, DeployError::Late("writing the image")));
    assert_eq!(error.to_string(), "deadline passed while writing the image; the disk was not made bootable");
    assert_eq!(error.code(), FailureCode::Late);
    assert!(fs::read(&path).unwrap()[..MIB].iter().all(|byte| *byte == 0));
}

#[test]
fn a_new_seed_keeps_the_identity_or_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let image = image(32);
    deploy(&disk, &image, &sha256(&image)).unwrap();
    let name = disk.to_str().unwrap();
    let anew = Seed { hostname: "other".into(), ..seed() };
    super::seed::rewrite(name, &anew, Some("metal/m0")).unwrap();
    let before = fs::read(&disk).unwrap();
    let has = |words: &[u8]| before.windows(words.len()).any(|part| part == words);
    assert!(has(br#""certificate":"CERT""#) && has(br#""hostname":"other""#));
    let failed = super::seed::rewrite(name, &seed(), Some("metal/m1")).unwrap_err();
    assert!(failed.to_string().contains("it is of metal/m0"), "{failed}");
    assert_eq!(failed.code(), FailureCode::Refused);
    assert!(fs::read(&disk).unwrap() == before, "a refusal writes nothing");
    super::seed::rewrite(name, &seed(), None).unwrap();
    let failed = super::seed::rewrite(name, &seed(), Some("metal/m0")).unwrap_err();
    assert!(failed.to_string().contains("there is none"), "{failed}");
}
