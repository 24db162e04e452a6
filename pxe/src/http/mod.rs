//! The boot listener: what iPXE and HTTP boot firmware fetch, with the lengths, ranges and HEAD answers they rely on,
//! and OS images for sites without another server.
//!
//! Plain HTTP on the boot network: it authenticates nobody. What belongs to one boot is served to that boot's address
//! only, which keeps mistakes apart, not attackers.

mod content;
mod images;
mod listener;
mod range;

use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::Router;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use tokio::net::TcpListener;
use tracing::{info, warn};

use crate::cpio;
use crate::deadline::ask;
use crate::error::Error;
use crate::identity::BootId;
use crate::overlay::{BootFiles, Overlay};
use crate::script::{Scripts, Urls, paths};
use crate::server::Parts;
use crate::trace::{Answer, Exchange, Observer, Phase, Protocol};
use content::Content;

const TEXT: &str = "text/plain; charset=utf-8";
const BINARY: &str = "application/octet-stream";
const EFI: &str = "application/efi";

/// Everything the listener serves.
pub(crate) struct Site {
    pub(crate) scripts: Scripts,
    pub(crate) ipxe_efi: Bytes,
    pub(crate) kernel: Bytes,
    pub(crate) ramdisk: Bytes,
    pub(crate) images_dir: Option<PathBuf>,
    pub(crate) observer: Observer,
    pub(crate) interface: Arc<str>,
}

/// The far end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

impl Peer {
    fn address(self) -> IpAddr {
        self.0.ip().to_canonical()
    }
}

/// Why a request has no file for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// No such file, boot or image; or a boot of another address.
    NotFound(&'static str),
    /// The directory does not answer: iPXE's script asks again.
    Unavailable,
    /// Our own fault.
    Internal,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::NotFound(_) => (StatusCode::NOT_FOUND, "not found\n"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "not now, try again\n"),
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal error\n"),
        };
        let mut response = (status, [(header::CONTENT_TYPE, TEXT)], text).into_response();
        if self == Self::Unavailable {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
        }
        response
    }
}

/// Listens on the address of each interface, and says where.
///
/// # Errors
/// [`Error`] names the address that cannot be listened on.
pub(crate) async fn start(parts: &mut Parts) -> Result<Vec<SocketAddrV4>, Error> {
    let config = parts.config.clone();
    let mut addresses = Vec::new();
    for interface in &config.interfaces {
        let wanted = SocketAddr::from((interface.address, config.http_port));
        let bound = async {
            let listener = TcpListener::bind(wanted).await?;
            Ok((listener.local_addr()?.port(), listener))
        };
        let (port, listener) =
            bound.await.map_err(|error| Error::listen("HTTP", "TCP", wanted, &interface.name, error))?;
        let address = SocketAddrV4::new(interface.address, port);
        let site = Site {
            scripts: Scripts::new(Urls(address), config.ramdisk.kernel_args.clone())?,
            ipxe_efi: config.ipxe.x64.clone(),
            kernel: config.ramdisk.kernel.clone(),
            ramdisk: config.ramdisk.initrd.clone(),
            images_dir: config.images_dir.clone(),
            observer: parts.observer.clone(),
            interface: interface.name.as_str().into(),
        };
        parts.tasks.spawn(listener::run(listener, router(site), parts.cancel.clone()));
        addresses.push(address);
    }
    Ok(addresses)
}

/// The routes. GET answers HEAD too; everything else is 404 or 405.
pub(crate) fn router(site: Site) -> Router {
    Router::new()
        .route("/b/{boot_id}/{file}", get(boot_file))
        .route(paths::IPXE_EFI, get(program))
        .route(paths::LOCAL, get(local))
        .route(paths::HOLD, get(hold))
        .route("/images/{name}", get(images::image))
        .fallback(|peer: Extension<Peer>, request: Request| async move {
            refused(peer.0, &request, Refusal::NotFound("no such path"))
        })
        .with_state(Arc::new(site))
}

async fn program(State(site): State<Arc<Site>>, Extension(peer): Extension<Peer>, request: Request) -> Response {
    served(peer, &request, Content::new(EFI, [site.ipxe_efi.clone()]))
}

async fn local(State(site): State<Arc<Site>>, Extension(peer): Extension<Peer>, request: Request) -> Response {
    script(peer, &request, site.scripts.local())
}

async fn hold(State(site): State<Arc<Site>>, Extension(peer): Extension<Peer>, request: Request) -> Response {
    script(peer, &request, site.scripts.hold())
}

