//! Images in OCI registries: an artefact of one layer, which is the disk.
//!
//! Source: OCI distribution and image specifications 1.1; the token exchange is Docker's. Registries that want a password are the
//! controller's affair: pull secrets never reach a host.

use bessemer_protocol::{Digest, DigestAlgorithm, ImageFormat};
use reqwest::header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE};
use reqwest::{Response, StatusCode};
use serde::Deserialize;

use super::super::hash;
use super::http::Http;
use super::{Location, SourceError};

/// Largest manifest that is read, in bytes; the specification's own limit.
const LARGEST: usize = 4 << 20;

const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json";

/// `registry/repository:tag@digest` in its parts.
#[derive(Debug, PartialEq, Eq)]
struct Reference<'a> {
    registry: &'a str,
    repository: &'a str,
    /// Tag or digest.
    version: &'a str,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Manifest {
    layers: Vec<Descriptor>,
    manifests: Vec<Descriptor>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct Descriptor {
    digest: String,
    platform: Option<Platform>,
    annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct Platform {
    architecture: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

fn refuse<T>(why: impl Into<String>) -> Result<T, SourceError> {
    Err(SourceError::Answer(why.into()))
}

/// Where the layer of `reference` is, and its digest.
pub(super) async fn resolve(
    http: &Http,
    reference: &str,
    format: ImageFormat,
) -> Result<(Location, Digest), SourceError> {
    let reference = Reference::parse(reference)?;
    let mut bearer = None;
    let mut manifest = manifest(http, &reference, reference.version, &mut bearer).await?;
    if !manifest.manifests.is_empty() {
        let version = choose(&manifest.manifests, format)?.digest.clone();
        manifest = self::manifest(http, &reference, &version, &mut bearer).await?;
    }
    let [layer] = manifest.layers.as_slice() else {
        return refuse(format!("oci://{}: {} layers, an image has one", reference.repository, manifest.layers.len()));
    };
    let digest = parse_digest(&layer.digest)?;
    let mut location = http.location(&reference.url("blobs", &layer.digest));
    location.bearer = bearer;
    Ok((location, digest))
}

impl<'a> Reference<'a> {
    fn parse(text: &'a str) -> Result<Self, SourceError> {
        let parts = text.split_once('/').and_then(|(registry, rest)| {
            let (name, digest) = rest.split_once('@').map_or((rest, None), |(name, digest)| (name, Some(digest)));
            let (repository, tag) = name.rsplit_once(':').unwrap_or((name, "latest"));
            let version = digest.unwrap_or(tag);
            let sane = |text: &str| {
                !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#%\\".contains(&byte))
            };
            let all =
                sane(registry) && sane(repository) && sane(version) && !repository.split('/').any(|part| part == "..");
            all.then_some(Self { registry, repository, version })
        });
        parts.ok_or_else(|| {
            SourceError::Answer(format!("oci://{text} is not of the form oci://registry/repository[:tag|@digest]"))
        })
    }

    /// Registries on this host have no certificate; all others need one, unless the digest that was asked for protects the bytes.
    fn scheme(&self) -> &'static str {
        let host = self.registry.rsplit_once(':').map_or(self.registry, |(host, _)| host);
        if matches!(host, "localhost" | "127.0.0.1" | "[::1]") { "http" } else { "https" }
    }

    fn url(&self, what: &str, version: &str) -> String {
        format!("{}://{}/v2/{}/{what}/{version}", self.scheme(), self.registry, self.repository)
    }
}

async fn manifest(
    http: &Http,
    reference: &Reference<'_>,
    version: &str,
    bearer: &mut Option<String>,
) -> Result<Manifest, SourceError> {
    let url = reference.url("manifests", version);
    let ask = |bearer: &Option<String>| {
        let request = http.get(&url).header(ACCEPT, MANIFESTS);
        match bearer {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    };
    let mut response = http.send(ask(bearer)).await?;
    if response.status() == StatusCode::UNAUTHORIZED && bearer.is_none() {
        *bearer = Some(anonymous_token(http, &response).await?);
        response = http.send(ask(bearer)).await?;
    }
    match response.status() {
        StatusCode::OK => {}
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            return refuse(format!("{url}: the registry wants a password, which only the controller may have"));
        }
        other => return refuse(format!("{url}: status {}", other.as_u16())),
    }
    let text = http.text(response, LARGEST).await?;
    if version.contains(':') {
        let wanted = parse_digest(version)?;
        let got = hash::of(text.as_bytes(), wanted.algorithm);
        if got != wanted {
            return refuse(format!("{url}: the manifest's digest is {got}"));
        }
    }
    serde_json::from_str(&text).map_err(|error| SourceError::Answer(format!("{url}: no manifest: {error}")))
}

/// The one to use of several: the only one, the one made for disks of the wanted format, or the one for this architecture.
fn choose(manifests: &[Descriptor], format: ImageFormat) -> Result<&Descriptor, SourceError> {
    if let [only] = manifests {
        return Ok(only);
    }
    let wanted: &[&str] = match format {
        ImageFormat::Auto => &["raw", "qcow2"],
        ImageFormat::Raw => &["raw"],
        ImageFormat::Qcow2 => &["qcow2"],
    };
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let ours = |one: &&Descriptor| {
        one.platform
            .as_ref()
            .is_none_or(|platform| [architecture, std::env::consts::ARCH].contains(&platform.architecture.as_str()))
    };
    let typed = |kind: &str| {
        let matches = |one: &&Descriptor| one.annotations.get("disktype").is_some_and(|disk| disk == kind);
        manifests.iter().filter(ours).find(matches)
    };
    let platform = |one: &&Descriptor| one.platform.is_some() && !one.annotations.contains_key("disktype");
    let chosen = wanted.iter().find_map(|kind| typed(kind)).or_else(|| manifests.iter().filter(ours).find(platform));
    chosen.ok_or_else(|| {
        SourceError::Answer(format!("none of {} manifests is for {architecture} disks", manifests.len()))
    })
}

fn parse_digest(text: &str) -> Result<Digest, SourceError> {
    let parsed = text.split_once(':').and_then(|(algorithm, hex)| {
        let algorithm = match algorithm {
            "sha256" => DigestAlgorithm::Sha256,
            "sha512" => DigestAlgorithm::Sha512,
            _ => return None,
        };
        Digest::parse(hex, Some(algorithm))
    });
    parsed.ok_or_else(|| SourceError::Answer(format!("{text:?} is no digest of the registry's")))
}

/// What a registry gives to everybody for reading what is public.
async fn anonymous_token(http: &Http, response: &Response) -> Result<String, SourceError> {
    let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let Some((realm, query)) = challenge_parts(challenge) else {
        return refuse("the registry wants a password, which only the controller may have");
    };
    let url = reqwest::Url::parse_with_params(&realm, &query)
        .map_err(|error| SourceError::Answer(format!("{realm}: {error}")))?;
    let answer = http.send(http.get(url.as_str())).await?;
    if answer.status() != StatusCode::OK {
        return refuse(format!("{realm}: status {}", answer.status().as_u16()));
    }
    let token: Token = serde_json::from_str(&http.text(answer, LARGEST).await?)
        .map_err(|error| SourceError::Answer(format!("{realm}: no token: {error}")))?;
    token.token.or(token.access_token).ok_or_else(|| SourceError::Answer(format!("{realm}: no token")))
}

/// Realm and query of `Bearer realm="…",service="…",scope="…"`.
fn challenge_parts(challenge: &str) -> Option<(String, Vec<(&str, &str)>)> {
    let fields = challenge.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))?.1;
    let mut realm = None;
    let mut query = Vec::new();
    for (name, value) in fields.split("\",").filter_map(|field| field.trim().split_once("=\"")) {
        let value = value.trim_end_matches('"');
        match name.trim() {
            "realm" => realm = Some(value.to_owned()),
            "service" | "scope" => query.push((name.trim(), value)),
            _ => {}
        }
    }
    Some((realm.filter(|realm| realm.starts_with("http"))?, query))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_taken_apart() {
        let sha = format!("sha256:{}", "ab".repeat(32));
        let pinned = format!("r:5000/a/b@{sha}");
        for (text, registry, repository, version, scheme) in [
            ("quay.io/podman/machine-os:5.0", "quay.io", "podman/machine-os", "5.0", "https"),
            ("127.0.0.1:5000/disk", "127.0.0.1:5000", "disk", "latest", "http"),
            (&pinned, "r:5000", "a/b", &sha, "https"),
        ] {
            let reference = Reference::parse(text).unwrap();
            assert_eq!(reference, Reference { registry, repository, version });
            assert_eq!(reference.scheme(), scheme);
        }
        for text in ["", "r", "r/", "r/a:", "r/../x", "r/a?b", "/a"] {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_challenge_says_where_the_token_is() {
        let (realm, query) =
            challenge_parts(r#"Bearer realm="https://auth/token",service="reg",scope="repository:a:pull,push""#)
                .unwrap();
        assert_eq!(realm, "https://auth/token");
        assert_eq!(query, [("service", "reg"), ("scope", "repository:a:pull,push")]);
        assert!(challenge_parts("Basic realm=\"x\"").is_none());
    }

    #[test]
    fn the_manifest_for_these_disks_is_chosen() {
        let one = |digest: &str, arch: &str, disk: Option<&str>| Descriptor {
            digest: digest.into(),
            platform: Some(Platform { architecture: arch.into() }),
            annotations: disk.map(|disk| ("disktype".to_owned(), disk.to_owned())).into_iter().collect(),
        };
        let ours = std::env::consts::ARCH;
        let all = [
            one("a", "s390x", Some("raw")),
            one("b", ours, Some("qcow2")),
            one("c", ours, Some("raw")),
            one("d", ours, None),
        ];
        for (format, expected) in [(ImageFormat::Raw, "c"), (ImageFormat::Qcow2, "b"), (ImageFormat::Auto, "c")] {
            assert_eq!(choose(&all, format).unwrap().digest, expected);
        }
        assert_eq!(choose(&all[3..], ImageFormat::Raw).unwrap().digest, "d");
        assert!(choose(&[one("a", "s390x", None), one("e", "s390x", None)], ImageFormat::Raw).is_err());
    }
}
