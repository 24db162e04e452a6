//! What the outside may ask about hosts, answered from the Kubernetes API: which machine is which by the caches, then the
//! object itself as it is now.

use std::sync::Arc;

use bessemer_api::bessemer::{BootLease, HostRecord};
use bessemer_api::metal3::{BareMetalHost, ProvisioningState};
use bessemer_bmc::Address;
use bessemer_protocol::{BootId, HostId};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::boot::{AT_ONCE, Discovery, Ledger, Looks};
use crate::kubernetes::{Feed, Key};
use crate::metal3::baremetalhost::host_id;
use crate::site::{StartError, filled, sync_deadline};

/// Implements [`crate::outside::HostAuthority`] and [`crate::outside::BootDirectory`].
#[derive(Clone)]
pub struct Hosts {
    client: Client,
    hosts: Store<BareMetalHost>,
    records: Store<HostRecord>,
    leases: Store<BootLease>,
    ledger: Arc<Ledger>,
    looks: Arc<Looks>,
    line: Arc<Semaphore>,
    discovery: Option<Arc<Discovery>>,
    require_trusted_boot: bool,
}

/// Every host that claims this boot MAC.
pub(crate) fn hosts_with_mac(hosts: &Store<BareMetalHost>, mac: &str) -> Vec<Arc<BareMetalHost>> {
    let claims = |host: &BareMetalHost| {
        host.spec.boot_mac_address.as_deref().is_some_and(|boot_mac| boot_mac.eq_ignore_ascii_case(mac))
    };
    hosts.state_filter(claims)
}

/// The server behind a host's BMC address, however that is spoken to: name, port, and the system at it.
pub(crate) fn server(host: &BareMetalHost) -> Option<(String, u16, Option<String>)> {
    let address: Address = host.spec.bmc.as_ref()?.address.parse().ok()?;
    Some((address.host().to_owned(), address.port(), address.system().map(str::to_owned)))
}

/// Every host with this server.
pub(crate) fn hosts_with_server(
    hosts: &Store<BareMetalHost>,
    wanted: &(String, u16, Option<String>),
) -> Vec<Arc<BareMetalHost>> {
    hosts.state_filter(|host| server(host).as_ref() == Some(wanted))
}

pub(crate) fn is_registered(host: &BareMetalHost) -> bool {
    let state = host.status.as_ref().map(|status| status.provisioning.state).unwrap_or_default();
    !matches!(state, ProvisioningState::None | ProvisioningState::Unmanaged | ProvisioningState::Registering)
}

/// Addresses that software makes up: those of BMCs' USB network cards are the same in every server of a kind.
fn is_locally_administered(mac: &str) -> bool {
    mac.get(..2).and_then(|octet| u8::from_str_radix(octet, 16).ok()).is_none_or(|octet| octet & 2 != 0)
}

fn has_nic(host: &BareMetalHost, mac: &str) -> bool {
    let hardware = host.status.as_ref().and_then(|status| status.hardware.as_ref());
    hardware.is_some_and(|hardware| {
        hardware.nics.iter().filter_map(|nic| nic.mac.as_deref()).any(|nic| nic.eq_ignore_ascii_case(mac))
    })
}

impl Hosts {
    /// For a boot server without controllers: starts watching, until `shutdown`, what it is asked about and nothing else,
    /// and waits until it is known. It runs near the machines, with few rights: those that docs/boot.md gives it.
    ///
    /// # Errors
    /// [`StartError`] when that takes too long.
    pub async fn watch(client: Client, shutdown: CancellationToken) -> Result<Self, StartError> {
        macro_rules! feed {
            () => {
                Feed::start(Api::all(client.clone()), watcher::Config::default(), |_| {}, shutdown.clone())
            };
        }
        let (hosts, records, leases) = (feed!(), feed!(), feed!());
        let deadline = sync_deadline();
        filled(&hosts, deadline).await?;
        filled(&records, deadline).await?;
        filled(&leases, deadline).await?;
        Ok(Self::new(client, hosts.store(), records.store(), leases.store()))
    }

    pub(crate) fn new(
        client: Client,
        hosts: Store<BareMetalHost>,
        records: Store<HostRecord>,
        leases: Store<BootLease>,
    ) -> Self {
        Self {
            client,
            hosts,
            records,
            leases,
            ledger: Arc::default(),
            looks: Arc::default(),
            line: Arc::new(Semaphore::new(AT_ONCE)),
            discovery: None,
            require_trusted_boot: false,
        }
    }

    /// The same, and machines that no BareMetalHost knows are learnt about: they boot the ramdisk without any secret, and
    /// what they report lies in `namespace`. Clones share what they know.
    #[must_use]
    pub fn discovering(self, namespace: impl Into<String>) -> Self {
        Self { discovery: Some(Arc::new(Discovery::new(namespace.into()))), ..self }
    }

    /// The same, and bootstrap data is withheld from a host that anybody on the boot network could have given another
    /// system ([`crate::BootSettings::require_trusted_boot`]).
    #[must_use]
    pub fn requiring_trusted_boot(self) -> Self {
        Self { require_trusted_boot: true, ..self }
    }

