//! The agents' CA and token key, kept in a Secret and made once; and what boot servers near the hosts may know of them, in
//! a Secret of its own that the controller keeps up to date.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, anyhow};
use bessemer_agents::{BootAuthority, SiteAuthority, SiteSecret};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, core::ObjectMeta};
use serde_json::json;

use crate::namespace;

/// Where the controller keeps what is its own.
pub(crate) const NAMESPACE: &str = "bessemer-system";

const SECRET: &str = "bessemer-agents-ca";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const TOKEN_KEY: &str = "token.key";
/// Other CAs that are trusted as well, while the CA is being replaced; may be absent.
const ALSO_TRUSTED: &str = "ca.crt";

/// For boot servers: [`ALSO_TRUSTED`] with every CA, and [`TOKEN_KEY`].
const BOOT_SECRET: &str = "bessemer-boot";

/// How long the API may take for one of these calls.
const DEADLINE: Duration = Duration::from_secs(10);

/// Makes the controller's namespace and reads the site's secrets, or makes them at the first start.
pub(crate) async fn open(client: &Client) -> anyhow::Result<SiteAuthority> {
    let work = async {
        namespace::ensure(client, NAMESPACE).await?;
        let secret = load_or_create(client).await.with_context(|| format!("secret {NAMESPACE}/{SECRET}"))?;
        let authority = SiteAuthority::open(&secret).with_context(|| format!("secret {NAMESPACE}/{SECRET}"))?;
        publish(client, &secret).await.with_context(|| format!("secret {NAMESPACE}/{BOOT_SECRET}"))?;
        Ok(authority)
    };
    tokio::time::timeout(DEADLINE, work).await.context("the Kubernetes API does not answer")?
}

/// What a boot server may know, as the controller wrote it. Makes nothing: a new CA in the wrong cluster would be trusted
/// by nobody and noticed late.
pub(crate) async fn open_for_boot(client: &Client) -> anyhow::Result<BootAuthority> {
    let work = async {
        let found = Api::<Secret>::namespaced(client.clone(), NAMESPACE).get_opt(BOOT_SECRET).await?;
        let secret = found
            .ok_or_else(|| anyhow!("is not there: the controller writes it when it starts; is this its cluster?"))?;
        let part = |name| part(&secret, name);
        let trusted = String::from_utf8(part(ALSO_TRUSTED)?).map_err(|_| anyhow!("{ALSO_TRUSTED} is no text"))?;
        anyhow::Ok(BootAuthority::open(&trusted, &part(TOKEN_KEY)?)?)
    };
    let opened = tokio::time::timeout(DEADLINE, work).await.context("the Kubernetes API does not answer")?;
    opened.with_context(|| format!("secret {NAMESPACE}/{BOOT_SECRET}"))
}

/// Writes what boot servers may know, where it is not so already.
async fn publish(client: &Client, site: &SiteSecret) -> anyhow::Result<()> {
    let secrets = Api::<Secret>::namespaced(client.clone(), NAMESPACE);
    let trusted = site.trusted_pem().into_bytes();
    let wanted = secret(BOOT_SECRET, vec![(ALSO_TRUSTED, trusted), (TOKEN_KEY, site.token_key.clone())]);
    match secrets.create(&PostParams::default(), &wanted).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        result => return Ok(result.map(drop)?),
    }
    if secrets.get(BOOT_SECRET).await?.data != wanted.data {
        secrets.patch(BOOT_SECRET, &PatchParams::default(), &Patch::Merge(json!({ "data": wanted.data }))).await?;
    }
    Ok(())
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
    secret(SECRET, data)
}

fn secret(name: &str, data: Vec<(&str, Vec<u8>)>) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
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

fn part(secret: &Secret, name: &str) -> anyhow::Result<Vec<u8>> {
    let value = secret.data.as_ref().and_then(|data| data.get(name));
    value.map(|value| value.0.clone()).ok_or_else(|| anyhow!("has no {name}; delete it to have it made anew"))
}

fn read(secret: &Secret) -> anyhow::Result<SiteSecret> {
    let bytes = |name: &str| part(secret, name);
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

    #[tokio::test(flavor = "multi_thread")]
    async fn a_boot_server_reads_what_the_controller_wrote_and_makes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let server = bessemer_apiserver::ApiServer::open(dir.path()).await.unwrap();
        let client = Client::new(server.router(), "default");
        let secrets = Api::<Secret>::namespaced(client.clone(), NAMESPACE);
        let error = format!("{:#}", open_for_boot(&client).await.unwrap_err());
        assert!(
            error.starts_with("secret bessemer-system/bessemer-boot: is not there: the controller writes it"),
            "{error}"
        );
        assert_eq!(secrets.list(&Default::default()).await.unwrap().items.len(), 0);

        let site = open(&client).await.unwrap();
        assert_eq!(open_for_boot(&client).await.unwrap().trusted_pem(), site.trusted_pem());
        let published = secrets.get(BOOT_SECRET).await.unwrap();
        assert!(!format!("{:?}", published.data).contains("PRIVATE") && published.data.unwrap().len() == 2);

        // The next CA is announced: boot servers hear of it when the controller starts again.
        let next = SiteSecret::generate(time::OffsetDateTime::now_utc()).unwrap().certificate_pem;
        let patch = json!({ "data": { ALSO_TRUSTED: ByteString(next.clone().into_bytes()) } });
        secrets.patch(SECRET, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
        open(&client).await.unwrap();
        assert!(open_for_boot(&client).await.unwrap().trusted_pem().ends_with(&next));
    }

    #[test]
    fn a_missing_part_is_named() {
        let mut secret = write(&SiteSecret::generate(time::OffsetDateTime::now_utc()).unwrap());
        secret.data.as_mut().unwrap().remove(KEY);
        assert_eq!(read(&secret).unwrap_err().to_string(), "has no tls.key; delete it to have it made anew");
    }
}
