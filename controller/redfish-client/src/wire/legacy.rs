//! Exchanges with services whose TLS rustls does not speak, by OpenSSL with its limits taken off: TLS 1.0 and 1.1, key
//! exchange by RSA, short keys, SHA-1. Each exchange has a connection of its own: such BMCs are few, and slow anyway.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use openssl::hash::MessageDigest;
use openssl::ssl::{Ssl, SslContext, SslContextBuilder, SslMethod, SslOptions, SslVerifyMode, SslVersion};
use openssl::x509::{X509, X509VerifyResult};
use reqwest::Url;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_openssl::SslStream;

use super::{Request, Wire};
use crate::answer::Answer;
use crate::compressed::plain;
use crate::{Options, RedfishError, Trust};

/// Everything that authenticates and encrypts at all.
const CIPHERS: &str = "ALL:!aNULL:!eNULL:@SECLEVEL=0";

pub(super) struct Legacy {
    context: SslContext,
    trust: Trust,
    /// Certificates that are believed as they are.
    own: Vec<Vec<u8>>,
    host: String,
    port: u16,
    authority: String,
    connect_timeout: Duration,
    read_timeout: Duration,
    /// Whether rustls has failed and OpenSSL has not.
    needed: AtomicBool,
}

impl Legacy {
    pub(super) fn new(base: &Url, options: &Options) -> Result<Self, String> {
        let mut own = Vec::new();
        let context = context(&options.trust, &mut own).map_err(|error| error.to_string())?;
        let host = base.host_str().unwrap_or_default();
        let port = base.port_or_known_default().unwrap_or(443);
        Ok(Self {
            context,
            trust: options.trust.clone(),
            own,
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            authority: base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")),
            connect_timeout: options.connect_timeout,
            read_timeout: options.read_timeout,
            needed: AtomicBool::new(false),
        })
    }

    pub(super) fn is_needed(&self) -> bool {
        self.needed.load(Ordering::Relaxed)
    }

    pub(super) async fn exchange(
        &self,
        wire: &Wire,
        request: Request<'_>,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<Answer, RedfishError> {
        let url = wire.url(request.to);
        let broken = |why: String, sent: bool| RedfishError::Connection {
            method: request.method.clone(),
            url: url.clone(),
            why,
            sent,
        };
        let silent =
            |after: Duration| RedfishError::Timeout { method: request.method.clone(), url: url.clone(), after };
        let connect = timeout(self.connect_timeout, self.connect(&url)).await;
        let stream = connect.map_err(|_| silent(self.connect_timeout))??;
        self.needed.store(true, Ordering::Relaxed);
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| broken(error.to_string(), false))?;
        let connection = tokio::spawn(connection);
        let mut outgoing = http::Request::builder().method(request.method).uri(path);
        let body = request.body.map(|body| Bytes::from(body.to_string()));
        if let Some(all) = outgoing.headers_mut() {
            all.clone_from(headers);
            if let Ok(host) = self.authority.parse() {
                all.insert(header::HOST, host);
            }
            if body.is_some() {
                all.insert(header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
            }
        }
        let outgoing = outgoing.body(Full::new(body.unwrap_or_default()));
        let outgoing = outgoing.map_err(|error| broken(error.to_string(), false))?;
        let answer = timeout(self.read_timeout, sender.send_request(outgoing)).await;
        let answer = answer.map_err(|_| silent(self.read_timeout))?.map_err(|error| broken(error.to_string(), true))?;
        let (parts, mut incoming) = answer.into_parts();
        let wrong = |problem: String| RedfishError::Body { method: request.method.clone(), url: url.clone(), problem };
        let mut body = BytesMut::new();
        loop {
            let frame = timeout(self.read_timeout, incoming.frame()).await.map_err(|_| silent(self.read_timeout))?;
            let Some(frame) = frame else { break };
            let frame = frame.map_err(|error| broken(error.to_string(), true))?;
            let Ok(data) = frame.into_data() else { continue };
            if body.len() + data.len() > wire.body_limit {
                connection.abort();
                return Err(wrong(format!("the answer is larger than {} bytes", wire.body_limit)));
            }
            body.extend_from_slice(&data);
        }
        let body = plain(body.freeze(), wire.body_limit).map_err(wrong)?;
        tracing::debug!(method = %request.method, %url, status = parts.status.as_u16(), "redfish over legacy tls");
        Ok(Answer { status: parts.status, headers: parts.headers, body })
    }

