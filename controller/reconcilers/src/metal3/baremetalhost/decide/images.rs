//! From a host's spec to what the agent is asked to write.

use bessemer_api::metal3::{BareMetalHost, ChecksumType, DiskFormat, Image};
use bessemer_protocol::{Checksum, Deploy, Digest, DigestAlgorithm, ImageFormat, LeaveHow, RootDeviceHints};
use kube::ResourceExt;

use super::super::seed_data::SeedData;
use super::disks;
use super::seed::seed;

/// On a BareMetalHost: `kexec` starts the installed kernel without another round through the firmware where that is safe.
const LEAVE_ANNOTATION: &str = "bessemer.dev/leave";

/// The payload of a deployment, or what is wrong with the spec.
pub(super) fn deploy(host: &BareMetalHost, image: &Image, data: &SeedData) -> Result<Deploy, String> {
    let schemes = ["http://", "https://", "oci://"];
    if !schemes.iter().any(|scheme| image.url.starts_with(scheme)) {
        return Err(format!("image {}: only http://, https:// and oci:// URLs can be fetched", image.url));
    }
    if image.oci_auth_secret_name.is_some() {
        return Err(format!(
            "image {}: a registry that wants a password (ociAuthSecretName) is not supported yet",
            image.url
        ));
    }
    let root = host.spec.root_device_hints.clone().map(hints).unwrap_or_default();
    let (disk, keep) = disks::to_write(host, &root).map_err(|why| format!("image {}: {why}", image.url))?;
    Ok(Deploy {
        sources: vec![image.url.clone()],
        image: bessemer_protocol::Image { format: format(image)?, checksum: checksum(image)? },
        root,
        disk: Some(disk),
        keep,
        seed: seed(host, data).map_err(|why| format!("image {}: {why}", image.url))?,
    })
}

/// How a host leaves the ramdisk: through the firmware unless it says otherwise.
pub(super) fn leave_how(host: &BareMetalHost) -> LeaveHow {
    match host.annotations().get(LEAVE_ANNOTATION).map(String::as_str) {
        Some("kexec") => LeaveHow::Kexec,
        _ => LeaveHow::Reboot,
    }
}

fn format(image: &Image) -> Result<ImageFormat, String> {
    match image.format {
        None => Ok(ImageFormat::Auto),
        Some(DiskFormat::Raw) => Ok(ImageFormat::Raw),
        Some(DiskFormat::Qcow2) => Ok(ImageFormat::Qcow2),
        Some(other) => Err(format!("image {}: format \"{other}\" is not supported, only raw and qcow2 are", image.url)),
    }
}

fn checksum(image: &Image) -> Result<Checksum, String> {
    let given = image.checksum.as_deref().unwrap_or_default().trim();
    let kind = image.checksum_type.unwrap_or(ChecksumType::Auto);
    let algorithm = match kind {
        ChecksumType::Auto => None,
        ChecksumType::Md5 => Some(DigestAlgorithm::Md5),
        ChecksumType::Sha256 => Some(DigestAlgorithm::Sha256),
        ChecksumType::Sha512 => Some(DigestAlgorithm::Sha512),
    };
    let registry = image.url.starts_with("oci://");
    if registry && given.is_empty() {
        return Ok(Checksum::Registry);
    }
    if registry {
        return Err(format!("image {}: an oci:// image takes no checksum, its manifest has one", image.url));
    }
    if given.starts_with("http://") || given.starts_with("https://") {
        return Ok(Checksum::File { url: given.to_owned(), algorithm });
    }
    Digest::parse(given, algorithm).map(Checksum::Value).ok_or_else(|| {
        let name = if kind == ChecksumType::Auto { "md5, sha256 or sha512" } else { kind.as_str() };
        format!(
            "image {}: checksum {given:?} is no {name} digest in hexadecimal and no http:// or https:// URL",
            image.url
        )
    })
}

/// Metal3's hints in the words of the agent.
pub(super) fn hints(hints: bessemer_api::metal3::RootDeviceHints) -> RootDeviceHints {
    RootDeviceHints {
        device_name: hints.device_name,
        hctl: hints.hctl,
        model: hints.model,
        vendor: hints.vendor,
        serial_number: hints.serial_number,
        min_size_gigabytes: hints.min_size_gigabytes.and_then(|size| u64::try_from(size).ok()),
        wwn: hints.wwn,
        wwn_with_extension: hints.wwn_with_extension,
        wwn_vendor_extension: hints.wwn_vendor_extension,
        rotational: hints.rotational,
    }
}
