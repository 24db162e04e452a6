//! Sending a file to a service: `MultipartHttpPushUri` (DSP0266 13.5) and `HttpPushUri`, as a stream, so that an image
//! of hundreds of megabytes is never in memory.

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use http::Method;
use serde_json::Value;
use tokio::time::Instant;

use crate::{Client, RedfishError, Reference, Reply};

/// A file on its way to a service.
pub struct Upload {
    /// What the file is called there.
    pub name: String,
    /// Its exact length in bytes: most BMCs refuse a body whose length they are not told.
    pub length: u64,
    /// Its bytes.
    pub bytes: BoxStream<'static, std::io::Result<Bytes>>,
}

impl Client {
    /// Pushes `file` with its `parameters` (`UpdateParameters`) as a form of two parts, by `until`. Made once: a stream
    /// cannot be sent again.
    ///
    /// # Errors
    /// Every [`RedfishError`] but those of tasks.
    pub async fn push_form(
        &self,
        to: &Reference,
        parameters: &Value,
        file: Upload,
        until: Instant,
    ) -> Result<Reply, RedfishError> {
        let boundary = format!("----------------------{:016x}{:016x}", rand::random::<u64>(), rand::random::<u64>());
        let name: String = file.name.chars().filter(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\')).collect();
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"UpdateParameters\"\r\nContent-Type: \
             application/json\r\n\r\n{parameters}\r\n--{boundary}\r\nContent-Disposition: form-data; \
             name=\"UpdateFile\"; filename=\"{name}\"\r\nContent-Type: application/octet-stream\r\n\r\n"
        );
        let tail = format!("\r\n--{boundary}--\r\n");
        let length = file.length + head.len() as u64 + tail.len() as u64;
        let once = |text: String| stream::once(async move { std::io::Result::Ok(Bytes::from(text)) });
        let bytes = once(head).chain(file.bytes).chain(once(tail)).boxed();
        let kind = format!("multipart/form-data; boundary={boundary}");
        self.upload(to, &kind, Upload { name, length, bytes }, until).await
    }

    /// Pushes `file` as it is, by `until`. Made once: a stream cannot be sent again.
    ///
    /// # Errors
    /// Every [`RedfishError`] but those of tasks.
    pub async fn push_raw(&self, to: &Reference, file: Upload, until: Instant) -> Result<Reply, RedfishError> {
        self.upload(to, "application/octet-stream", file, until).await
    }

    async fn upload(&self, to: &Reference, kind: &str, file: Upload, until: Instant) -> Result<Reply, RedfishError> {
        self.check_login().await?;
        let pass = self.door().pass(self.wire(), None, until).await?;
        let answer = self.wire().upload(to, kind, file, &pass.headers, until).await?;
        match answer.refusal(&Method::POST, &self.wire().url(to), self.door().user()) {
            Some(refusal) => Err(refusal),
            None => Ok(self.reply(&Method::POST, to, &answer)),
        }
    }

    /// Sees to the session before a stream is used up: reads what is behind the login, as the root is not. Whatever else
    /// is wrong there does not stand in the way.
    async fn check_login(&self) -> Result<(), RedfishError> {
        let root = self.root().await?;
        let inside = ["SessionService", "UpdateService", "Managers"].into_iter().find_map(|name| root.link(name));
        match self.read(&inside.unwrap_or_else(|| Reference::root().child("Systems"))).await {
            Err(error @ (RedfishError::Unauthorized { .. } | RedfishError::PasswordChangeRequired { .. })) => {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Opens a stream of events, with one new login if the session has run out.
    pub(crate) async fn open(&self, at: &Reference) -> Result<reqwest::Response, RedfishError> {
        let until = Instant::now() + self.options().deadline;
        let mut refused = None;
        loop {
            let pass = self.door().pass(self.wire(), refused, until).await?;
            match self.wire().open(at, &pass.headers, self.door().user(), until).await {
                Err(RedfishError::Unauthorized { .. }) if refused.is_none() && pass.can_expire() => {
                    refused = Some(pass.age);
                }
                answer => return answer,
            }
        }
    }
}
