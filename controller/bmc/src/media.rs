//! Virtual media: images on a web server that the BMC shows to its server as drives.

use std::fmt;

use serde::Serialize;

use crate::{Credentials, ReadBack};

/// What kind of drive the server sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MediaKind {
    /// An optical drive: CD or DVD, which BMCs do not tell apart.
    Cd,
    /// A memory stick on USB.
    Usb,
    /// A floppy drive.
    Floppy,
}

impl fmt::Display for MediaKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cd => "cd",
            Self::Usb => "usb stick",
            Self::Floppy => "floppy",
        })
    }
}

/// An image to insert.
#[derive(Clone)]
pub struct Medium {
    /// Where the BMC fetches it, `http://…/name.iso` at best: some BMCs refuse paths that do not end so, and all that
    /// has a query (Supermicro).
    pub url: String,
    /// What it is inserted as.
    pub kind: MediaKind,
    /// User and password that the web server asks of the BMC.
    pub login: Option<Credentials>,
}

impl Medium {
    /// The CD at `url`, for everyone.
    #[must_use]
    pub fn cd(url: impl Into<String>) -> Self {
        Self { url: url.into(), kind: MediaKind::Cd, login: None }
    }

    /// The address without what may be a secret: user, password, query.
    #[must_use]
    pub fn shown_url(&self) -> String {
        shown(&self.url)
    }
}

impl fmt::Debug for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Medium");
        shown.field("url", &self.shown_url()).field("kind", &self.kind).field("login", &self.login).finish()
    }
}

impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.shown_url())
    }
}

/// `url` without user, password and query.
pub(crate) fn shown(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = path.split_once("://") else { return path.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// `text`, each address in it without user, password and query.
pub(crate) fn shown_within(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`');
    text.split_inclusive(ends)
        .map(|word| {
            let bare = word.trim_end_matches(ends);
            if !bare.contains("://") {
                return word.to_owned();
            }
            format!("{}{}", shown(bare), word.get(bare.len()..).unwrap_or_default())
        })
        .collect()
}

/// One drive that the BMC can show to its server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MediaSlot {
    /// What the BMC calls it: a Redfish path.
    pub id: String,
    /// What it can be; never empty.
    pub kinds: Vec<MediaKind>,
    /// Whether something is in it that the server can see.
    pub inserted: bool,
    /// Address of what is in it, as the BMC tells, without what may be a secret. It may be set though nothing is
    /// inserted: some BMCs keep the last one (Supermicro).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Whether the server cannot write to it; none when the BMC does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_protected: Option<bool>,
}

/// Where a medium went, and how sure that is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct InsertedMedia {
    /// [`MediaSlot::id`].
    pub slot: String,
    /// What reading the slot showed.
    pub read_back: ReadBack,
    /// Whether the slot says that it verifies the certificate of the server (Redfish `VerifyCertificate`), which means
    /// something for an `https` URL only; false where it does not say.
    pub verified: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_addresses_hold_no_secret() {
        let mut medium = Medium::cd("http://bob:s3cr3t@10.0.0.1:8080/boot/host-1.iso?token=s3cr3t#s3cr3t");
        medium.login = Some(Credentials::new("bob", "s3cr3t"));
        assert_eq!(medium.to_string(), "cd http://10.0.0.1:8080/boot/host-1.iso");
        let debugged = format!("{:?}", medium.login);
        assert!(!debugged.contains("s3cr3t"), "{debugged}");
        let debugged = format!("{medium:?}");
        assert!(debugged.contains("host-1.iso") && !debugged.contains("s3cr3t"), "{debugged}");
        assert_eq!(
            shown_within("Cannot fetch 'ftp://u:s3cr3t@h/a.bin?t=s3cr3t' (timeout).\nSee https://help.example/?id=1"),
            "Cannot fetch 'ftp://h/a.bin' (timeout).\nSee https://help.example/"
        );
        for (url, wanted) in [
            ("//nas/share/a.iso", "//nas/share/a.iso"),
            ("http://h?x", "http://h"),
            ("nfs://h/a@b.iso", "nfs://h/a@b.iso"),
        ] {
            assert_eq!(shown(url), wanted);
        }
    }
}
