//! Who comes in: holders of a certificate of our authority (checked by TLS; the name is the common name, the groups are the
//! organizations), of the administrator's token, and everybody else as the anonymous user. What they may do is asked later.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};
use rustls_pki_types::CertificateDer;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::access::User;
use crate::status::ApiError;

/// Under what reviews show which credential somebody came with.
const CREDENTIAL: &str = "authentication.kubernetes.io/credential-id";

/// The administrator's bearer token. Does not print.
#[derive(Clone)]
pub(super) struct Token(Arc<str>);

impl Token {
    pub(super) fn new(token: String) -> Self {
        Self(token.into())
    }

    fn is(&self, other: &str) -> bool {
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

/// What is known of a connection.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) token: Token,
    /// Whom the client's certificate is of.
    pub(super) certified: Option<User>,
}

/// Whom a certificate, which TLS has found good, is of.
pub(super) fn user_of(certificate: &CertificateDer<'_>) -> Option<User> {
    let digest = Sha256::digest(certificate);
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    let groups: Vec<&str> = subject.iter_organization().filter_map(|group| group.as_str().ok()).collect();
    let credential = digest.iter().fold("X509SHA256=".to_owned(), |text, byte| text + &format!("{byte:02x}"));
    let extra = vec![(CREDENTIAL.to_owned(), vec![credential])];
    (!name.is_empty()).then(|| User { extra, ..User::named(name, &groups) })
}

/// The answer to a token that is nobody's.
fn unauthorized() -> Response {
    let mut response = ApiError::unauthorized().into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// Finds out who asks; a token that is nobody's is refused.
pub(super) async fn identify(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    let header = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = header.and_then(|value| value.split_once(' ')).filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
    let user = match (gate.certified, token) {
        (Some(user), _) => user,
        (None, Some((_, token))) if gate.token.is(token.trim()) => User::administrator(),
        (None, Some(_)) => return unauthorized(),
        (None, None) => User::anonymous(),
    };
    request.extensions_mut().insert(user);
    next.run(request).await
}
