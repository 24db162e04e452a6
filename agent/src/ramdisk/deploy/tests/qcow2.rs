//! qcow2 images as QEMU makes them, through a server, onto a disk.

use super::*;

/// The image as qcow2; none without QEMU's tool.
fn qcow2(raw: &[u8], options: &[&str]) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("raw"), folder.path().join("qcow2"));
    fs::write(&from, raw).unwrap();
    let Ok(output) = Command::new("qemu-img")
        .args(["convert", "-f", "raw", "-O", "qcow2"])
        .args(options)
        .args([&from, &to])
        .output()
    else {
        println!("SKIP no qemu-img");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    Some(fs::read(to).unwrap())
}

#[test]
fn qcow2_images_of_every_kind_give_the_same_disk() {
    let image = image(24);
    let kinds: [&[&str]; 6] = [
        &[],
        &["-o", "compat=0.10"],
        &["-c"],
        &["-c", "-o", "compression_type=zstd"],
        &["-o", "cluster_size=512"],
        &["-c", "-o", "cluster_size=2M"],
    ];
    for options in kinds {
        let Some(file) = qcow2(&image, options) else { return };
        let folder = tempfile::tempdir().unwrap();
        let disk = used_disk(folder.path());
        let served = Served::new(&file).with(|served| served.cuts = vec![file.len() / 3]);
        let done = deploy_served(&disk, served, &sha256(&file)).unwrap_or_else(|error| panic!("{options:?}: {error}"));
        assert_written(&disk, &image);
        assert_eq!((done.format, done.image_bytes, done.fetched), ("qcow2", image.len() as u64, file.len() as u64));
        assert_eq!(done.partitions.len(), 3);
    }
}

#[test]
fn qcow2_faults_are_named() {
    let image = image(24);
    let Some(file) = qcow2(&image, &[]) else { return };
    let mut big = file.clone();
    big[24..32].copy_from_slice(&(DISK + 512).to_be_bytes());
    let mut backed = file.clone();
    backed[8..16].copy_from_slice(&500u64.to_be_bytes());
    let mut corrupt = file.clone();
    let last = corrupt.len() - 70_000;
    corrupt[last] ^= 1;
    let cut = &file[..file.len() - 200_000];
    let serve = |bytes: &[u8]| Served::new(bytes);
    let table: Vec<(&str, Served, Digest, FailureCode, &str, bool)> = vec![
        (
            "no ranges",
            serve(&file).with(|file| file.ranges = false),
            sha256(&file),
            FailureCode::FetchFailed,
            "range requests",
            true,
        ),
        ("larger than the disk", serve(&big), sha256(&big), FailureCode::BadImage, "longer than this one", true),
        ("a backing file", serve(&backed), sha256(&backed), FailureCode::BadImage, "backing file", true),
        ("a corrupt byte", serve(&corrupt), sha256(&file), FailureCode::DigestMismatch, "image digest is", false),
        ("a truncated file", serve(cut), sha256(&file), FailureCode::BadImage, "beyond its end", true),
    ];
    for (what, served, digest, code, words, untouched) in table {
        let folder = tempfile::tempdir().unwrap();
        let disk = used_disk(folder.path());
        let error = deploy_served(&disk, served, &digest).err().unwrap_or_else(|| panic!("{what}"));
        assert_eq!(error.code(), code, "{what}: {error}");
        assert!(error.to_string().contains(words), "{what}: {error}");
        assert_eq!(read(&disk, 0, MIB).iter().all(|byte| *byte == 0xaa), untouched, "{what}");
        assert!(untouched || !is_bootable(&disk), "{what}");
    }
}

/// The tables that were read by parts decide where everything goes, so that they must be the ones that the digest covers.
#[test]
fn other_tables_in_the_stream_than_in_the_parts_are_found() {
    let image = image(24);
    let Some(file) = qcow2(&image, &[]) else { return };
    let l1 = u64::from_be_bytes(file[40..48].try_into().unwrap()) as usize;
    let l2 = (u64::from_be_bytes(file[l1..l1 + 8].try_into().unwrap()) & 0x00ff_ffff_ffff_fe00) as usize;
    // The parts come from a file of which two clusters are exchanged; the whole file is the right one.
    let mut lying = file.clone();
    let used: Vec<usize> = (0..384).map(|n| l2 + n * 8).filter(|at| file[*at..at + 8] != [0; 8]).collect();
    let (a, b) = (used[used.len() - 1], used[used.len() - 2]);
    let entry = |at: usize| -> [u8; 8] { file[at..at + 8].try_into().unwrap() };
    lying[a..a + 8].copy_from_slice(&entry(b));
    lying[b..b + 8].copy_from_slice(&entry(a));
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let served = Served::new(&file).with(|served| served.then = Some(Box::new(Served::new(&lying))));
    let error = deploy_served(&disk, served, &sha256(&file)).err().unwrap();
    assert_eq!(error.code(), FailureCode::BadImage);
    assert!(error.to_string().contains("is not the one that was read at first"), "{error}");
    assert!(!is_bootable(&disk));
}
