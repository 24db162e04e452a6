//! What is known of one host at one moment.

use bessemer_api::bessemer::HostRecordStatus;
use bessemer_api::metal3::{BareMetalHost, BareMetalHostStatus};
use bessemer_bmc::{Address, BootVia};
use bessemer_protocol::{BootId, HostId, NetworkConfig, WorkId};
use jiff::Timestamp;
use kube::ResourceExt;

use super::effect::BmcFailure;
use super::seed_data::SeedData;
use crate::outside::AgentView;
use crate::settings::BootSettings;

/// What is known of one host at one moment; all that decisions may depend on.
#[derive(Debug, Clone)]
pub(crate) struct Observed {
    pub(crate) host: BareMetalHost,
    /// None when there is no HostRecord yet.
    pub(crate) record: Option<HostRecordStatus>,
    pub(crate) credentials: CredentialsView,
    pub(crate) power: PowerView,
    pub(crate) agent: AgentView,
    /// What its Secrets hold for the installed system, read while it is being provisioned; or what is wrong with them.
    pub(crate) seed_data: Result<SeedData, String>,
    /// The ramdisk's network, or what is wrong with what the host's Secret says of it; none for DHCP.
    pub(crate) ramdisk_network: Result<Option<NetworkConfig>, String>,
    /// Another host with the same boot MAC address, as `<namespace>/<name>`.
    pub(crate) mac_twin: Option<String>,
    /// Another host with the same server behind its BMC's address, as `<namespace>/<name>`.
    pub(crate) bmc_twin: Option<String>,
    /// Since when this controller runs: before, it could not hear any agent.
    pub(crate) started: Timestamp,
    /// How this site boots its hosts.
    pub(crate) boot: BootSettings,
    pub(crate) seed: Seed,
}

/// The Secret with the BMC's credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CredentialsView {
    /// The host has no BMC details.
    NoBmc,
    /// There are none to use.
    Missing {
        /// Why, and what to do.
        why: String,
    },
    /// Ready to be used.
    Found {
        /// resourceVersion of the Secret.
        version: String,
        /// Whether it carries the label that our watch selects.
        labelled: bool,
    },
}

/// The server's power.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PowerView {
    /// Nobody asked.
    Unknown,
    /// As the BMC said.
    Known { on: bool, at: Timestamp },
    /// The BMC could not be asked.
    Failed(BmcFailure),
}

/// Fresh random values, so that decisions need none of their own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seed {
    pub(crate) host: HostId,
    pub(crate) boot: BootId,
    pub(crate) work: WorkId,
    pub(crate) jitter: f64,
}

impl Seed {
    pub(crate) fn fresh(jitter: f64) -> Self {
        Self { host: HostId::random(), boot: BootId::random(), work: WorkId::random(), jitter }
    }
}

impl Observed {
    pub(crate) fn status(&self) -> BareMetalHostStatus {
        self.host.status.clone().unwrap_or_default()
    }
}

/// The id that a host carries.
pub(crate) fn host_id(host: &BareMetalHost) -> Option<HostId> {
    host.annotations().get(bessemer_api::well_known::HOST_ID_ANNOTATION)?.parse().ok()
}

/// Whether the host gets its boot program from a drive that its BMC pretends, as the scheme of its address says.
pub(crate) fn boots_by_media(host: &BareMetalHost) -> bool {
    let address = host.spec.bmc.as_ref().and_then(|bmc| bmc.address.parse::<Address>().ok());
    address.is_some_and(|address| address.scheme().boots_via() == BootVia::VirtualMedia)
}

/// `<namespace>/<metal3machine>` of the host's consumer.
pub(crate) fn claim(host: &BareMetalHost) -> Option<String> {
    let consumer = host.spec.consumer_ref.as_ref()?;
    if consumer.kind.as_deref() != Some("Metal3Machine") {
        return None;
    }
    let namespace = consumer.namespace.clone().or_else(|| host.namespace())?;
    Some(format!("{namespace}/{}", consumer.name.as_deref()?))
}
