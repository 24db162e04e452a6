//! Against QEMU's own tool, and against files that lie.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;

use super::*;

const MIB: usize = 1 << 20;

/// Reads a whole image the way that a streaming reader does: tables first, then once through the file.
fn read(file: &[u8]) -> Result<Vec<u8>, Qcow2Error> {
    let header = Header::parse(&file[..file.len().min(MOST_HEADER_BYTES)])?;
    if header.size > 64 << 20 {
        return Err(Qcow2Error::Claim { what: "more than this test takes", value: header.size });
    }
    let (cluster, compression, size) = (header.cluster(), header.compression, header.size);
    let (l1, l1_bytes) = (header.l1_offset, header.l1_bytes());
    let mut builder = MapBuilder::new(header, file.len() as u64)?;
    let part = |offset: u64, length: u64| &file[offset as usize..(offset + length) as usize];
    for (index, offset) in builder.add_l1(part(l1, l1_bytes))? {
        builder.add_l2(index, part(offset, cluster))?;
    }
    let map = builder.finish()?;
    let mut disk = vec![0xee; size as usize];
    for (offset, length) in &map.zeroes {
        disk[*offset as usize..(offset + length) as usize].fill(0);
    }
    let mut decoder = ClusterDecoder::new(compression)?;
    let mut whole = vec![0; cluster as usize];
    let mut position = 0;
    for extent in &map.extents {
        assert!(extent.host + 511 >= position, "the file is read once, from its start to its end");
        position = extent.host + extent.length;
        let stored = part(extent.host, extent.length);
        let bytes = match extent.stored {
            Stored::Plain => stored,
            Stored::Compressed => {
                decoder.decode(stored, &mut whole)?;
                &whole
            }
        };
        let start = extent.guest as usize;
        let end = disk.len().min(start + bytes.len());
        disk[start..end].copy_from_slice(&bytes[..end - start]);
    }
    Ok(disk)
}

fn sample(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    for (at, byte) in [(0, 1), (3, 2), (4, 3), (7, 4)] {
        bytes[at * MIB + 1000..at * MIB + 300_000]
            .iter_mut()
            .zip(0u32..)
            .for_each(|(to, n)| *to = (n / 5) as u8 ^ byte);
    }
    // Incompressible, so that its clusters are stored plain even in a compressed image.
    let mut state = 1u32;
    for byte in &mut bytes[5 * MIB..5 * MIB + 200_000] {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (state >> 24) as u8;
    }
    bytes
}

fn qemu_img(arguments: &[&str], folder: &Path) -> bool {
    match Command::new("qemu-img").args(arguments).current_dir(folder).output() {
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            true
        }
        Err(_) => {
            println!("SKIP no qemu-img");
            false
        }
    }
}

/// Images as QEMU makes them.
fn images() -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let raw = sample(8 * MIB + 4096);
    fs::write(folder.path().join("raw"), &raw).unwrap();
    let mut made = Vec::new();
    for options in [
        "compat=1.1",
        "compat=0.10",
        "compat=1.1,cluster_size=512",
        "compat=1.1,cluster_size=2M",
        "compat=1.1,lazy_refcounts=on",
    ] {
        for compressed in [false, true] {
            let mut arguments = vec!["convert", "-q", "-f", "raw", "-O", "qcow2", "-o", options, "raw", "image"];
            if compressed {
                arguments.insert(1, "-c");
            }
            if !qemu_img(&arguments, folder.path()) {
                return made;
            }
            made.push((format!("{options} {compressed}"), fs::read(folder.path().join("image")).unwrap(), raw.clone()));
        }
    }
    let zstd = ["convert", "-q", "-c", "-O", "qcow2", "-o", "compat=1.1,compression_type=zstd", "raw", "image"];
    if qemu_img(&zstd, folder.path()) {
        made.push(("zstd".to_owned(), fs::read(folder.path().join("image")).unwrap(), raw));
    }
    made
}

#[test]
fn images_that_qemu_made_are_read_byte_by_byte() {
    for (what, file, raw) in images() {
        let disk = read(&file).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(disk == raw, "{what}");
    }
}

#[test]
fn zero_clusters_and_snapshots_hide_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let script = "write -P 0xaa 0 3M";
    if !qemu_img(&["create", "-q", "-f", "qcow2", "image", "8M"], folder.path()) {
        return;
    }
    for commands in [&[script][..], &["write -z 64k 1M", "discard 2M 64k", "write -P 0xbb 5M 100k"]] {
        let mut io = Command::new("qemu-io");
        for command in commands {
            io.arg("-c").arg(command);
        }
        if io.arg("image").current_dir(folder.path()).output().is_err() {
            println!("SKIP no qemu-io");
            return;
        }
        if commands.len() == 1 {
            qemu_img(&["snapshot", "-c", "before", "image"], folder.path());
        }
    }
    qemu_img(&["convert", "-O", "raw", "image", "raw"], folder.path());
    let disk = read(&fs::read(folder.path().join("image")).unwrap()).unwrap();
    assert!(disk == fs::read(folder.path().join("raw")).unwrap());
    assert_eq!((disk[0], disk[70_000], disk[3 << 20], disk[5 << 20]), (0xaa, 0, 0, 0xbb));
}

