//! The list that goes with images: what they are, for whom, and how to know that they are whole.

use serde_json::{Value, json};

use super::{OsImage, OsImageSpec, Sector};

/// The manifest of `images`, which were built from `spec` in several forms, each under the name that it is served by.
pub fn manifest(spec: &OsImageSpec, images: &[(String, OsImage)]) -> Value {
    let files = images.iter().map(|(file, image)| {
        json!({
            "file": file,
            "format": image.format.extension(),
            "size": image.size,
            "diskSize": image.raw_size,
            "sectorSize": image.sector.bytes(),
            "firmware": if image.sector == Sector::Bytes512 { json!(["bios", "uefi"]) } else { json!(["uefi"]) },
            "sha256": image.sha256,
            "sha512": image.sha512,
        })
    });
    let files: Vec<Value> = files.collect();
    json!({
        "name": spec.name,
        "architecture": "amd64",
        "kubernetes": spec.kubernetes.as_ref().map(|kubernetes| kubernetes.version.as_str()),
        // Who carries out the bootstrap data: our agent, when it is in the image.
        "bootstrapDelivery": if spec.agent.is_some() { "agent" } else { "cloud-init" },
        "files": files,
    })
}
