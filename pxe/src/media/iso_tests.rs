use proptest::prelude::*;

use super::*;

const SLOT: u64 = 4096;

/// An image with a volume descriptor, a slot at each of `slots` (sector, length) and its sector numbers elsewhere.
fn image(sectors: u64, slots: &[(u64, u64)]) -> (tempfile::NamedTempFile, Vec<u8>) {
    let mut octets: Vec<u8> = (0..sectors * 256).flat_map(u64::to_le_bytes).collect();
    octets[16 * SECTOR + 1..16 * SECTOR + 6].copy_from_slice(b"CD001");
    for (sector, length) in slots {
        let at = usize::try_from(*sector).unwrap() * SECTOR;
        octets[at..at + 32].copy_from_slice(&SLOT_MAGIC);
        octets[at + 32..at + 40].copy_from_slice(&length.to_le_bytes());
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &octets).unwrap();
    (file, octets)
}

fn served(iso: &Iso, overlay: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    for part in iso.with_overlay(Bytes::copy_from_slice(overlay)).unwrap() {
        match part {
            Part::Made(octets) => all.extend(octets),
            Part::Stored(range) => {
                let mut octets = vec![0; usize::try_from(range.end - range.start).unwrap()];
                iso.file().read_exact_at(&mut octets, range.start).unwrap();
                all.extend(octets);
            }
        }
    }
    all
}

#[test]
fn only_the_slot_is_another() {
    // In the second chunk read.
    let (file, before) = image(600, &[(520, SLOT)]);
    let iso = Iso::open(file.path()).unwrap();
    let after = served(&iso, b"070701");
    let (start, end) = (520 * SECTOR, 520 * SECTOR + 4096);
    assert_eq!(after.len(), before.len());
    assert!(after[..start] == before[..start] && after[end..] == before[end..]);
    assert_eq!(&after[start..start + 6], b"070701");
    assert!(after[start + 6..end].iter().all(|octet| *octet == 0));
}

#[test]
fn what_is_no_iso_of_ours_is_refused() {
    for (slots, expected) in [
        (&[][..], "has no overlay slot (file BESSEMER.OVL): build it with `cargo xtask image iso`"),
        (&[(20, SLOT), (30, SLOT)], "has more than one overlay slot"),
        (&[(39, SLOT)], "the overlay slot says that it is 4096 bytes long, which does not fit the image"),
        (&[(20, 40)], "the overlay slot says that it is 40 bytes long, which does not fit the image"),
        (&[(20, u64::MAX)], "bytes long, which does not fit the image"),
    ] {
        let (file, _) = image(40, slots);
        let said = Iso::open(file.path()).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
    let short = tempfile::NamedTempFile::new().unwrap();
    assert!(matches!(Iso::open(short.path()), Err(IsoError::NotIso(_))));
    assert!(matches!(Iso::open(std::path::Path::new("/no/such.iso")), Err(IsoError::Read { .. })));
}

#[test]
fn an_overlay_fills_the_slot_and_no_more() {
    let (file, _) = image(40, &[(20, SLOT)]);
    let iso = Iso::open(file.path()).unwrap();
    assert_eq!(served(&iso, &[9; 4096])[20 * SECTOR..20 * SECTOR + 4096], [9; 4096]);
    let error = iso.with_overlay(vec![9; 4097].into()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the overlay has 4097 bytes and the ISO's slot 4096: build the ISO with a larger slot"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_overlay_keeps_the_length(overlay in prop::collection::vec(any::<u8>(), 0..4096)) {
        let (file, before) = image(24, &[(20, SLOT)]);
        let after = served(&Iso::open(file.path()).unwrap(), &overlay);
        prop_assert_eq!(after.len(), before.len());
        prop_assert_eq!(&after[20 * SECTOR..20 * SECTOR + overlay.len()], &overlay[..]);
    }
}
