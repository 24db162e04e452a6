//! The rules of Metal3Machine.

use bessemer_api::cluster::{AddressKind, MachineAddress};
use bessemer_api::conditions::{self, Wanted, wanted};
use bessemer_api::infrastructure::{InfraInitialization, Metal3Machine};
use bessemer_api::metal3::{BareMetalHost, CleaningMode, Image, ProvisioningState};
use bessemer_api::well_known::{
    BOOTSTRAP_DELIVERY_ANNOTATION, CLUSTER_NAME_LABEL, HOST_ANNOTATION, METAL3_MACHINE_FINALIZER,
};
use bessemer_protocol::{NodeAddress, NodePhase, NodeReport};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, SecretReference};
use kube::ResourceExt;

use super::choose::{choose, is_free};
use super::observe::Observed;
use crate::cluster::{cluster_label, infrastructure_is_provisioned, is_paused};
use crate::infrastructure::provider_id;
use crate::kubernetes::{Key, is_deleting, time};
use crate::metal3::baremetalhost::node_phase;

/// Reason of `Ready` when the node role gave up.
const BOOTSTRAP_FAILED: &str = "BootstrapFailed";

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    /// The Metal3Machine as it shall be.
    pub(super) object: Metal3Machine,
    /// A host as it is and as it shall be; written after the object.
    pub(super) host: Option<(BareMetalHost, BareMetalHost)>,
}

/// What a Metal3Machine shall become next.
pub(super) fn decide(seen: &Observed, now: Timestamp) -> Decision {
    let mut decision = Decision { object: seen.object.clone(), host: None };
    if is_paused(&seen.object, seen.cluster.as_ref()) {
        return decision;
    }
    if is_deleting(&seen.object) {
        release(seen, &mut decision, now);
        return decision;
    }
    let finalizers = decision.object.finalizers_mut();
    if !finalizers.iter().any(|finalizer| finalizer == METAL3_MACHINE_FINALIZER) {
        finalizers.push(METAL3_MACHINE_FINALIZER.to_owned());
        return decision;
    }
    let associated = associate(seen, &mut decision);
    let ready = match &associated {
        Err(waits) => waits.clone(),
        Ok(host) => follow(seen, host, &mut decision.object),
    };
    let association = match associated {
        Ok(_) => wanted("AssociateBareMetalHost", true, "AssociateBareMetalHostSuccess", ""),
        Err(waits) => Wanted { type_: "AssociateBareMetalHost", ..waits },
    };
    show(&mut decision.object, [ready, association], now);
    decision
}

/// The machine's host: the one it has, or one that it claims now.
fn associate(seen: &Observed, decision: &mut Decision) -> Result<BareMetalHost, Wanted> {
    if let Some(host) = &seen.host {
        let name = format!("{}/{}", host.namespace().unwrap_or_default(), host.name_any());
        decision.object.annotations_mut().insert(HOST_ANNOTATION.to_owned(), name);
        return Ok(host.clone());
    }
    let wait = |reason: &str, message: String| wanted("Ready", false, reason, message);
    if decision.object.spec.provider_id.is_some() {
        return Err(wait("HostMissing", "its BareMetalHost is gone or was claimed by another".to_owned()));
    }
    let Some(machine) = &seen.machine else {
        return Err(wait("WaitingForMachineOwner", "no Machine owns it yet".to_owned()));
    };
    if !seen.cluster.as_ref().is_some_and(infrastructure_is_provisioned) {
        return Err(wait(
            "WaitingForClusterInfrastructureReady",
            "the cluster's infrastructure is not ready".to_owned(),
        ));
    }
    let Some(secret) = machine.spec.bootstrap.data_secret_name.clone() else {
        return Err(wait("WaitingForBootstrapReady", "the bootstrap data does not exist yet".to_owned()));
    };
    if seen.object.spec.image.is_none() {
        return Err(wait("ImageMissing", "spec.image is not set: set it in the Metal3MachineTemplate".to_owned()));
    }
    let host = match (&seen.intended, seen.object.annotations().contains_key(HOST_ANNOTATION)) {
        (Some(host), true) if is_free(host) => host.clone(),
        (_, true) => {
            // Lost to another: choose again, from a clean start.
            decision.object.annotations_mut().remove(HOST_ANNOTATION);
            return Err(wait("AssociatingBareMetalHost", "the chosen host was claimed by another".to_owned()));
        }
        (_, false) => {
            choose(&seen.object, &seen.hosts, seen.seed).map_err(|why| wait("AssociateBareMetalHostFailed", why))?
        }
    };
    let claimed = claimed(&seen.object, &host, secret);
    let name = format!("{}/{}", host.namespace().unwrap_or_default(), host.name_any());
    decision.object.annotations_mut().insert(HOST_ANNOTATION.to_owned(), name);
    decision.host = Some((host.clone(), claimed));
    Err(wait("AssociatingBareMetalHost", format!("host {} is being claimed", host.name_any())))
}

