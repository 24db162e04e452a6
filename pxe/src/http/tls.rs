//! TLS for firmware, by OpenSSL: OVMF of 2022 offers TLS 1.2 with DHE_RSA or RSA key exchange alone, which rustls does
//! not speak and should not. Only with the feature `firmware-tls`, and for boot files alone.

use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use openssl::dh::Dh;
use openssl::pkey::{Id, PKey};
use openssl::ssl::{Ssl, SslContext, SslMethod, SslOptions, SslVersion};
use openssl::x509::X509;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_openssl::SslStream;

use super::content::Piece;
use super::wire::{Wire, in_time};
use crate::config::FirmwareTls;
use crate::error::Error;

/// Newer clients first; then all that EDK2's TlsLib can offer (its `TlsCipherMappingTable`) that still encrypts.
const CIPHERS: &str = "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:DHE-RSA-AES128-GCM-SHA256:\
                       DHE-RSA-AES256-GCM-SHA384:DHE-RSA-AES256-SHA256:DHE-RSA-AES128-SHA256:DHE-RSA-AES256-SHA:\
                       DHE-RSA-AES128-SHA:AES256-SHA256:AES128-SHA256:AES256-SHA:AES128-SHA";
const LEAST_BITS: u32 = 3072;
/// Of a file, read and encrypted at once.
const CHUNK: u64 = 256 * 1024;

/// Makes connections into TLS.
#[derive(Clone)]
pub(super) struct Acceptor(SslContext);

impl Acceptor {
    /// # Errors
    /// [`Error::Tls`] says what is wrong with the certificate or the key.
    pub(super) fn new(config: &FirmwareTls) -> Result<Self, Error> {
        build(config).map(Self).map_err(Error::Tls)
    }

    /// The handshake, within `deadline`.
    pub(super) async fn accept(&self, stream: TcpStream, deadline: Duration) -> Result<SslStream<TcpStream>, String> {
        let ssl = Ssl::new(&self.0).map_err(|error| error.to_string())?;
        let mut stream = SslStream::new(ssl, stream).map_err(|error| error.to_string())?;
        match timeout(deadline, Pin::new(&mut stream).accept()).await {
            Ok(Ok(())) => Ok(stream),
            Ok(Err(error)) => Err(format!("the TLS handshake failed: {error}")),
            Err(_) => Err("the TLS handshake took too long".to_owned()),
        }
    }
}

fn build(config: &FirmwareTls) -> Result<SslContext, String> {
    let said = |what: &'static str| move |error: openssl::error::ErrorStack| format!("{what}: {error}");
    let key = PKey::private_key_from_pem(config.key.as_bytes()).map_err(said("the key is no PEM private key"))?;
    if key.id() != Id::RSA {
        return Err("the key is no RSA key, and firmware knows no other".to_owned());
    }
    if key.bits() < LEAST_BITS {
        return Err(format!("the RSA key has {} bits: make one with {LEAST_BITS}", key.bits()));
    }
    let chain = X509::stack_from_pem(config.certificate.as_bytes()).map_err(said("the certificate is no PEM"))?;
    let mut chain = chain.into_iter();
    let leaf = chain.next().ok_or("there is no certificate")?;
    let own = leaf.public_key().map_err(said("the certificate has no key"))?;
    if !own.public_eq(&key) {
        return Err("the certificate belongs to another key".to_owned());
    }
    let assemble = || {
        let mut context = SslContext::builder(SslMethod::tls_server())?;
        context.set_min_proto_version(Some(SslVersion::TLS1_2))?;
        context.set_options(SslOptions::NO_RENEGOTIATION | SslOptions::CIPHER_SERVER_PREFERENCE);
        context.set_cipher_list(CIPHERS)?;
        let group = Dh::get_2048_256()?;
        context.set_tmp_dh(&group)?;
        context.set_certificate(&leaf)?;
        for above in chain {
            context.add_extra_chain_cert(above)?;
        }
        context.set_private_key(&key)?;
        context.check_private_key()?;
        Ok(context.build())
    };
    assemble().map_err(said("OpenSSL refuses the settings"))
}

impl Wire for SslStream<TcpStream> {
    async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        self.read_buf(buffer).await
    }

    async fn write(&mut self, pieces: VecDeque<Piece>, stall: Duration, sent: &mut u64) -> io::Result<()> {
        for piece in pieces {
            match piece {
                Piece::Made(octets) => write_all(self, octets, stall, sent).await?,
                Piece::Stored(file, part) => {
                    let mut offset = part.start;
                    while offset < part.end {
                        let wanted = usize::try_from((part.end - offset).min(CHUNK)).unwrap_or_default();
                        let read = read_at(file.clone(), offset, wanted).await?;
                        offset += read.len() as u64;
                        write_all(self, read, stall, sent).await?;
                    }
                }
            }
        }
        self.flush().await
    }

    async fn finish(&mut self) {
        // The client may be gone already.
        let _ = self.shutdown().await;
    }
}

async fn write_all(
    stream: &mut SslStream<TcpStream>,
    mut octets: Bytes,
    stall: Duration,
    sent: &mut u64,
) -> io::Result<()> {
    while !octets.is_empty() {
        let written = in_time(stall, AsyncWriteExt::write(stream, &octets)).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        octets.advance(written);
        *sent += written as u64;
    }
    Ok(())
}

async fn read_at(file: Arc<std::fs::File>, offset: u64, len: usize) -> io::Result<Bytes> {
    let read = move || {
        let mut octets = vec![0; len];
        file.read_exact_at(&mut octets, offset)?;
        Ok(Bytes::from(octets))
    };
    tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
}
