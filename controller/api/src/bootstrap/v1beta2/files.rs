//! Files and users of bootstrap data.

use bessemer_api_macros::api;

use crate::SecretKeyReference;

/// One file to write.
#[api]
#[derive(Eq)]
pub struct BootstrapFile {
    /// Absolute path.
    #[text(1..=512)]
    pub path: String,
    /// `user:group`.
    #[text(1..=256)]
    pub owner: Option<String>,
    /// Octal, as text.
    #[text(1..=16)]
    pub permissions: Option<String>,
    /// How the content is encoded.
    pub encoding: Option<FileEncoding>,
    /// Add to the end of an existing file.
    pub append: Option<bool>,
    /// Content.
    #[text(1..=10240)]
    pub content: Option<String>,
    /// Content, by reference.
    pub content_from: Option<FileSource>,
    /// Whether the content is a Go template; `Raw` unless given.
    pub content_format: Option<FileContentFormat>,
}

/// How a file's content is encoded.
#[api]
pub enum FileEncoding {
    /// Base64.
    #[serde(rename = "base64")]
    Base64,
    /// Compressed.
    #[serde(rename = "gzip")]
    Gzip,
    /// Compressed, then base64.
    #[serde(rename = "gzip+base64")]
    GzipBase64,
}

/// Whether a file's content is a template.
#[api]
pub enum FileContentFormat {
    /// It is written as it is.
    Raw,
    /// It is a Go template.
    Template,
}

/// Where a file's content, or a password's hash, is.
#[api]
#[derive(Eq)]
pub struct FileSource {
    /// In a Secret.
    pub secret: SecretKeyReference,
}

/// One user to make.
#[api]
#[derive(Eq)]
pub struct BootstrapUser {
    /// Login name.
    #[text(1..=256)]
    pub name: String,
    /// Full name.
    #[text(1..=256)]
    pub gecos: Option<String>,
    /// More groups, with commas.
    #[text(1..=256)]
    pub groups: Option<String>,
    /// Home directory.
    #[text(1..=256)]
    pub home_dir: Option<String>,
    /// Make it unusable.
    pub inactive: Option<bool>,
    /// Login shell.
    #[text(1..=256)]
    pub shell: Option<String>,
    /// Hash of the password.
    #[text(1..=256)]
    pub passwd: Option<String>,
    /// Hash of the password, by reference.
    pub passwd_from: Option<FileSource>,
    /// First group.
    #[text(1..=256)]
    pub primary_group: Option<String>,
    /// No login by password.
    pub lock_password: Option<bool>,
    /// Rule for sudo.
    #[text(1..=256)]
    pub sudo: Option<String>,
    /// SSH keys.
    #[list(atomic, ..=100, each(1..=2048))]
    pub ssh_authorized_keys: Vec<String>,
}
