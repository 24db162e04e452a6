//! The namespace that holds what is the program's own: its lease, its secrets.

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, PostParams};
use kube::core::ObjectMeta;
use kube::{Client, Error};

/// Makes the namespace if it is missing. Looks first: an account that may not make namespaces is good enough where somebody
/// made ours, and one that may not even look is told by whatever it does in there.
///
/// # Errors
/// When the API cannot be asked, or the namespace is missing and not ours to make.
pub(crate) async fn ensure(client: &Client, name: &str) -> anyhow::Result<()> {
    let api = Api::<Namespace>::all(client.clone());
    let is_hidden = match api.get_opt(name).await {
        Ok(Some(_)) => return Ok(()),
        Ok(None) => false,
        Err(Error::Api(status)) if status.is_forbidden() => true,
        Err(error) => return Err(error).with_context(|| format!("cannot look for namespace {name}")),
    };
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    match api.create(&PostParams::default(), &namespace).await {
        Err(Error::Api(status)) if status.is_already_exists() => Ok(()),
        Err(Error::Api(status)) if status.is_forbidden() && is_hidden => {
            tracing::warn!(namespace = name, "not ours to see or to make; taken as being there");
            Ok(())
        }
        Err(Error::Api(status)) if status.is_forbidden() => bail!(
            "namespace {name} does not exist and is not ours to make; make it (`kubectl create namespace {name}`) or let this account create namespaces"
        ),
        result => result.map(drop).with_context(|| format!("cannot make namespace {name}")),
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::extract::Request;
    use axum::http::{Method, StatusCode};
    use axum::middleware::{Next, from_fn};
    use axum::response::{IntoResponse, Response};
    use bessemer_apiserver::ApiServer;

    use super::*;

    /// The embedded API for an account that may do nothing of `denied` with namespaces.
    fn denying(api: Router, denied: &'static [Method]) -> Client {
        let forbidden = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}"#;
        let deny = move |request: Request, next: Next| async move {
            let refused: Response = (StatusCode::FORBIDDEN, forbidden).into_response();
            if denied.contains(request.method()) { refused } else { next.run(request).await }
        };
        Client::new(api.layer(from_fn(deny)), "default")
    }

    #[tokio::test]
    async fn a_namespace_is_made_by_who_may_and_missed_in_words() {
        let dir = tempfile::tempdir().unwrap();
        let api = ApiServer::open(dir.path()).await.unwrap();
        let restricted = denying(api.router(), &[Method::POST]);
        let error = ensure(&restricted, "ours").await.unwrap_err().to_string();
        assert!(error.contains("not ours to make") && error.contains("kubectl create namespace ours"), "{error}");
        ensure(&denying(api.router(), &[Method::GET, Method::POST]), "ours").await.unwrap();

        let all = Client::new(api.router(), "default");
        ensure(&all, "ours").await.unwrap();
        // There now: neither asks to make it.
        ensure(&all, "ours").await.unwrap();
        ensure(&restricted, "ours").await.unwrap();
        ensure(&denying(api.router(), &[Method::GET]), "ours").await.unwrap();
    }
}
