//! Where an image comes from: HTTP servers and registries, and the files beside an image that hold its checksum.

mod body;
mod checksum;
mod http;
mod registry;

use bessemer_protocol::{Checksum, Digest, ImageFormat};

pub(super) use body::Body;
pub(super) use http::{Http, Location};

/// Why a source did not give the image.
#[derive(Debug, thiserror::Error)]
pub(super) enum SourceError {
    /// No connection, a reset, a body shorter than announced.
    #[error("{0}")]
    Transport(String),
    /// Not the one that was expected.
    #[error("status {0}")]
    Status(u16),
    /// An error page under a status of success, most likely.
    #[error("it answers with {0} in place of an image")]
    NotAnImage(&'static str),
    /// The server answers range requests with everything.
    #[error(
        "the server does not answer range requests, without which qcow2 cannot be read: serve it otherwise, or convert it to raw"
    )]
    NoRanges,
    /// It is another file than at the start.
    #[error("the file changed while it was read")]
    Changed,
    /// Nothing came for as long as a source may be silent.
    #[error("nothing came for {} s", http::SILENCE.as_secs())]
    Silent,
    /// The item's deadline.
    #[error("deadline passed")]
    Late,
    /// Of a registry or a checksum file.
    #[error("{0}")]
    Answer(String),
}

/// Where the image of `source` is and what its digest must be.
pub(super) async fn resolve(
    http: &Http,
    source: &str,
    checksum: &Checksum,
    format: ImageFormat,
) -> Result<(Location, Digest), SourceError> {
    if let Some(reference) = source.strip_prefix("oci://") {
        let layer = registry::resolve(http, reference, format).await?;
        return match checksum {
            Checksum::Registry => Ok(layer),
            Checksum::Value(digest) => Ok((layer.0, digest.clone())),
            Checksum::File { .. } => Err(SourceError::Answer("an oci:// image takes no checksum file".to_owned())),
        };
    }
    let digest = match checksum {
        Checksum::Value(digest) => digest.clone(),
        Checksum::File { url, algorithm } => checksum::fetch(http, url, source, *algorithm).await?,
        Checksum::Registry => return Err(SourceError::Answer(format!("{source} is no registry and has no checksum"))),
    };
    Ok((http.location(source), digest))
}
