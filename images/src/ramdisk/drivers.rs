//! The drivers that the ramdisk carries, by the names that the kernel gives them; what they depend on comes along. `docs/images.md` has the
//! list for operators.

/// Which of Debian's kernels the ramdisk is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variant {
    /// Debian's general kernel with the drivers of servers.
    #[default]
    Server,
    /// Debian's cloud kernel with the virtual devices only: smaller and quicker, for emulated hosts. It has no SATA, no IPMI and no NIC but virtio's.
    Cloud,
}

impl Variant {
    /// The package that depends on the newest kernel.
    pub(super) fn meta_package(self) -> &'static str {
        match self {
            Self::Server => "linux-image-amd64",
            Self::Cloud => "linux-image-cloud-amd64",
        }
    }

    /// The modules wanted. One that this kernel has built in is fine; one that it lacks is an error.
    pub(super) fn modules(self) -> Vec<&'static str> {
        match self {
            Self::Server => [NICS, STORAGE, VIRTUAL, FILE_SYSTEMS, STACKED, PLATFORM].concat(),
            Self::Cloud => CLOUD.to_vec(),
        }
    }
}

/// Wired NICs of servers.
const NICS: &[&str] = &[
    "atlantic",
    "be2net",
    "bnx2",
    "bnx2x",
    "bnxt_en",
    "cxgb4",
    "e1000",
    "e1000e",
    "enic",
    "i40e",
    "iavf",
    "ice",
    "igb",
    "igbvf",
    "igc",
    "ixgbe",
    "ixgbevf",
    "mlx4_en",
    "mlx5_core",
    "qede",
    "r8169",
    "realtek",
    "sfc",
    "tg3",
];

/// Controllers of disks, and the disks behind them.
const STORAGE: &[&str] =
    &["aacraid", "ahci", "ata_piix", "hpsa", "isci", "megaraid_sas", "mpi3mr", "mpt3sas", "nvme", "sd_mod", "smartpqi"];

/// Devices of hypervisors.
const VIRTUAL: &[&str] = &[
    "ena",
    "hv_netvsc",
    "hv_storvsc",
    "hv_vmbus",
    "virtio_blk",
    "virtio_net",
    "virtio_pci",
    "virtio_rng",
    "virtio_scsi",
    "vmw_pvscsi",
    "vmxnet3",
];

/// What is read and grown on a written disk. The checksums and tables of characters are asked for by name at run time.
const FILE_SYSTEMS: &[&str] = &[
    "blake2b_generic",
    "btrfs",
    "crc32c_generic",
    "crc32c_intel",
    "efivarfs",
    "ext4",
    "nls_ascii",
    "nls_cp437",
    "nls_utf8",
    "sha256_generic",
    "vfat",
    "xfs",
    "xxhash_generic",
];

/// What makes one device of several, in networks and on disks.
const STACKED: &[&str] = &["8021q", "bonding", "dm_mod", "md_mod", "raid0", "raid1"];

/// The BMC from inside, the TPM.
const PLATFORM: &[&str] = &["ipmi_devintf", "ipmi_si", "ipmi_ssif", "tpm_crb", "tpm_tis"];

/// NVMe and the file systems' needs of emulated hosts.
const CLOUD: &[&str] = &["virtio_pci", "virtio_net", "virtio_blk", "virtio_rng"];