#[test]
fn what_is_not_whole_in_itself_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let make = |arguments: &[&str]| {
        let known = qemu_img(arguments, folder.path());
        known.then(|| fs::read(folder.path().join("image")).unwrap())
    };
    if !qemu_img(&["create", "-q", "-f", "raw", "base", "4M"], folder.path()) {
        return;
    }
    let backed = make(&["create", "-q", "-f", "qcow2", "-b", "base", "-F", "raw", "image"]).unwrap();
    assert_eq!(read(&backed), Err(Qcow2Error::BackingFile));
    let external = make(&["create", "-q", "-f", "qcow2", "-o", "data_file=other,data_file_raw=on", "image", "4M"]);
    assert_eq!(read(&external.unwrap()), Err(Qcow2Error::ExternalData));
    let extended = make(&["create", "-q", "-f", "qcow2", "-o", "extended_l2=on", "image", "4M"]);
    assert_eq!(read(&extended.unwrap()), Err(Qcow2Error::Feature("subclusters")));
    let locked = [
        "create",
        "-q",
        "--object",
        "secret,id=s,data=x",
        "-f",
        "qcow2",
        "-o",
        // Not luks: to count its iterations qemu-img measures its own processor time, which now and then it cannot.
        "encrypt.format=aes,encrypt.key-secret=s",
        "image",
        "4M",
    ];
    assert_eq!(read(&make(&locked).unwrap()), Err(Qcow2Error::Encrypted));
}

/// A small image made by hand: header, first level, second level, one cluster of data; clusters of 64 KiB.
fn by_hand(change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut file = vec![0; 4 << 16];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"QFI\xfb\0\0\0\x03");
    put(20, &16u32.to_be_bytes());
    put(24, &(4u64 << 20).to_be_bytes());
    put(36, &1u32.to_be_bytes());
    put(40, &(1u64 << 16).to_be_bytes());
    put(96, &4u32.to_be_bytes());
    put(100, &104u32.to_be_bytes());
    put(1 << 16, &(COPIED | 2 << 16).to_be_bytes());
    put(2 << 16, &(COPIED | 3 << 16).to_be_bytes());
    file[3 << 16..].fill(7);
    change(&mut file);
    file
}

const COPIED: u64 = 1 << 63;

#[test]
fn lies_are_found_before_anything_is_read() {
    let long = |at: usize, value: u64| move |file: &mut [u8]| file[at..at + 8].copy_from_slice(&value.to_be_bytes());
    let word = |at: usize, value: u32| move |file: &mut [u8]| file[at..at + 4].copy_from_slice(&value.to_be_bytes());
    assert_eq!(read(&by_hand(|_| {})).unwrap()[..65536], [7; 65536]);
    let table: [(&str, Vec<u8>, &str); 16] = [
        ("magic", by_hand(word(0, 1)), "no qcow2"),
        ("version", by_hand(word(4, 1)), "version 1"),
        ("small clusters", by_hand(word(20, 8)), "power of 8"),
        ("giant clusters", by_hand(word(20, 63)), "power of 63"),
        ("no disk", by_hand(long(24, 0)), "a disk of bytes: 0"),
        ("giant disk", by_hand(long(24, u64::MAX)), "a disk of bytes"),
        ("short first level", by_hand(long(24, 1 << 40)), "too few entries"),
        ("giant first level", by_hand(word(36, u32::MAX)), "too many entries"),
        ("first level outside", by_hand(long(40, 1 << 40)), "beyond its end"),
        ("first level nowhere", by_hand(long(40, 0)), "first level at byte 0"),
        ("second level outside", by_hand(long(1 << 16, 1 << 40)), "beyond its end"),
        ("second level is the header's", by_hand(long(1 << 16, 1)), "second level at byte"),
        ("cluster outside", by_hand(long(2 << 16, 1 << 40)), "beyond its end"),
        ("cluster is a table", by_hand(long(2 << 16, 2 << 16)), "overlap"),
        ("one cluster twice", by_hand(long((2 << 16) + 8, 3 << 16)), "overlap"),
        ("header length", by_hand(word(100, u32::MAX)), "a header of bytes"),
    ];
    for (what, file, expected) in table {
        let error = read(&file).expect_err(what).to_string();
        assert!(error.contains(expected), "{what}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever is wrong with it, reading ends with a disk or a reason, and reads nothing outside the file.
    #[test]
    fn damage_is_an_error_or_other_bytes(at in prop_oneof![0usize..512, 65536usize..65600, 131_072usize..131_200], byte: u8) {
        let file = by_hand(|file| file[at] = byte);
        let _ = read(&file);
    }
}

#[test]
fn a_file_in_a_hole_is_read_as_zeroes() {
    let folder = tempfile::tempdir().unwrap();
    if !qemu_img(&["create", "-q", "-f", "qcow2", "image", "10M"], folder.path()) {
        return;
    }
    let file = fs::File::open(folder.path().join("image")).unwrap();
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    assert!(read(&bytes).unwrap().iter().all(|byte| *byte == 0));
}