/// The host, claimed.
fn claimed(object: &Metal3Machine, host: &BareMetalHost, secret: String) -> BareMetalHost {
    let mut host = host.clone();
    host.spec.consumer_ref = Some(ObjectReference {
        api_version: Some(format!("{}/v1beta2", bessemer_api::infrastructure::GROUP)),
        kind: Some("Metal3Machine".to_owned()),
        name: Some(object.name_any()),
        namespace: object.namespace(),
        ..ObjectReference::default()
    });
    host.spec.image = object.spec.image.clone().map(|image| Image {
        url: image.url,
        checksum: image.checksum,
        checksum_type: image.checksum_type,
        format: image.disk_format,
        ..Image::default()
    });
    let own = |given: &Option<SecretReference>| {
        let given = given.clone().filter(|given| given.name.is_some())?;
        Some(SecretReference { namespace: given.namespace.or_else(|| object.namespace()), ..given })
    };
    host.spec.user_data = own(&object.spec.user_data)
        .or_else(|| Some(SecretReference { name: Some(secret), namespace: object.namespace() }));
    host.spec.meta_data = own(&object.spec.meta_data);
    host.spec.network_data = own(&object.spec.network_data);
    // What the host's owner says wins.
    if let Some(delivery) = object.annotations().get(BOOTSTRAP_DELIVERY_ANNOTATION) {
        host.annotations_mut().entry(BOOTSTRAP_DELIVERY_ANNOTATION.to_owned()).or_insert_with(|| delivery.clone());
    }
    host.spec.online = true;
    host.spec.automated_cleaning_mode = object.spec.automated_cleaning_mode.or(host.spec.automated_cleaning_mode);
    if let Some(cluster) = cluster_label(object) {
        host.labels_mut().insert(CLUSTER_NAME_LABEL.to_owned(), cluster.to_owned());
    }
    host
}

/// Passes on what becomes of the host.
fn follow(seen: &Observed, host: &BareMetalHost, object: &mut Metal3Machine) -> Wanted {
    let status = host.status.clone().unwrap_or_default();
    let name = host.name_any();
    if status.provisioning.state == ProvisioningState::Provisioned {
        object.spec.provider_id = Some(provider_id(&Key::of(host), &object.name_any()));
        let own = object.status.get_or_insert_default();
        own.initialization = Some(InfraInitialization { provisioned: Some(true) });
        // A controller that has just started has not heard the installed system yet: what it said before stands.
        if seen.node.is_some() || own.addresses.is_empty() {
            own.addresses = addresses(host, seen.node.as_ref());
        }
    }
    if let Some(kind) = status.error_type {
        return wanted("Ready", false, "HostError", format!("host {name}: {kind}: {}", status.error_message));
    }
    if let Some(NodePhase::Failed { step, cause, tail, log }) = seen.node.as_ref().map(|node| &node.phase) {
        let output = if tail.is_empty() { String::new() } else { format!("; last output:\n{}", tail.join("\n")) };
        let output = match log {
            Some(path) => format!("{output}\nall of it is in {path} on the host"),
            None => output,
        };
        return wanted("Ready", false, BOOTSTRAP_FAILED, format!("host {name}: {step} failed: {cause}{output}"));
    }
    if status.provisioning.state == ProvisioningState::Provisioned
        && seen.node.is_none()
        && let Some(failed) = object.status.as_ref().and_then(|own| conditions::get(&own.conditions, "Ready"))
        && failed.reason == BOOTSTRAP_FAILED
    {
        return wanted("Ready", false, BOOTSTRAP_FAILED, failed.message.clone());
    }
    match status.provisioning.state {
        // Changes here wake the Machine, which looks for the Node at once when bootstrapping is done.
        ProvisioningState::Provisioned => {
            let phase = seen.node.as_ref().map(|node| &node.phase).filter(|phase| **phase != NodePhase::Done);
            let message = phase.map_or_else(String::new, |phase| format!("host {name}: {}", node_phase(phase)));
            wanted("Ready", true, "Ready", message)
        }
        state => {
            let progress =
                conditions::get(&status.conditions, "Progressing").map(|condition| condition.message.clone());
            let progress =
                progress.filter(|text| !text.is_empty()).map_or_else(String::new, |text| format!(": {text}"));
            wanted("Ready", false, "Provisioning", format!("host {name} is {state}{progress}"))
        }
    }
}

