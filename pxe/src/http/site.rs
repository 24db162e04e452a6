//! What is at which path, and who may fetch it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use std::{io, iter};

use tracing::warn;

use super::boot::Boots;
use super::connection::Peer;
use super::content::{Content, Tagged};
use super::images;
use super::path::segments;
use super::range;
use super::reply::{BINARY, EFI, Refusal, TEXT};
use super::request::{Client, Method, Request};
use crate::identity::BootId;
use crate::metrics::Trouble;
use crate::script::{ScriptError, Scripts, Urls, paths};
use crate::trace::{Answer, Exchange, Observer, Phase, Protocol};

/// Longest request told in a story.
const MOST_ASKED: usize = 200;

/// Everything that a boot listener serves.
pub(crate) struct Site {
    pub(crate) scripts: Scripts,
    /// iPXE programs by name.
    pub(crate) programs: BTreeMap<&'static str, Tagged>,
    pub(crate) boots: Boots,
    pub(crate) images_dir: Option<PathBuf>,
    pub(crate) observer: Observer,
}

/// One request for whoever tells the machine's story.
#[derive(Debug)]
pub(super) struct Story {
    phase: Phase,
    asked: Cow<'static, str>,
    boot_id: Option<BootId>,
    answer: Answer,
    why: Option<Cow<'static, str>>,
}

impl Site {
    /// The file asked for, or why there is none.
    pub(super) async fn answer(&self, request: &Request, peer: &Peer) -> (Result<Content, Refusal>, Story) {
        let mut story = Story::of(request);
        let outcome = self.find(request, peer, &mut story).await;
        if let Err(refusal) = &outcome {
            story.why = Some(refusal.why.clone());
            if refusal.status == 503 {
                self.observer.metrics.trouble(Protocol::Http, Trouble::Directory);
            }
        }
        (outcome, story)
    }

    async fn find(&self, request: &Request, peer: &Peer, story: &mut Story) -> Result<Content, Refusal> {
        if request.has_body {
            return Err(Refusal::new(400, "a request with a body"));
        }
        if request.method == Method::Other {
            return Err(Refusal::new(405, "only GET and HEAD are served"));
        }
        let parts = segments(&request.target).ok_or(Refusal::not_found("not a path of ours"))?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts.as_slice() {
            [paths::LOCAL] => script(self.scripts.local()),
            [paths::HOLD] => script(self.scripts.hold(None)),
            [paths::BOOT, boot_id, file] => {
                let boot_id = boot_id.parse().map_err(|_| Refusal::not_found("not a boot id"))?;
                story.boot_id = Some(boot_id);
                // A HEAD starts nothing, and neither does the rest of a file whose start was fetched.
                let starts = request.method == Method::Get && range::begins(request.range.as_deref());
                let (content, why) = self.boots.file(boot_id, file, peer, starts, self).await?;
                story.why = why;
                Ok(content)
            }
            // Images are no part of the boot, and the firmware's TLS is for that alone.
            [paths::IMAGES, name] if !peer.secure => {
                let directory =
                    self.images_dir.clone().ok_or(Refusal::not_found("no image directory is configured"))?;
                images::open(directory, name).await
            }
            [name] => self.program(name).ok_or(Refusal::not_found("no such file")),
            _ => Err(Refusal::not_found("no such path")),
        }
    }

    /// An iPXE program.
    pub(super) fn program(&self, name: &str) -> Option<Content> {
        let content_type = if name.ends_with(".efi") { EFI } else { BINARY };
        Some(Content::made(content_type, self.programs.get(name)?, iter::empty()))
    }

    /// Counts, logs and passes on.
    pub(super) fn tell(&self, peer: &Peer, story: Story) {
        let trouble = match &story.answer {
            Answer::Dropped => Some(Trouble::Malformed),
            Answer::Failed => Some(Trouble::NotSent),
            _ => None,
        };
        if let Some(trouble) = trouble {
            self.observer.metrics.trouble(Protocol::Http, trouble);
        }
        self.observer.tell(&Exchange {
            at: SystemTime::now(),
            protocol: Protocol::Http,
            phase: story.phase,
            client: None,
            peer: Some(peer.address),
            interface: peer.interface.clone(),
            asked: story.asked,
            answer: story.answer,
            why: story.why,
            boot_id: story.boot_id,
        });
    }
}

/// A rendered script, or status 500 and no script at all: the wrong one could cost a disk.
pub(super) fn script(rendered: Result<String, ScriptError>) -> Result<Content, Refusal> {
    let text = rendered.map_err(|error| {
        warn!(%error, "a script cannot be served");
        Refusal::new(500, error.to_string())
    })?;
    Ok(Content::made(TEXT, &Tagged::default(), [text.into()]))
}

/// The URLs under which a client reaches what it reached us for.
pub(super) fn urls(peer: &Peer) -> Urls {
    if peer.secure { Urls::https(peer.local) } else { Urls::http(peer.local) }
}

impl Story {
    fn of(request: &Request) -> Self {
        let method = match request.method {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Other => "(other)",
        };
        let target = request.target.chars().filter(|character| !character.is_control()).take(MOST_ASKED);
        let phase = match request.client {
            Client::Ipxe => Phase::Ipxe,
            Client::Uefi => Phase::HttpFirmware,
            Client::Other => Phase::Unknown,
        };
        let asked = format!("{method} {}", target.collect::<String>()).into();
        Self { phase, asked, boot_id: None, answer: Answer::Noted, why: None }
    }

    /// Of something that was no request.
    pub(super) fn dropped(why: &'static str) -> Self {
        Self {
            phase: Phase::Unknown,
            asked: "a connection".into(),
            boot_id: None,
            answer: Answer::Dropped,
            why: Some(why.into()),
        }
    }

    /// Of a connection that did not come to a request.
    #[cfg(feature = "firmware-tls")]
    pub(super) fn no_tls(why: String) -> Self {
        Self { why: Some(why.into()), ..Self::dropped("") }
    }

    /// How it ended: with `bytes` of the body sent.
    pub(super) fn ended(
        mut self,
        request: &Request,
        status: u16,
        bytes: u64,
        written: io::Result<()>,
        took: Duration,
    ) -> Self {
        self.answer = match written {
            Err(error) => {
                self.why = Some(format!("after {bytes} bytes: {error}").into());
                Answer::Failed
            }
            Ok(()) if status >= 400 => Answer::Refused { code: Some(status) },
            // The size only.
            Ok(()) if request.method == Method::Head => Answer::Noted,
            Ok(()) => Answer::Sent { bytes, took, resent: 0 },
        };
        self
    }
}
