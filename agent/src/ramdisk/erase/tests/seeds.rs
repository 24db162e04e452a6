//! The seed goes wholly, and nothing else of the disk.

use std::fs;

use super::super::seeds;
use super::metadata::{Image, missing, must};

const MIB: usize = 1 << 20;

#[test]
fn a_seed_is_erased_wholly_and_all_else_stays() {
    if missing(&["sgdisk", "mkfs.vfat", "mkfs.ext4"]) {
        return;
    }
    let image = Image::new(96);
    must("sgdisk -n 1:2048:+64M -n 2:0:+16M -n 3:0:+8M @", &image.path());
    must("mkfs.ext4 -q -F -E offset=1048576 -L config-of-mine @ 64M", &image.path());
    must("mkfs.vfat --offset=133120 -F 16 -n CONFIG-2 @ 16384", &image.path());
    must("mkfs.vfat --offset=165888 -F 12 -n EFI @ 8192", &image.path());
    let (start, end) = (65 * MIB, 81 * MIB);
    // Of a file that was deleted before: nothing counts its blocks any more.
    image.write((start + 9 * MIB) as u64, b"-----BEGIN RSA PRIVATE KEY-----");
    let before = fs::read(image.path()).unwrap();
    let wiped = seeds::wipe(&image.open()).unwrap();
    assert_eq!(wiped.found, [format!("the seed \"CONFIG-2\" in the partition at {start}")]);
    assert_eq!(wiped.bytes, 16 << 20);
    let after = fs::read(image.path()).unwrap();
    assert!(after[start..end].iter().all(|byte| *byte == 0));
    assert!(after[..start] == before[..start] && after[end..] == before[end..], "something else was touched");
    assert_eq!(seeds::wipe(&image.open()).unwrap().found, Vec::<String>::new(), "doing it again is safe");
}
