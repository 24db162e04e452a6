//! What servers and images do wrong, and what is said of it.

use super::*;

/// A kind of fault: what is served, what was wanted, the reason, a part of the words, whether the old system is still there.
type Fault = (&'static str, Served, Digest, FailureCode, &'static str, bool);

#[test]
fn what_is_wrong_is_said_and_nothing_half_written_boots() {
    let image = image(24);
    let compressed = zstd(&image);
    let half = compressed.len() / 2;
    let changed = |at: usize, bytes: &[u8]| {
        let mut changed = bytes.to_vec();
        changed[at] ^= 0x10;
        changed
    };
    let page = b"<html>404</html>".repeat(100);
    let long = vec![1; DISK as usize + MIB];
    let mut no_table = image.clone();
    no_table[512..1024].fill(0);
    let mut other_sector = image.clone();
    other_sector.copy_within(512..1024, 4096);
    other_sector[512..1024].fill(0);
    let mut absurd = image.clone();
    absurd[512 + 80..512 + 84].fill(0xff);
    let mut bomb = zstd(&image);
    for _ in 0..6 {
        bomb.extend(zstd(&vec![0; 32 * MIB]));
    }
    let mut iso = vec![0; 8 * MIB];
    iso[32769..32774].copy_from_slice(b"CD001");
    let nested = zstd(b"QFI\xfb\0\0\0\x03 and so on");
    let serve = |bytes: &[u8]| Served::new(bytes);
    let is = |bytes: &[u8]| sha256(bytes);
    let table: Vec<Fault> = vec![
        (
            "a corrupt byte",
            serve(&changed(9 * MIB + 5, &image)),
            is(&image),
            FailureCode::DigestMismatch,
            "image digest is sha256:",
            false,
        ),
        (
            "a corrupt byte in the table",
            serve(&changed(600, &image)),
            is(&image),
            FailureCode::DigestMismatch,
            "image digest is",
            true,
        ),
        (
            "a corrupt compressed byte",
            serve(&changed(half, &compressed)),
            is(&compressed),
            FailureCode::DigestMismatch,
            "image digest is",
            false,
        ),
        ("the wrong digest", serve(&image), is(b"x"), FailureCode::DigestMismatch, "image digest is sha256:", false),
        (
            "a truncated file",
            serve(&image[..9 * MIB]),
            is(&image),
            FailureCode::DigestMismatch,
            "image digest is",
            false,
        ),
        (
            "a body shorter than announced",
            serve(&image[..9 * MIB]).with(|file| {
                file.announce = Some(24 * MIB);
                file.ranges = false;
            }),
            is(&image),
            FailureCode::FetchFailed,
            "changed",
            false,
        ),
        (
            "resets without end",
            serve(&image).with(|file| file.cuts = [3 * MIB].into_iter().chain([0; 40]).collect()),
            is(&image),
            FailureCode::FetchFailed,
            "bytes came",
            false,
        ),
        (
            "truncated zstd whose digest is right",
            serve(&compressed[..half]),
            is(&compressed[..half]),
            FailureCode::BadImage,
            "ends in the middle",
            false,
        ),
        ("a web page", serve(&page), is(&page), FailureCode::FetchFailed, "a web page in place of an image", true),
        (
            "a web page by its type",
            serve(&image).with(|file| file.headers.push(("content-type", "text/html; charset=utf-8".into()))),
            is(&image),
            FailureCode::FetchFailed,
            "a web page",
            true,
        ),
        (
            "an error in JSON",
            serve(br#"{"error":"denied"}"#),
            is(b"x"),
            FailureCode::FetchFailed,
            "text in place of an image",
            true,
        ),
        (
            "an error status",
            serve(&image).with(|file| file.status = "503 Busy"),
            is(&image),
            FailureCode::FetchFailed,
            "status 503",
            true,
        ),
        ("an empty file", serve(b""), is(b""), FailureCode::BadImage, "no partition table", true),
        ("c176 longer than the disk", serve(&long), is(&long), FailureCode::BadImage, "longer than", true),
        ("a bomb", serve(&bomb), is(&bomb), FailureCode::BadImage, "longer than", false),
        ("no table", serve(&no_table), is(&no_table), FailureCode::BadImage, "no partition table", true),
        (
            "for other disks",
            serve(&other_sector),
            is(&other_sector),
            FailureCode::BadImage,
            "sectors of 4096 bytes, this disk has 512",
            true,
        ),
        ("an absurd table", serve(&absurd), is(&absurd), FailureCode::BadImage, "partition table is broken", true),
        ("c191 a CD", serve(&iso), is(&iso), FailureCode::BadImage, "ISO 9660", true),
        (
            "another disk format",
            serve(b"KDMV\x01\0\0\0 and so on"),
            is(b"x"),
            FailureCode::BadImage,
            "vmdk, which is not supported",
            true,
        ),
        ("qcow2 in zstd", serve(&nested), is(&nested), FailureCode::BadImage, "cannot be streamed", true),
    ];
    for (what, served, digest, code, words, untouched) in table {
        let folder = tempfile::tempdir().unwrap();
        let disk = used_disk(folder.path());
        let error = deploy_served(&disk, served, &digest).err().unwrap_or_else(|| panic!("{what}"));
        assert_eq!(error.code(), code, "{what}: {error}");
        assert!(error.to_string().contains(words), "{what}: {error}");
        let state = if untouched { "the disk is as it was" } else { "the disk was not made bootable" };
        assert!(error.to_string().ends_with(state), "{what}: {error}");
        let as_before = read(&disk, 0, MIB).iter().all(|byte| *byte == 0xaa);
        assert_eq!(as_before, untouched, "{what}");
        assert!(untouched || !is_bootable(&disk), "{what}");
    }
}

#[test]
fn c191_a_hybrid_cd_is_written_when_it_is_declared_raw() {
    let mut image = image(24);
    image[32769..32774].copy_from_slice(b"CD001");
    let digest = sha256(&image);
    for (format, accepted) in [(ImageFormat::Raw, true), (ImageFormat::Auto, false)] {
        let folder = tempfile::tempdir().unwrap();
        let disk = used_disk(folder.path());
        let server = Server::start([("/image", Served::new(&image))]);
        let result = deploy_from(&disk, &server.url("/image"), format, digest.clone().into());
        assert_eq!(result.is_ok(), accepted, "{format:?}: {:?}", result.err());
    }
}

#[test]
fn a_declared_format_must_be_the_true_one() {
    let image = image(24);
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let server = Server::start([("/image", Served::new(&image))]);
    let error = deploy_from(&disk, &server.url("/image"), ImageFormat::Qcow2, sha256(&image).into()).err().unwrap();
    assert_eq!(error.to_string(), "image: it is raw, although it is declared as qcow2; the disk is as it was");
}

#[test]
fn c176_a_disk_that_is_full_fails_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let long = vec![1; DISK as usize + MIB];
    let server = Server::start([("/image", Served::new(&long))]);
    let error = deploy_from(&disk, &server.url("/image"), ImageFormat::Auto, sha256(&long).into()).err().unwrap();
    assert!(error.to_string().contains("longer than"), "{error}");
    assert_eq!(server.asked.lock().unwrap().len(), 1, "exactly one attempt");
}