    pub(crate) fn requires_trusted_boot(&self) -> bool {
        self.require_trusted_boot
    }

    pub(crate) fn discovery(&self) -> Option<&Discovery> {
        self.discovery.as_deref()
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn looks(&self) -> &Looks {
        &self.looks
    }

    /// Where machines without an address wait for their turn.
    pub(crate) fn line(&self) -> &Semaphore {
        &self.line
    }

    pub(crate) fn hosts_where(&self, is: impl Fn(&BareMetalHost) -> bool) -> Vec<Arc<BareMetalHost>> {
        self.hosts.state_filter(is)
    }

    pub(crate) fn cached(&self, key: &Key) -> Option<Arc<BareMetalHost>> {
        self.hosts.get(&ObjectRef::new(&key.name).within(&key.namespace))
    }

    /// The host with this MAC: its boot MAC, or one of a NIC that was found in it. None if it cannot be told: when
    /// several claim a boot MAC, the only one that is registered has it, as none is registered while another has its MAC;
    /// a NIC found in several hosts is in none.
    pub(crate) fn key_of_mac(&self, mac: &str) -> Option<Key> {
        let mut hosts = hosts_with_mac(&self.hosts, mac);
        if hosts.len() > 1 {
            hosts.retain(|host| is_registered(host));
        } else if hosts.is_empty() && !is_locally_administered(mac) {
            hosts = self.hosts.state_filter(|host| has_nic(host, mac));
        }
        match hosts.as_slice() {
            [host] => Some(Key::of(host.as_ref())),
            _ => None,
        }
    }

    pub(crate) fn cached_lease(&self, key: &Key) -> Option<Arc<BootLease>> {
        self.leases.get(&ObjectRef::new(&key.name).within(&key.namespace))
    }

    /// Leases of this MAC, in any subnet.
    pub(crate) fn leases_of(&self, mac: &str) -> Vec<Arc<BootLease>> {
        self.leases.state_filter(|lease| lease.spec.mac == mac)
    }

    /// Leases of any MAC of this host.
    pub(crate) fn leases_of_host(&self, key: &Key) -> Vec<Arc<BootLease>> {
        let of_host = |lease: &BootLease| {
            lease.spec.host.as_ref() == Some(&key.name) && lease.namespace().as_ref() == Some(&key.namespace)
        };
        self.leases.state_filter(of_host)
    }

    pub(crate) fn leases_where(&self, is: impl Fn(&BootLease) -> bool) -> Vec<Arc<BootLease>> {
        self.leases.state_filter(is)
    }

    /// Whether this MAC is of any host, even if it cannot be told of which one.
    pub(crate) fn is_claimed(&self, mac: &str) -> bool {
        !hosts_with_mac(&self.hosts, mac).is_empty()
            || (!is_locally_administered(mac) && self.hosts.find(|host| has_nic(host, mac)).is_some())
    }

    pub(crate) fn cached_record(&self, key: &Key) -> Option<Arc<HostRecord>> {
        self.records.get(&ObjectRef::new(&key.name).within(&key.namespace))
    }

    pub(crate) fn key_of_host(&self, id: HostId) -> Option<Key> {
        self.hosts.find(|host| host_id(host) == Some(id)).map(|host| Key::of(host.as_ref()))
    }

    pub(crate) fn key_of_boot(&self, boot: BootId) -> Option<Key> {
        let id = boot.to_string();
        let record = self.records.find(|record| {
            record.status.as_ref().and_then(|status| status.boot.as_ref()).is_some_and(|boot| boot.id == id)
        })?;
        Some(Key::of(record.as_ref()))
    }

    /// Both objects as they are now.
    pub(crate) async fn read(&self, key: &Key) -> Result<(Option<BareMetalHost>, Option<HostRecord>), kube::Error> {
        let hosts: Api<BareMetalHost> = Api::namespaced(self.client.clone(), &key.namespace);
        let records: Api<HostRecord> = Api::namespaced(self.client.clone(), &key.namespace);
        futures::try_join!(hosts.get_opt(&key.name), records.get_opt(&key.name))
    }
}

#[cfg(test)]
mod tests {
    use bessemer_api::metal3::BmcDetails;

    use super::*;

    #[test]
    fn one_server_is_one_however_it_is_spoken_to() {
        let of = |address: &str| {
            let mut host = BareMetalHost::new("h", Default::default());
            host.spec.bmc = Some(BmcDetails { address: address.to_owned(), ..BmcDetails::default() });
            server(&host)
        };
        let first = of("redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1");
        assert!(first.is_some());
        for (address, same) in [
            ("redfish://10.0.0.1/redfish/v1/Systems/1", true),
            ("redfish://10.0.0.1/redfish/v1/Systems/2", false),
            ("redfish://10.0.0.2/redfish/v1/Systems/1", false),
            ("redfish://10.0.0.1:8443/redfish/v1/Systems/1", false),
            ("nonsense://", false),
        ] {
            assert_eq!(of(address) == first, same, "{address}");
        }
    }
}
