//! Whole lives of machines in an emulator: real firmware, the ramdisk for servers, a Debian written to a disk, and that Debian booted. Each run
//! takes another way through firmware, boot medium, image format, kind of disk and end of the ramdisk; together they take every one
//! of them. Not every pair: UEFI with a SATA disk, BIOS with NVMe, and the kernel of a raw or zstd image started at once are not among
//! them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(unreachable_pub, reason = "each room of it is used by the others")]

#[path = "../support/mod.rs"]
mod support;

mod debian;
mod files;
mod inventory;
mod life;
mod vm;

use bessemer_images::os::{Format, Sector};
use bessemer_protocol::LeaveHow;
use life::{Life, live};
use vm::{DiskKind, Firmware, Medium};

#[tokio::test(flavor = "multi_thread")]
async fn bios_from_an_iso_writes_raw_to_sata_and_reboots() {
    let life = Life {
        firmware: Firmware::Bios,
        medium: Medium::Iso,
        target: DiskKind::Sata,
        format: Format::Raw,
        leave: LeaveHow::Reboot,
        ..Life::default()
    };
    live(&life).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uefi_writes_qcow2_to_nvme_and_starts_its_kernel_at_once() {
    let life = Life {
        firmware: Firmware::Uefi,
        target: DiskKind::Nvme,
        others: &[DiskKind::Virtio, DiskKind::Sata, DiskKind::Native4k],
        format: Format::Qcow2,
        leave: LeaveHow::Kexec,
        inventory: true,
        ..Life::default()
    };
    live(&life).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uefi_from_an_iso_writes_a_4kn_image_to_a_4kn_disk_and_reboots() {
    let life = Life {
        firmware: Firmware::Uefi,
        medium: Medium::Iso,
        target: DiskKind::Native4k,
        format: Format::Zst,
        sector: Sector::Bytes4096,
        leave: LeaveHow::Reboot,
        ..Life::default()
    };
    live(&life).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bios_writes_xz_to_virtio_and_starts_its_kernel_at_once() {
    let life = Life {
        firmware: Firmware::Bios,
        target: DiskKind::Virtio,
        format: Format::Xz,
        leave: LeaveHow::Kexec,
        ..Life::default()
    };
    live(&life).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uefi_writes_three_gigabytes_with_half_a_gigabyte_of_memory() {
    let life = Life {
        firmware: Firmware::Uefi,
        target: DiskKind::Virtio,
        format: Format::Zst,
        padded_to: Some(3_000_000_000),
        leave: LeaveHow::Reboot,
        ..Life::default()
    };
    live(&life).await;
}
