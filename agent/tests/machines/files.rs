//! Serves one file with ranges, as an image server does.

use std::io::SeekFrom;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::io::ReaderStream;

const BLOCK: usize = 256 << 10;

/// Serves `path` at `/image`; returns the port on loopback.
pub async fn serve(path: PathBuf) -> u16 {
    let router = Router::new().route("/image", get(move |headers: HeaderMap| answer(path.clone(), headers)));
    let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    port
}

async fn answer(path: PathBuf, headers: HeaderMap) -> Response<Body> {
    let mut file = tokio::fs::File::open(path).await.unwrap();
    let length = file.metadata().await.unwrap().len();
    let range = headers.get(header::RANGE).map(|value| parse(value.to_str().unwrap(), length));
    let (first, last) = range.unwrap_or((0, length - 1));
    file.seek(SeekFrom::Start(first)).await.unwrap();
    let body = Body::from_stream(ReaderStream::with_capacity(file.take(last + 1 - first), BLOCK));
    let response = Response::builder()
        .header(header::ETAG, "\"image\"")
        .header(header::ACCEPT_RANGES, "bytes")
        .header(header::CONTENT_LENGTH, last + 1 - first);
    let response = match range {
        None => response.status(StatusCode::OK),
        Some(_) => response
            .status(StatusCode::PARTIAL_CONTENT)
            .header(header::CONTENT_RANGE, format!("bytes {first}-{last}/{length}")),
    };
    response.body(body).unwrap()
}

/// `bytes=FIRST-` or `bytes=FIRST-LAST`.
fn parse(range: &str, length: u64) -> (u64, u64) {
    let (first, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    let last = if last.is_empty() { length - 1 } else { last.parse::<u64>().unwrap().min(length - 1) };
    (first.parse().unwrap(), last)
}