fn script(peer: Peer, request: &Request, rendered: Result<String, minijinja::Error>) -> Response {
    match rendered {
        Ok(text) => served(peer, request, Content::new(TEXT, [text.into()])),
        Err(error) => {
            warn!(phase = "http", %error, "a script cannot be rendered");
            refused(peer, request, Refusal::Internal)
        }
    }
}

async fn boot_file(
    State(site): State<Arc<Site>>,
    Extension(peer): Extension<Peer>,
    Path((boot_id, file)): Path<(String, String)>,
    request: Request,
) -> Response {
    let started = Instant::now();
    let (boot_id, file, content) = match site.boot_file(&boot_id, &file, peer).await {
        Ok(found) => found,
        Err(refusal) => return refused(peer, &request, refusal),
    };
    let response = served(peer, &request, content);
    let bytes = content::length_of(&response);
    site.observer.tell(&Exchange {
        at: SystemTime::now(),
        protocol: Protocol::Http,
        phase: if file == paths::SCRIPT { Phase::Ipxe } else { Phase::Unknown },
        client: None,
        peer: Some(peer.address()),
        interface: site.interface.clone(),
        asked: file.into(),
        answer: Answer::Sent { bytes, took: started.elapsed(), resent: 0 },
        why: None,
        boot_id: Some(boot_id),
    });
    response
}

impl Site {
    async fn boot_file(
        &self,
        boot_id: &str,
        file: &str,
        peer: Peer,
    ) -> Result<(BootId, &'static str, Content), Refusal> {
        let boot_id: BootId = boot_id.parse().map_err(|_| Refusal::NotFound("no such boot"))?;
        let file = [paths::SCRIPT, paths::KERNEL, paths::INITRD]
            .into_iter()
            .find(|known| *known == file)
            .ok_or(Refusal::NotFound("no such file of a boot"))?;
        let overlay = self.admit(boot_id, peer).await?;
        let content = match file {
            paths::SCRIPT => {
                let text = self.scripts.ramdisk(boot_id).map_err(|error| {
                    warn!(phase = "http", %error, "a script cannot be rendered");
                    Refusal::Internal
                })?;
                Content::new(TEXT, [text.into()])
            }
            paths::KERNEL => Content::new(BINARY, [self.kernel.clone()]),
            _ => {
                let archive = cpio::archive(&overlay).map_err(|error| {
                    warn!(phase = "http", %boot_id, %error, "the overlay cannot be packed");
                    Refusal::Internal
                })?;
                let padding = Bytes::from_static(cpio::padding(self.ramdisk.len()));
                Content::new(BINARY, [self.ramdisk.clone(), padding, archive])
            }
        };
        Ok((boot_id, file, content))
    }

    /// A boot exists as long as its overlay does, for its own address.
    async fn admit(&self, boot_id: BootId, peer: Peer) -> Result<Overlay, Refusal> {
        let overlay = match ask(self.observer.directory.overlay(&boot_id)).await {
            Ok(BootFiles::Ready(overlay)) => overlay,
            Ok(BootFiles::Unknown | BootFiles::Spent) => {
                return Err(Refusal::NotFound("no such boot, or its overlay is spent"));
            }
            Err(error) => {
                warn!(phase = "http", %boot_id, %error, "no answer about a boot");
                return Err(Refusal::Unavailable);
            }
        };
        if overlay.addresses.is_empty() || overlay.addresses.contains(&peer.address()) {
            return Ok(overlay);
        }
        Err(Refusal::NotFound("another address's boot"))
    }
}

/// A file in memory, or the part of it that was asked for.
fn served(peer: Peer, request: &Request, content: Content) -> Response {
    let response = content.respond(request.method(), request.headers());
    trace(peer, request, &response);
    response
}

fn refused(peer: Peer, request: &Request, refusal: Refusal) -> Response {
    let why = match refusal {
        Refusal::NotFound(why) => why,
        Refusal::Unavailable => "the directory does not answer",
        Refusal::Internal => "internal error",
    };
    let path = shown(request);
    info!(phase = "http", peer = %peer.0, method = %request.method(), path, why, "refused");
    refusal.into_response()
}

fn trace(peer: Peer, request: &Request, response: &Response) {
    let (path, bytes) = (shown(request), content::length_of(response));
    let answer = response.status().as_u16();
    info!(phase = "http", peer = %peer.0, method = %request.method(), path, answer, bytes, "served");
}

/// A path as it may be logged: of bounded length (a URI holds no control characters).
fn shown(request: &Request) -> &str {
    let path = request.uri().path();
    path.get(..path.len().min(200)).unwrap_or("-")
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
