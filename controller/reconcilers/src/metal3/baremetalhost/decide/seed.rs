//! From a host and what its Secrets hold to what the installed system finds on its disk.

use bessemer_api::metal3::BareMetalHost;
use bessemer_api::well_known::BOOTSTRAP_DELIVERY_ANNOTATION;
use bessemer_protocol::{BootstrapDelivery, Seed, SeedLayout};
use kube::ResourceExt;
use serde_json::{Map, Value};

use super::super::observed::{claim, host_id};
use super::super::seed_data::SeedData;

/// The only format that the agent carries out.
const CLOUD_CONFIG: &str = "cloud-config";

/// The seed, or what is wrong with what the host's owner says.
pub(super) fn seed(host: &BareMetalHost, data: &SeedData) -> Result<Seed, String> {
    let delivery = delivery(host, data)?;
    let mut meta_data = defaults(host);
    meta_data.extend(data.meta_data.clone());
    let named = ["local-hostname", "local_hostname"].iter().find_map(|key| data.meta_data.get(*key)?.as_str());
    let hostname = named.filter(|name| !name.is_empty()).map_or_else(|| host.name_any(), str::to_owned);
    let user_data = data.user_data.as_ref().filter(|_| delivery == BootstrapDelivery::CloudInit);
    Ok(Seed {
        hostname,
        instance_id: claim(host).or_else(|| host_id(host).map(|id| id.to_string())).unwrap_or_default(),
        delivery,
        layout: SeedLayout::ConfigDrive,
        user_data: user_data.map(|data| data.text.clone()),
        meta_data,
        network_data: data.network_data.clone(),
        vendor_data: None,
    })
}

/// The metadata that Metal3 gives every host, which templates rely on.
fn defaults(host: &BareMetalHost) -> Map<String, Value> {
    let (name, namespace) = (host.name_any(), host.namespace().unwrap_or_default());
    let uid = host.metadata.uid.clone().unwrap_or_default();
    let list = [
        ("uuid", uid),
        ("metal3-namespace", namespace),
        ("metal3-name", name.clone()),
        ("local-hostname", name.clone()),
        ("local_hostname", name.clone()),
        ("name", name),
    ];
    list.into_iter().filter(|(_, value)| !value.is_empty()).map(|(key, value)| (key.to_owned(), value.into())).collect()
}

/// Who carries out the user data. Unless somebody says so: our agent for a machine of a cluster, and what the image brings
/// for all else, as the agent may fetch it only for a Metal3Machine.
fn delivery(host: &BareMetalHost, data: &SeedData) -> Result<BootstrapDelivery, String> {
    let claimed = claim(host).is_some();
    let format = data.user_data.as_ref().map_or(CLOUD_CONFIG, |data| data.format.as_str());
    let asked = host.annotations().get(BOOTSTRAP_DELIVERY_ANNOTATION).map(String::as_str);
    match asked {
        None if claimed && format == CLOUD_CONFIG => Ok(BootstrapDelivery::Agent),
        None | Some("cloud-init") => Ok(BootstrapDelivery::CloudInit),
        Some("agent") if format != CLOUD_CONFIG => Err(format!(
            "annotation {BOOTSTRAP_DELIVERY_ANNOTATION} is agent, but the bootstrap data is {format}, and the agent carries \
             out only cloud-config: remove the annotation, so that the image's own {format} finds it, or change the \
             bootstrap's format"
        )),
        Some("agent") if !claimed => Err(format!(
            "annotation {BOOTSTRAP_DELIVERY_ANNOTATION} is agent, but no Metal3Machine has claimed the host, and the agent \
             fetches data only for one: remove the annotation"
        )),
        Some("agent") => Ok(BootstrapDelivery::Agent),
        Some(other) => {
            Err(format!("annotation {BOOTSTRAP_DELIVERY_ANNOTATION} is {other:?}; it may be agent or cloud-init"))
        }
    }
}
