//! From a host's spec to what the agent is asked to write.

use bessemer_api::metal3::{BareMetalHost, ChecksumType, DiskFormat, Image};
use bessemer_protocol::{Deploy, Digest, DigestAlgorithm, ImageFormat, RootDeviceHints, Seed};
use kube::ResourceExt;

use super::super::observed::{claim, host_id};

/// The payload of a deployment, or what is wrong with the spec.
pub(super) fn deploy(host: &BareMetalHost, image: &Image) -> Result<Deploy, String> {
    if !image.url.starts_with("http://") && !image.url.starts_with("https://") {
        return Err(format!("image {}: only http:// and https:// URLs can be fetched", image.url));
    }
    let owner = claim(host).or_else(|| host_id(host).map(|id| id.to_string())).unwrap_or_default();
    Ok(Deploy {
        sources: vec![image.url.clone()],
        image: bessemer_protocol::Image { format: format(image)?, digest: digest(image)? },
        root: hints(host),
        seed: Seed { hostname: host.name_any(), instance_id: owner },
    })
}

fn format(image: &Image) -> Result<ImageFormat, String> {
    match image.format {
        None | Some(DiskFormat::Raw) => Ok(ImageFormat::Raw),
        Some(other) => Err(format!("image {}: format \"{other}\" is not supported yet, only raw is", image.url)),
    }
}

fn digest(image: &Image) -> Result<Digest, String> {
    let hex = image.checksum.as_deref().unwrap_or_default().trim().to_ascii_lowercase();
    let given = image.checksum_type.unwrap_or(ChecksumType::Auto);
    let algorithm = match (given, hex.len()) {
        (ChecksumType::Sha256 | ChecksumType::Auto, 64) => DigestAlgorithm::Sha256,
        (ChecksumType::Sha512 | ChecksumType::Auto, 128) => DigestAlgorithm::Sha512,
        (ChecksumType::Md5, _) | (_, 32) => {
            return Err(format!("image {}: md5 protects nothing, give its sha256 or sha512", image.url));
        }
        _ => {
            return Err(format!(
                "image {}: checksum {hex:?} is no {} digest in hexadecimal (a URL of a checksum file is not supported \
                 yet)",
                image.url,
                if given == ChecksumType::Auto { "sha256 or sha512" } else { given.as_str() }
            ));
        }
    };
    if hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(Digest { algorithm, hex })
    } else {
        Err(format!("image {}: checksum {hex:?} is not hexadecimal", image.url))
    }
}

fn hints(host: &BareMetalHost) -> RootDeviceHints {
    let Some(hints) = host.spec.root_device_hints.clone() else { return RootDeviceHints::default() };
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