#[test]
fn a_cut_connection_goes_on_where_it_was() {
    let image = image(24);
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let server =
        Server::start([("/image", Served::new(&image).with(|file| file.cuts = vec![5 * MIB + 3, 1, 7 * MIB]))]);
    let done = deploy_from(&disk, &server.url("/image"), ImageFormat::Auto, sha256(&image).into()).unwrap();
    assert_written(&disk, &image);
    assert_eq!((done.resumed, done.fetched), (3, image.len() as u64));
    let asked = server.asked.lock().unwrap().clone();
    assert_eq!(asked, ["/image ", "/image bytes=5242883-", "/image bytes=5242884-", "/image bytes=12582916-"]);
}

#[test]
fn a_source_that_changed_is_read_from_its_start() {
    let (old, new) = (image(24), image(32));
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let later = Served::new(&new).with(|file| file.headers = vec![("etag", "\"2\"".into())]);
    let served = Served::new(&old).with(|file| {
        file.cuts = vec![11 * MIB];
        file.then = Some(Box::new(later));
    });
    let server = Server::start([("/image", served)]);
    let done = deploy_from(&disk, &server.url("/image"), ImageFormat::Auto, sha256(&new).into()).unwrap();
    assert_eq!(done.image_bytes, new.len() as u64);
    assert_written(&disk, &new);
}

