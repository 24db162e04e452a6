//! An image as an artefact of a registry, with the token that registries give to everybody.

use serde_json::json;

use super::*;

#[test]
fn the_layer_of_an_artefact_is_the_image() {
    let image = image(12);
    let digest = sha256(&image);
    let manifest = json!({
        "schemaVersion": 2,
        "layers": [{"digest": digest.to_string(), "size": image.len(), "mediaType": "application/octet-stream"}],
    })
    .to_string();
    let name = sha256(manifest.as_bytes());
    let index = json!({"manifests": [{"digest": name.to_string(), "annotations": {"disktype": "raw"}}]}).to_string();
    let blob: &'static str = format!("/v2/disks/debian/blobs/{digest}").leak();
    let by_digest: &'static str = format!("/v2/disks/debian/manifests/{name}").leak();
    let tokens = Server::start([(
        "/token?service=reg&scope=repository%3Adisks%2Fdebian%3Apull",
        Served::new(br#"{"token":"t"}"#),
    )]);
    let challenge =
        format!("Bearer realm=\"{}\",service=\"reg\",scope=\"repository:disks/debian:pull\"", tokens.url("/token"));
    let first = Served::new(b"").with(|file| {
        file.status = "401 Unauthorized";
        file.headers = vec![("www-authenticate", challenge)];
        file.then = Some(Box::new(Served::new(index.as_bytes())));
    });
    let server = Server::start([
        ("/v2/disks/debian/manifests/12", first),
        (by_digest, Served::new(manifest.as_bytes())),
        (blob, Served::new(&image)),
    ]);
    let host = server.url.strip_prefix("http://").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let disk = used_disk(folder.path());
    let url = format!("oci://{host}/disks/debian:12");
    let done = deploy_from(&disk, &url, ImageFormat::Raw, Checksum::Registry).unwrap();
    assert_eq!(done.image_bytes, image.len() as u64);
    assert_written(&disk, &image);
    assert_eq!(tokens.asked.lock().unwrap().len(), 1);

    let two = json!({"layers": [{"digest": digest.to_string()}, {"digest": digest.to_string()}]}).to_string();
    let other = sha256(b"other").to_string();
    let lying: &'static str = format!("/v2/x/manifests/{other}").leak();
    let server = Server::start([
        ("/v2/x/manifests/two", Served::new(two.as_bytes())),
        (lying, Served::new(manifest.as_bytes())),
    ]);
    let host = server.url.strip_prefix("http://").unwrap();
    for (reference, words) in [
        ("x:two".to_owned(), "2 layers, an image has one"),
        ("x:none".to_owned(), "status 404"),
        (format!("x@{other}"), "the manifest's digest is"),
    ] {
        let error = deploy_from(&disk, &format!("oci://{host}/{reference}"), ImageFormat::Raw, Checksum::Registry);
        let error = error.err().unwrap();
        assert_eq!(error.code(), FailureCode::FetchFailed);
        assert!(error.to_string().contains(words), "{error}");
    }
}
