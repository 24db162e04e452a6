use std::process::Command;

use proptest::prelude::*;

use super::*;
use crate::pe::tests::image;
use crate::pe::{MACHINE_ARM64, u32_at};

fn uki(initrd: &[u8]) -> Vec<u8> {
    image(MACHINE_X64, EFI_APPLICATION, &[(".cmdline", b"quiet"), (".linux", &[7; 5000]), (".initrd", initrd)])
}

fn spliced(image: Vec<u8>, overlay: &[u8]) -> Vec<u8> {
    Uki::parse(image.into()).unwrap().with_overlay(Bytes::copy_from_slice(overlay)).unwrap().concat()
}

/// The content of a section as systemd's stub finds it: at its place, as long as it says.
fn section(image: &[u8], name: &str) -> Vec<u8> {
    let pe = Pe::parse(image).unwrap();
    let found = pe.sections.iter().find(|section| section.name == name).unwrap();
    let start = found.raw_offset as usize;
    image[start..start + found.virtual_size as usize].to_vec()
}

#[test]
fn the_overlay_follows_the_initrd_at_a_multiple_of_four() {
    for (initrd, expected) in
        [(&b"ramdisk"[..], &b"ramdisk\0cpio!"[..]), (b"ramdisk!", b"ramdisk!cpio!"), (b"r", b"r\0\0\0cpio!")]
    {
        let before = uki(initrd);
        let after = spliced(before.clone(), b"cpio!");
        assert_eq!(section(&after, ".initrd"), expected);
        for untouched in [".cmdline", ".linux"] {
            assert_eq!(section(&after, untouched), section(&before, untouched));
        }
    }
}

#[test]
fn the_headers_say_what_is_there() {
    let after = spliced(uki(&[1; 700]), &[2; 9000]);
    let pe = Pe::parse(&after).unwrap();
    let initrd = pe.sections.last().unwrap();
    assert_eq!((initrd.virtual_size, initrd.raw_size), (9700, 9728));
    assert_eq!(initrd.raw_offset + initrd.raw_size, u32::try_from(after.len()).unwrap());
    // The next multiple of 4096 after the initrd's end in memory.
    let size = u32_at(&after, pe.optional_header + field::SIZE_OF_IMAGE).unwrap();
    assert_eq!(size, (initrd.address + 9700).next_multiple_of(4096));
}

#[test]
fn what_cannot_be_spliced_is_refused() {
    let two = |sections: &[(&str, &[u8])]| image(MACHINE_X64, EFI_APPLICATION, sections);
    let mut after_the_end = uki(b"x");
    after_the_end.push(0);
    let mut only_in_memory = uki(b"x");
    let header = Pe::parse(&only_in_memory).unwrap().sections.last().unwrap().header;
    only_in_memory[header + 8..header + 12].copy_from_slice(&5000_u32.to_le_bytes());
    for (image, expected) in [
        (two(&[(".linux", b"k")]), UkiError::NoInitrd),
        (two(&[(".initrd", b"i")]), UkiError::NoKernel),
        (two(&[(".initrd", b"i"), (".linux", b"k")]), UkiError::InitrdNotLast(".linux".into())),
        (after_the_end, UkiError::InitrdNotLast("data outside all sections".into())),
        (only_in_memory, UkiError::InitrdCutOff),
        (image(MACHINE_ARM64, EFI_APPLICATION, &[(".linux", b"k")]), UkiError::Machine(MACHINE_ARM64)),
        (image(MACHINE_X64, 11, &[(".linux", b"k")]), UkiError::Subsystem(11)),
        (b"<html>".to_vec(), UkiError::Pe(PeError::WebPage("<html>".into()))),
    ] {
        assert_eq!(Uki::parse(image.into()).map(drop), Err(expected));
    }
}

#[test]
fn a_signed_image_is_served_unchanged() {
    let mut image = uki(b"ramdisk");
    let pe = Pe::parse(&image).unwrap();
    let directory = pe.optional_header + field::CERTIFICATES;
    let end = u32::try_from(image.len()).unwrap();
    image[directory..directory + 4].copy_from_slice(&end.to_le_bytes());
    image[directory + 4..directory + 8].copy_from_slice(&8_u32.to_le_bytes());
    image.extend([8, 0, 0, 0, 0, 2, 2, 0]);
    let uki = Uki::parse(image.clone().into()).unwrap();
    assert!(uki.is_signed());
    assert_eq!(uki.with_overlay("cpio".into()).unwrap().concat(), image);
}

/// A real stub, with sections added by binutils as the systemd manual says, read back by binutils.
#[test]
fn binutils_reads_the_spliced_image() {
    const STUB: &str = "/usr/lib/systemd/boot/efi/linuxx64.efi.stub";
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, content) in [("linux", &[7; 5000][..]), ("cmdline", b"quiet"), ("initrd", b"a ramdisk")] {
        std::fs::write(path(name), content).unwrap();
    }
    let mut objcopy = Command::new("objcopy");
    for (name, address) in [("cmdline", "0x30000"), ("linux", "0x2000000"), ("initrd", "0x3000000")] {
        objcopy.arg("--add-section").arg(format!(".{name}={}", path(name)));
        objcopy.arg("--change-section-vma").arg(format!(".{name}={address}"));
    }
    if !std::path::Path::new(STUB).exists() || !objcopy.arg(STUB).arg(path("uki")).status().is_ok_and(|s| s.success()) {
        println!("SKIP binutils or {STUB} is not installed");
        return;
    }
    let overlay = [5; 4097];
    std::fs::write(path("spliced"), spliced(std::fs::read(path("uki")).unwrap(), &overlay)).unwrap();
    let dump = |section: &str| {
        let mut objcopy = Command::new("objcopy");
        objcopy.args(["-O", "binary", "--only-section", section]).arg(path("spliced")).arg(path("dump"));
        assert!(objcopy.status().unwrap().success());
        std::fs::read(path("dump")).unwrap()
    };
    assert_eq!(dump(".initrd")[..12 + 4097], [&b"a ramdisk\0\0\0"[..], &overlay].concat());
    assert_eq!(dump(".linux")[..5000], [7; 5000]);
}

proptest! {
    #[test]
    fn any_initrd_and_overlay_come_out_one_after_another(
        initrd in prop::collection::vec(any::<u8>(), 1..2000), overlay in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let after = spliced(uki(&initrd), &overlay);
        let mut expected = initrd.clone();
        expected.resize(initrd.len().next_multiple_of(4), 0);
        expected.extend(&overlay);
        prop_assert_eq!(section(&after, ".initrd"), expected);
    }

    #[test]
    fn damaged_images_are_refused_or_spliced(at in 0usize..1200, value in any::<u8>()) {
        let mut image = uki(&[1; 100]);
        image[at] = value;
        if let Ok(uki) = Uki::parse(image.into()) {
            let _ = uki.with_overlay("cpio".into());
        }
    }
}
