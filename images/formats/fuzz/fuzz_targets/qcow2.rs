//! A whole qcow2 file: header, tables, map, clusters. Whatever it claims, the map stays inside the file and the disk, and covers the disk once.

#![no_main]

use bessemer_image_formats::qcow2::{ClusterDecoder, Header, MOST_HEADER_BYTES, MapBuilder, Stored};
use libfuzzer_sys::fuzz_target;

/// Larger disks only cost time.
const LARGEST: u64 = 64 << 20;

fuzz_target!(|file: &[u8]| {
    let Ok(header) = Header::parse(file.get(..MOST_HEADER_BYTES.min(file.len())).unwrap_or_default()) else { return };
    if header.size > LARGEST {
        return;
    }
    let (cluster, size, compression) = (header.cluster(), header.size, header.compression);
    let (l1, l1_bytes) = (header.l1_offset, header.l1_bytes());
    let part = |offset: u64, length: u64| file.get(offset as usize..(offset + length) as usize);
    let Ok(mut builder) = MapBuilder::new(header, file.len() as u64) else { return };
    let Ok(tables) = builder.add_l1(part(l1, l1_bytes).expect("checked")) else { return };
    for (index, offset) in tables {
        if builder.add_l2(index, part(offset, cluster).expect("checked")).is_err() {
            return;
        }
    }
    let Ok(map) = builder.finish() else { return };
    let mut decoder = ClusterDecoder::new(compression).expect("memory");
    let mut covered: Vec<(u64, u64)> = map.zeroes.clone();
    let mut bytes = vec![0; cluster as usize];
    for (number, extent) in map.extents.iter().enumerate() {
        let stored = part(extent.host, extent.length).expect("inside the file");
        match extent.stored {
            Stored::Plain => covered.push((extent.guest, extent.length)),
            Stored::Compressed => {
                covered.push((extent.guest, cluster.min(size - extent.guest)));
                if number < 8 {
                    let _ = decoder.decode(stored, &mut bytes);
                }
            }
        }
    }
    covered.sort_unstable();
    let mut reached = 0;
    for (start, length) in covered {
        assert_eq!(start, reached, "every byte of the disk comes from one place");
        reached = start + length;
    }
    assert_eq!(reached, size);
});
