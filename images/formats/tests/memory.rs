//! What a lying qcow2 image can make its reader keep, counted by the allocator. A process of its own, with one test, as what is counted is all of it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    unsafe_code,
    reason = "a test, and an allocator that counts"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use bessemer_image_formats::qcow2::{Header, MapBuilder, Qcow2Error};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn took(bytes: usize) {
    MOST.fetch_max(HELD.fetch_add(bytes, Ordering::Relaxed) + bytes, Ordering::Relaxed);
}

// SAFETY: all is passed on to the system's allocator as it comes.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // As where large blocks are moved without a copy.
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        took(size);
        // SAFETY: the caller's promises are the same.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most that was held at once while `work` ran.
fn most_during<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let result = work();
    (result, MOST.load(Ordering::Relaxed) - before)
}

fn header(cluster_bits: u32, size: u64) -> Header {
    let mut head = vec![0; 4096];
    let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
    let entries = size.div_ceil(1 << (2 * cluster_bits - 3));
    put(0, b"QFI\xfb\0\0\0\x03");
    put(20, &cluster_bits.to_be_bytes());
    put(24, &size.to_be_bytes());
    put(36, &u32::try_from(entries).unwrap().to_be_bytes());
    put(40, &(1u64 << cluster_bits).to_be_bytes());
    put(96, &4u32.to_be_bytes());
    put(100, &104u32.to_be_bytes());
    Header::parse(&head).unwrap()
}

fn table(entries: impl Iterator<Item = u64>) -> Vec<u8> {
    entries.flat_map(u64::to_be_bytes).collect()
}

/// The limit with what the test's own tables take beside it.
const ALLOWED: usize = 65 << 20;

#[test]
fn a_lying_image_takes_no_more_memory_than_is_set_aside_for_it() {
    const FILE: u64 = 1 << 50;
    let too_much = |result: Result<(), Qcow2Error>| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("more tables and scattered clusters"), "{error}");
    };

    // The smallest clusters, and a first level as long as it may be, full of tables.
    let small = header(9, (4 << 20) << 15);
    let first = table((0..small.l1_entries).map(|index| (1 << 40) + index * 512));
    let (result, most) = most_during(|| MapBuilder::new(small.clone(), FILE)?.add_l1(&first).map(drop));
    too_much(result);
    assert!(most < ALLOWED, "{most}");

    // Every second cluster is missing, so that none continues another and each has zeroes before it.
    let usual = header(16, 1 << 45);
    let (result, most) = most_during(|| {
        let mut builder = MapBuilder::new(usual.clone(), FILE)?;
        for index in 0..usual.l1_entries {
            let second = table((0..8192).map(|number| {
                let at = (1 << 45) + ((index * 8192 + number) << 16);
                if number % 2 == 0 { at } else { 0 }
            }));
            builder.add_l2(index, &second)?;
        }
        Ok(())
    });
    too_much(result);
    assert!(most < ALLOWED, "{most}");

    // As many as go in are taken, and the whole map stays below the limit as well.
    let (map, most) = most_during(|| {
        let mut builder = MapBuilder::new(usual.clone(), FILE).unwrap();
        for index in 0..250 {
            let second = table(
                (0..8192).map(|number| if number % 2 == 0 { (1 << 45) + ((index * 8192 + number) << 16) } else { 0 }),
            );
            builder.add_l2(index, &second).unwrap();
        }
        builder.finish().unwrap()
    });
    assert_eq!((map.extents.len(), map.zeroes.len()), (250 * 4096, 250 * 4096));
    assert!(most < ALLOWED, "{most}");

    // What lies in order takes next to nothing, however large.
    let (result, most) = most_during(|| {
        let mut builder = MapBuilder::new(usual.clone(), FILE)?;
        for index in 0..128 {
            builder.add_l2(index, &table((0..8192).map(|number| (1 << 45) + ((index * 8192 + number) << 16))))?;
        }
        builder.finish()
    });
    assert_eq!(result.unwrap().extents.len(), 1);
    assert!(most < 1 << 20, "{most}");
}
