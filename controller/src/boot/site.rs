//! The agents' CA and token key, kept in a Secret and made once.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, anyhow};
use bessemer_agents::{SiteAuthority, SiteSecret};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, PostParams};
use kube::{Client, core::ObjectMeta};

use crate::namespace;

/// Where the controller keeps what is its own.
pub(crate) const NAMESPACE: &str = "bessemer-system";

const SECRET: &str = "bessemer-agents-ca";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const TOKEN_KEY: &str = "token.key";
/// Other CAs that are trusted as well, while the CA is being replaced; may be absent.
const ALSO_TRUSTED: &str = "ca.crt";

/// How long the API may take for one of these calls.
const DEADLINE: Duration = Duration::from_secs(10);

/// Makes the controller's namespace and reads the site's secrets, or makes them at the first start.
pub(crate) async fn open(client: &Client) -> anyhow::Result<SiteAuthority> {
    let work = async {
        namespace::ensure(client, NAMESPACE).await?;
        let secret = load_or_create(client).await.with_context(|| format!("secret {NAMESPACE}/{SECRET}"))?;
        SiteAuthority::open(&secret).with_context(|| format!("secret {NAMESPACE}/{SECRET}"))
    };
    tokio::time::timeout(DEADLINE, work).await.context("the Kubernetes API does not answer")?
}

async fn load_or_create(client: &Client) -> anyhow::Result<SiteSecret> {
    let secrets = Api::<Secret>::namespaced(client.clone(), NAMESPACE);
    if let Some(found) = secrets.get_opt(SECRET).await? {
        return read(&found);
    }
    let made = SiteSecret::generate(time::OffsetDateTime::now_utc())?;
    match secrets.create(&PostParams::default(), &write(&made)).await {
        Ok(_) => {
            tracing::info!(secret = %format_args!("{NAMESPACE}/{SECRET}"), "made this site's CA for agents");
            Ok(made)
        }
        // Somebody was faster: theirs counts.
        Err(kube::Error::Api(status)) if status.is_already_exists() => read(&secrets.get(SECRET).await?),
        Err(error) => Err(error.into()),
    }
}

fn write(site: &SiteSecret) -> Secret {
    let mut data = vec![
        (CERTIFICATE, site.certificate_pem.clone().into_bytes()),
        (KEY, site.key_pem.clone().into_bytes()),
        (TOKEN_KEY, site.token_key.clone()),
    ];
    if !site.also_trusted_pem.is_empty() {
        data.push((ALSO_TRUSTED, site.also_trusted_pem.clone().into_bytes()));
    }
    Secret {
        metadata: ObjectMeta {
            name: Some(SECRET.to_owned()),
            namespace: Some(NAMESPACE.to_owned()),
            // Agents that are out there trust this CA: it moves with the hosts.
            labels: Some(BTreeMap::from([("clusterctl.cluster.x-k8s.io/move".to_owned(), String::new())])),
            ..ObjectMeta::default()
        },
        data: Some(data.into_iter().map(|(name, value)| (name.to_owned(), ByteString(value))).collect()),
        type_: Some("Opaque".to_owned()),
        ..Secret::default()
    }
}

fn read(secret: &Secret) -> anyhow::Result<SiteSecret> {
    let bytes = |name: &str| {
        let value = secret.data.as_ref().and_then(|data| data.get(name));
        value.map(|value| value.0.clone()).ok_or_else(|| anyhow!("has no {name}; delete it to have it made anew"))
    };
    let text = |name: &str| String::from_utf8(bytes(name)?).map_err(|_| anyhow!("{name} is no text"));
    let also_trusted_pem = match bytes(ALSO_TRUSTED) {
        Ok(_) => text(ALSO_TRUSTED)?,
        Err(_) => String::new(),
    };
    Ok(SiteSecret {
        certificate_pem: text(CERTIFICATE)?,
        key_pem: text(KEY)?,
        also_trusted_pem,
        token_key: bytes(TOKEN_KEY)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_survives_its_secret() {
        let mut site = SiteSecret::generate(time::OffsetDateTime::now_utc()).unwrap();
        assert_eq!(read(&write(&site)).unwrap(), site);
        site.also_trusted_pem = "another CA".to_owned();
        assert_eq!(read(&write(&site)).unwrap(), site);
    }

    #[test]
    fn a_missing_part_is_named() {
        let mut secret = write(&SiteSecret::generate(time::OffsetDateTime::now_utc()).unwrap());
        secret.data.as_mut().unwrap().remove(KEY);
        assert_eq!(read(&secret).unwrap_err().to_string(), "has no tls.key; delete it to have it made anew");
    }
}