    async fn connect(&self, url: &str) -> Result<SslStream<TcpStream>, RedfishError> {
        let failed = |why: String| RedfishError::Handshake { url: url.to_owned(), why, old: false };
        let tcp = TcpStream::connect((self.host.as_str(), self.port)).await;
        let tcp = tcp.map_err(|error| RedfishError::Connection {
            method: http::Method::GET,
            url: url.to_owned(),
            why: error.to_string(),
            sent: false,
        })?;
        let mut ssl = Ssl::new(&self.context).map_err(|error| failed(error.to_string()))?;
        // A name is told to the service; an address may not be.
        let named = if self.host.parse::<std::net::IpAddr>().is_ok() {
            ssl.param_mut().set_ip(self.host.parse().unwrap_or(std::net::Ipv4Addr::UNSPECIFIED.into()))
        } else {
            ssl.set_hostname(&self.host).and_then(|()| ssl.param_mut().set_host(&self.host))
        };
        named.map_err(|error| failed(error.to_string()))?;
        let mut stream = SslStream::new(ssl, tcp).map_err(|error| failed(error.to_string()))?;
        Pin::new(&mut stream).connect().await.map_err(|error| failed(format!("legacy tls: {error}")))?;
        self.believe(stream.ssl()).map_err(|why| RedfishError::Certificate { url: url.to_owned(), why })?;
        Ok(stream)
    }

    fn believe(&self, ssl: &openssl::ssl::SslRef) -> Result<(), String> {
        let certificate = ssl.peer_certificate().ok_or("it shows none")?;
        match &self.trust {
            Trust::Anyone => Ok(()),
            Trust::Pin(wanted) => {
                let found = certificate.digest(MessageDigest::sha256()).map_err(|error| error.to_string())?;
                if *found == wanted[..] { Ok(()) } else { Err("it has another fingerprint than expected".to_owned()) }
            }
            Trust::System | Trust::Authorities(_) => {
                let der = certificate.to_der().map_err(|error| error.to_string())?;
                match ssl.verify_result() {
                    X509VerifyResult::OK => Ok(()),
                    _ if self.own.contains(&der) => Ok(()),
                    problem => Err(format!(
                        "{}; give the authority that signed it, or its fingerprint",
                        problem.error_string()
                    )),
                }
            }
        }
    }
}

fn context(trust: &Trust, own: &mut Vec<Vec<u8>>) -> Result<SslContext, openssl::error::ErrorStack> {
    let mut builder: SslContextBuilder = SslContext::builder(SslMethod::tls_client())?;
    builder.set_min_proto_version(Some(SslVersion::TLS1))?;
    builder.set_cipher_list(CIPHERS)?;
    // SSL_OP_LEGACY_SERVER_CONNECT: also services that have not heard of RFC 5746.
    builder.set_options(SslOptions::from_bits_retain(1 << 2));
    // The outcome is looked at when the handshake is over: only then is it known which certificate it was.
    builder.set_verify(SslVerifyMode::NONE);
    match trust {
        Trust::System => builder.set_default_verify_paths()?,
        Trust::Authorities(pem) => {
            for certificate in X509::stack_from_pem(pem.as_bytes())? {
                own.push(certificate.to_der()?);
                builder.cert_store_mut().add_cert(certificate)?;
            }
        }
        Trust::Pin(_) | Trust::Anyone => {}
    }
    Ok(builder.build())
}
