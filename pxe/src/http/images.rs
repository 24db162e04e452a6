//! OS images from a plain directory, streamed: an image is far larger than what one wants in memory.

use std::io::{self, SeekFrom};
use std::path::Path as FilePath;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::ReaderStream;
use tracing::warn;

use super::content::{finish, head};
use super::{BINARY, Peer, Refusal, Site, refused, trace};

/// One read from disk, and one frame to the socket.
const BUFFER: usize = 1024 * 1024;

/// `GET /images/<name>`.
pub(super) async fn image(
    State(site): State<Arc<Site>>,
    Extension(peer): Extension<Peer>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let Some(directory) = &site.images_dir else {
        return refused(peer, &request, Refusal::NotFound("no image directory is configured"));
    };
    if !is_plain_name(&name) {
        return refused(peer, &request, Refusal::NotFound("not a plain file name"));
    }
    match open(directory, &name, request.method(), request.headers()).await {
        Ok(response) => {
            trace(peer, &request, &response);
            response
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            refused(peer, &request, Refusal::NotFound("no such image"))
        }
        Err(error) => {
            warn!(phase = "http", name, %error, "an image cannot be read");
            refused(peer, &request, Refusal::Internal)
        }
    }
}

/// One visible file of the directory itself. The name is already percent-decoded, so this is where traversal ends.
fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

async fn open(directory: &FilePath, name: &str, method: &Method, headers: &HeaderMap) -> io::Result<Response> {
    let path = directory.join(name);
    // Looked at before it is opened: opening a pipe would wait for its writer.
    if !tokio::fs::metadata(&path).await?.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let mut file = File::open(&path).await?;
    let len = file.metadata().await?.len();
    let (builder, range) = head(BINARY, len, headers);
    let body = if *method == Method::HEAD || range.is_empty() {
        Body::empty()
    } else {
        file.seek(SeekFrom::Start(range.start)).await?;
        file.set_max_buf_size(BUFFER);
        Body::from_stream(ReaderStream::with_capacity(file.take(range.end - range.start), BUFFER))
    };
    Ok(finish(builder, body))
}