/// As the installed system sees them; before it speaks, as the ramdisk saw them.
fn addresses(host: &BareMetalHost, node: Option<&NodeReport>) -> Vec<MachineAddress> {
    let address = |kind: AddressKind, address: &str| MachineAddress { kind, address: address.to_owned() };
    let reported = |found: &NodeAddress| Some(address(AddressKind::from_word(&found.kind)?, &found.address));
    let mut list: Vec<MachineAddress> = match node {
        Some(node) => node.addresses.iter().filter_map(reported).collect(),
        None => {
            let hardware = host.status.as_ref().and_then(|status| status.hardware.as_ref());
            let nics = hardware.map(|hardware| hardware.nics.as_slice()).unwrap_or_default();
            let known = nics.iter().filter_map(|nic| nic.ip.as_deref()).filter(|ip| !ip.is_empty());
            known.map(|ip| address(AddressKind::InternalIP, ip)).collect()
        }
    };
    for kind in [AddressKind::Hostname, AddressKind::InternalDNS] {
        let own = address(kind, &host.name_any());
        if !list.contains(&own) {
            list.push(own);
        }
    }
    let mut seen: Vec<MachineAddress> = Vec::new();
    list.retain(|address| {
        let fresh = !seen.contains(address);
        seen.push(address.clone());
        fresh
    });
    list
}

/// Gives the host back, waits until it is erased and runs nothing of ours any more, and lets go.
fn release(seen: &Observed, decision: &mut Decision, now: Timestamp) {
    let let_go = |object: &mut Metal3Machine| {
        object.finalizers_mut().retain(|finalizer| finalizer != METAL3_MACHINE_FINALIZER);
    };
    let Some(host) = seen.host.as_ref().filter(|host| !is_deleting(*host)) else {
        let_go(&mut decision.object);
        return;
    };
    let mut after = host.clone();
    after.spec.image = None;
    after.spec.user_data = None;
    after.spec.meta_data = None;
    after.spec.network_data = None;
    if let Some(ours) = seen.object.annotations().get(BOOTSTRAP_DELIVERY_ANNOTATION) {
        after.annotations_mut().retain(|key, value| key != BOOTSTRAP_DELIVERY_ANNOTATION || value != ours);
    }
    after.spec.automated_cleaning_mode = seen.object.spec.automated_cleaning_mode.or(host.spec.automated_cleaning_mode);
    // It stays in the ramdisk, so that the next deployment needs no POST; as CAPM3 with its fast track.
    after.spec.online = after.spec.automated_cleaning_mode != Some(CleaningMode::Disabled);
    let status = host.status.clone().unwrap_or_default();
    let runs = matches!(
        status.provisioning.state,
        ProvisioningState::Provisioning | ProvisioningState::Provisioned | ProvisioningState::Deprovisioning
    );
    if host.spec.image.is_none() && !runs {
        after.spec.consumer_ref = None;
        after.labels_mut().remove(CLUSTER_NAME_LABEL);
    } else {
        let message = format!("host {} is being taken back", host.name_any());
        show(&mut decision.object, [wanted("Ready", false, "Deleting", message)], now);
    }
    decision.host = Some((host.clone(), after));
}

fn show(object: &mut Metal3Machine, list: impl IntoIterator<Item = Wanted>, now: Timestamp) {
    let generation = object.metadata.generation;
    let before = object.status.clone().unwrap_or_default();
    let status = object.status.get_or_insert_default();
    for condition in list {
        conditions::set(&mut status.conditions, condition, generation, time(now));
    }
    if *status != before || status.last_updated.is_none() {
        status.last_updated = Some(time(now));
    }
}
