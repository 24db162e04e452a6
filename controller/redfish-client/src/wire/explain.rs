//! What the network's and TLS's errors mean, with their remedies; and what the address of a service may be.

use std::error::Error as _;

use reqwest::Url;

use super::{Request, Wire};
use crate::RedfishError;

const OLD: &str = "update its firmware; where there is none, a client with legacy tls can speak with it";

impl Wire {
    pub(super) fn explain(&self, request: Request<'_>, error: &reqwest::Error, answering: bool) -> RedfishError {
        let (method, url) = (request.method.clone(), self.url(request.to));
        let mut why = root_cause(error);
        match tls_problem(error) {
            Some(rustls::Error::InvalidCertificate(problem)) => {
                return RedfishError::Certificate { url, why: certificate_problem(problem) };
            }
            Some(problem) if !answering => {
                if let Some((why, old)) = handshake_problem(problem) {
                    return RedfishError::Handshake { url, why, old };
                }
            }
            _ => {}
        }
        if error.is_timeout() && !error.is_connect() {
            return RedfishError::Timeout { method, url, after: self.read_timeout };
        }
        // What hyper calls an answer that does not begin as HTTP does.
        if self.base.scheme() == "http" && why.starts_with("invalid HTTP") {
            why.push_str("; does it want https there?");
        }
        RedfishError::Connection { method, url, why, sent: answering || !error.is_connect() }
    }
}

/// The root of a service: scheme, host and port, nothing else.
pub(super) fn base(service: &str) -> Result<Url, RedfishError> {
    let wrong = |url: &str, problem: &str| RedfishError::Address { url: url.to_owned(), problem: problem.to_owned() };
    let mut url = Url::parse(service).map_err(|error| wrong("(unreadable)", &format!("{error}; give https://HOST")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(url.host_str().unwrap_or_default(), "holds a user or password; give them apart"));
    }
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong(url.as_str(), "is not http or https with a host"));
    }
    url.set_path("");
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

pub(super) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(below) = cause.and_then(std::error::Error::source) {
        cause = Some(below);
    }
    cause.map_or_else(|| error.to_string(), ToString::to_string)
}

/// What rustls says, if it is rustls that does.
fn tls_problem(error: &reqwest::Error) -> Option<&rustls::Error> {
    let mut cause = error.source();
    while let Some(here) = cause {
        if let Some(problem) = here.downcast_ref() {
            return Some(problem);
        }
        // The source of an io::Error leaves out the error that it wraps.
        let wrapped = here.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        cause = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => here.source(),
        };
    }
    None
}

fn certificate_problem(problem: &rustls::CertificateError) -> String {
    let remedy = "give the authority that signed it, or its fingerprint";
    match problem {
        rustls::CertificateError::ApplicationVerificationFailure => {
            format!("it has another fingerprint than expected; if the change is wanted, {remedy}")
        }
        rustls::CertificateError::UnsupportedSignatureAlgorithmContext { .. } => {
            format!("it is signed in a way that is not safe any more ({problem}); {OLD}")
        }
        problem => format!("{problem}; {remedy}"),
    }
}

/// What the handshake failed of, with the remedy, and whether that is old TLS; none for what another attempt may mend.
fn handshake_problem(problem: &rustls::Error) -> Option<(String, bool)> {
    use rustls::AlertDescription as Alert;
    match problem {
        rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => {
            Some(("what answers there is not tls; use http:// if that is meant, or another port".to_owned(), false))
        }
        rustls::Error::PeerIncompatible(_)
        | rustls::Error::AlertReceived(
            Alert::ProtocolVersion | Alert::HandshakeFailure | Alert::InsufficientSecurity,
        ) => Some((format!("{problem}; it speaks only what is not safe any more: {OLD}"), true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_addresses() {
        for (service, wanted) in [
            ("https://10.0.0.7", "https://10.0.0.7/"),
            ("https://bmc:8443/redfish/v1/?x#y", "https://bmc:8443/"),
            ("http://[fd00::7]:8000/", "http://[fd00::7]:8000/"),
        ] {
            assert_eq!(base(service).unwrap().as_str(), wanted);
        }
        for service in ["10.0.0.7", "ftp://bmc", "https://admin:s3cr3t@bmc", "https://"] {
            let error = base(service).unwrap_err().to_string();
            assert!(error.contains("redfish service") && !error.contains("s3cr3t"), "{error}");
        }
    }
}
