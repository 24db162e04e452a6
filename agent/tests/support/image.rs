//! A disk image that looks like an operating system's to everybody but its firmware, and a server for it.

use std::io::{Cursor, Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;

use axum::Router;
use axum::body::Bytes;
use axum::routing::get;
use bessemer_protocol::{Digest, DigestAlgorithm};
use gptman::{GPT, GPTPartitionEntry};
use ring::digest::{SHA256, digest};

/// A quarter zeroes, the rest about as compressible as a Debian.
pub fn image(megabytes: usize) -> Vec<u8> {
    let mut image = vec![0; megabytes << 20];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for (index, block) in image.chunks_mut(64 << 10).enumerate() {
        if index % 4 == 3 || index < 16 {
            continue;
        }
        for word in block.chunks_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&(state & 0x1f1f_0f0f_1f1f_0f0f).to_le_bytes()[..word.len()]);
        }
    }
    let end = image.len() - (1 << 20);
    image[end..].fill(0);
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
    image
}

pub fn sha256(bytes: &[u8]) -> Digest {
    let hex = digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Digest { algorithm: DigestAlgorithm::Sha256, hex }
}

/// Serves `/raw` and `/zst`; returns the port on loopback.
pub async fn serve(raw: Vec<u8>, zst: Vec<u8>) -> u16 {
    let (raw, zst) = (Bytes::from(raw), Bytes::from(zst));
    let router = Router::new()
        .route("/raw", get(move || std::future::ready(raw.clone())))
        .route("/zst", get(move || std::future::ready(zst.clone())));
    let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    port
}

/// Whether the disk holds the image, apart from the table that the agent changes.
pub fn is_on(disk: &std::fs::File, image: &[u8]) -> bool {
    let mut piece = vec![0; 1 << 20];
    let skipped = 34 * 512;
    let mut at = skipped;
    while at < image.len() - skipped {
        let length = piece.len().min(image.len() - skipped - at);
        disk.read_exact_at(&mut piece[..length], at as u64).unwrap();
        if piece[..length] != image[at..at + length] {
            return false;
        }
        at += length;
    }
    true
}

pub fn first_mebibyte(disk: &std::fs::File) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut disk = disk;
    disk.seek(SeekFrom::Start(0)).unwrap();
    disk.take(1 << 20).read_to_end(&mut bytes).unwrap();
    bytes
}
