//! Metal3's kinds that are stored and validated, but that nobody acts on yet. Whoever writes such an object is told so
//! in its status, not left waiting. This room must not know what acting on them would mean.
//!
//! Where it is said: in the kind's main condition, `False` for the reason `NotImplemented`; where the status has no
//! conditions, in its error message; where the status has no place either, in the annotation
//! [`NOT_IMPLEMENTED_ANNOTATION`]. Kinds that carry data for others and are reconciled nowhere (HardwareData,
//! FirmwareSchema, IPAddress, the templates of clusters, machines and remediations) say nothing.

mod decide;
mod kinds;

use bessemer_api::infrastructure::{Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Remediation};
use bessemer_api::ipam_metal3::{IpClaim, IpPool};
use bessemer_api::metal3::{
    BareMetalSwitch, BmcEventSubscription, DataImage, HostClaim, HostDeployPolicy, HostFirmwareComponents,
    HostFirmwareSettings, HostNetworkAttachment, HostUpdatePolicy, PreprovisioningImage,
};
#[cfg(doc)]
use bessemer_api::well_known::NOT_IMPLEMENTED_ANNOTATION;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use kube::runtime::controller::Action;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::{Controller, watcher};
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;

use crate::kubernetes::{Key, ReconcileError, Reconciler, drive, write};
use crate::site::Group;
use decide::decide;
use kinds::Unserved;

/// Tells of one kind that nobody acts on it.
struct UnservedReconciler<K: Unserved> {
    client: Client,
    store: Store<K>,
}

impl<K: Unserved> Reconciler for UnservedReconciler<K> {
    async fn reconcile(&self, key: &Key) -> Result<Action, ReconcileError> {
        let Some(seen) = self.store.get(&ObjectRef::new(&key.name).within(&key.namespace)) else {
            return Ok(Action::await_change());
        };
        let api: Api<K> = Api::namespaced(self.client.clone(), &key.namespace);
        write(&api, seen.as_ref(), &decide(seen.as_ref(), Timestamp::now())).await?;
        Ok(Action::await_change())
    }
}

fn controller<K: Unserved>(name: &'static str, client: &Client, stop: &CancellationToken) -> BoxFuture<'static, ()> {
    let controller = Controller::new(Api::<K>::all(client.clone()), watcher::Config::default());
    let reconciler = UnservedReconciler { client: client.clone(), store: controller.store() };
    drive(name, controller, reconciler, stop.clone()).boxed()
}

/// One controller for each of these kinds, with the group it is switched on and off with.
pub(crate) fn controllers(client: &Client, stop: &CancellationToken) -> Vec<(Group, BoxFuture<'static, ()>)> {
    macro_rules! controllers {
        ($($group:ident: $($kind:ident),*;)*) => {
            vec![$($((Group::$group, controller::<$kind>(stringify!($kind), client, stop)),)*)*]
        };
    }
    controllers! {
        Metal3: HostFirmwareSettings, HostFirmwareComponents, HostUpdatePolicy, PreprovisioningImage,
            BmcEventSubscription, DataImage, BareMetalSwitch, HostNetworkAttachment, HostClaim, HostDeployPolicy;
        Infrastructure: Metal3DataTemplate, Metal3DataClaim, Metal3Data, Metal3Remediation, IpPool, IpClaim;
    }
}
