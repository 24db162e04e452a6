//! The Debian that the machines get: as small as it can be with systemd, and with one unit that says on the serial line what it booted from and what
//! its seed says, and switches the machine off.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bessemer_images::cache::Cache;
use bessemer_images::os::{self, Format, OsImage, OsImageSpec, OwnFile, Sector};
use bessemer_images::ramdisk::Variant;
use bessemer_protocol::{Digest, DigestAlgorithm};
use ring::digest::{Context, SHA256};

const PROOF: &str = r#"#!/bin/sh
exec > /dev/ttyS0 2>&1
firmware=bios; [ -d /sys/firmware/efi ] && firmware=uefi
root=$(findmnt -nro SOURCE /)
size=$(df --output=size -BM / | tail -n 1 | tr -d ' M')
mkdir -p /run/seed
mount -o ro LABEL=config-2 /run/seed
name=$(sed -n 's/.*"hostname": *"\([^"]*\)".*/\1/p' /run/seed/openstack/latest/meta_data.json)
echo "PROOF firmware=$firmware root=$root mebibytes=$size seed=$name"
sync
poweroff -f -f
"#;

const UNIT: &str = "[Unit]\nDescription=Tells what booted and ends\nDefaultDependencies=no\n\
    After=systemd-remount-fs.service\n\n[Service]\nType=oneshot\nExecStart=/usr/local/sbin/proof\n\n\
    [Install]\nWantedBy=sysinit.target\n";

/// The image in this form.
pub fn image(format: Format, sector: Sector) -> OsImage {
    let file = |path: &str, content: &str, mode| OwnFile { path: path.into(), content: content.into(), mode };
    let spec = OsImageSpec {
        files: vec![
            file("/usr/local/sbin/proof", PROOF, 0o755),
            file("/etc/systemd/system/proof.service", UNIT, 0o644),
        ],
        units: vec!["proof.service".into()],
        boot_modules_only: true,
        cmdline: "console=ttyS0 panic=-1 quiet systemd.show_status=0".into(),
        sector,
        format,
        ..OsImageSpec::plain("machines".into(), Variant::Server, Cache::from_env().unwrap())
    };
    os::build(&spec, &mut |line| println!("{line}")).unwrap()
}

/// What is served: a file, its digest, and how long the disk in it is.
pub struct Served {
    pub path: PathBuf,
    pub digest: Digest,
    pub raw_size: u64,
}

impl Served {
    pub fn of(image: &OsImage) -> Self {
        let digest = Digest { algorithm: DigestAlgorithm::Sha256, hex: image.sha256.clone() };
        Self { path: image.path.clone(), digest, raw_size: image.raw_size }
    }

    /// The same disk with bytes behind it until it is `size` long, which are no zeroes: a writer has to write them all. They are soon fetched,
    /// because they repeat.
    pub fn padded(folder: &Path, size: u64) -> Self {
        let raw = image(Format::Raw, Sector::Bytes512);
        let path = folder.join("padded.raw.zst");
        let mut encoder = zstd::stream::Encoder::new(File::create(&path).unwrap(), 1).unwrap();
        std::io::copy(&mut File::open(&raw.path).unwrap(), &mut encoder).unwrap();
        let block: Vec<u8> =
            (0..1_u32 << 18).flat_map(|word| (word.wrapping_mul(0x9e37_79b9) | 1).to_le_bytes()).collect();
        let mut left = size - raw.raw_size;
        while left > 0 {
            let length = block.len().min(usize::try_from(left).unwrap());
            encoder.write_all(&block[..length]).unwrap();
            left -= length as u64;
        }
        encoder.finish().unwrap();
        Self { digest: sha256(&path), path, raw_size: size }
    }
}

fn sha256(path: &Path) -> Digest {
    let mut context = Context::new(&SHA256);
    context.update(&fs::read(path).unwrap());
    let hex = context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Digest { algorithm: DigestAlgorithm::Sha256, hex }
}

/// Whether `disk` has bytes other than zero in the last MiB before `end`.
pub fn is_written_up_to(disk: &Path, end: u64) -> bool {
    let mut file = File::open(disk).unwrap();
    file.seek(SeekFrom::Start(end - (1 << 20))).unwrap();
    let mut bytes = vec![0; 1 << 20];
    file.read_exact(&mut bytes).unwrap();
    bytes.iter().filter(|byte| **byte != 0).count() > 1 << 19
}