#[test]
fn c177_a_checksum_file_that_is_not_there_or_never_comes_is_an_error_in_time() {
    let image = image(12);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let never = format!("http://{}/sums", silent.local_addr().unwrap());
    let server = Server::start([("/image", Served::new(&image)), ("/page", Served::new(b"<html>\nnot found</html>"))]);
    for (url, code, words) in [
        (server.url("/missing"), FailureCode::FetchFailed, "status 404"),
        (server.url("/page"), FailureCode::FetchFailed, "none of its 2 lines"),
        (never, FailureCode::Late, "deadline passed"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let disk = used_disk(folder.path());
        let image = Image { format: ImageFormat::Auto, checksum: Checksum::File { url, algorithm: None } };
        let target = Arc::new(Target::open(disk.to_str().unwrap()).unwrap());
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let error = runtime.block_on(async {
            let http = Http::new("", tokio::time::Instant::now() + Duration::from_secs(1)).unwrap();
            let wanted = Wanted { image: &image, seed_label: "config-2", is_system: true };
            Box::pin(from_source(&http, &server.url("/image"), &wanted, &target, |_, _| ())).await.err().unwrap()
        });
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(is_bootable(&disk) && !target.is_touched());
    }
}

/// What another tenant has on another disk is lost only for a system that is about to boot beside it, and never in silence.
#[test]
fn seeds_of_other_disks_are_removed_for_a_good_image_only() {
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    fs::create_dir_all(folder.path().join("sys/class/block/sdb1")).unwrap();
    fs::create_dir(folder.path().join("dev")).unwrap();
    let other = folder.path().join("dev/sdb1");
    let file = File::options().read(true).write(true).create_new(true).open(&other).unwrap();
    file.set_len(4 << 20).unwrap();
    fatfs::format_volume(&file, fatfs::FormatVolumeOptions::new().volume_label(*b"config-2   ")).unwrap();
    let volume = fatfs::FileSystem::new(&file, fatfs::FsOptions::new()).unwrap();
    volume.root_dir().create_dir("openstack").unwrap();
    volume.unmount().unwrap();
    let (image, before) = (image(24), fs::read(&other).unwrap());

    let server = Server::start([("/image", Served::new(&image)), ("/page", Served::new(b"<html>no image</html>"))]);
    for (path, digest) in [("/none", sha256(&image)), ("/page", sha256(&image)), ("/image", sha256(b"another"))] {
        let error = deploy_from(&disk, &server.url(path), ImageFormat::Auto, digest.into()).err().unwrap();
        assert!(fs::read(&other).unwrap() == before, "{path}: {error}");
        assert!(!error.to_string().contains("removed"), "{path}: {error}");
    }
    let done = deploy(&disk, &image, &sha256(&image)).unwrap();
    assert_eq!(done.removed, [format!("a seed named \"config-2\" was removed from {}", other.display())]);
    assert!(fs::read(&other).unwrap()[..64 << 10].iter().all(|byte| *byte == 0));
}

#[test]
fn an_error_says_what_was_done_to_other_disks() {
    let cause = || DeployError::BadSeed("no".into());
    assert_eq!(DeployError::after(vec![], cause()).to_string(), "seed: no");
    let error = DeployError::after(vec!["a seed was removed from /dev/sdb".into()], cause());
    assert_eq!(error.to_string(), "seed: no; a seed was removed from /dev/sdb");
    assert_eq!(error.code(), FailureCode::Refused);
}
