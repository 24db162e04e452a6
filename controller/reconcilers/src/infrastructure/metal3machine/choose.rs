//! Which host a machine gets.

use std::sync::Arc;

use bessemer_api::infrastructure::Metal3Machine;
use bessemer_api::metal3::{BareMetalHost, ProvisioningState};
use bessemer_api::well_known::{HOST_DETACHED_ANNOTATION, HOST_PAUSED_ANNOTATION, HOST_UNHEALTHY_ANNOTATION};
use kube::ResourceExt;

use crate::kubernetes::is_deleting;

/// A host for the machine, or why there is none. `seed` from 0 to 1 picks among equals.
pub(super) fn choose(
    machine: &Metal3Machine,
    hosts: &[Arc<BareMetalHost>],
    seed: f64,
) -> Result<BareMetalHost, String> {
    let labels = machine.spec.host_selector.as_ref().map(|selector| &selector.match_labels);
    let matches = |host: &&Arc<BareMetalHost>| {
        labels.is_none_or(|labels| labels.iter().all(|(key, value)| host.labels().get(key) == Some(value)))
    };
    let matching: Vec<&Arc<BareMetalHost>> = hosts.iter().filter(matches).collect();
    let mut free: Vec<&Arc<BareMetalHost>> = matching.iter().copied().filter(|host| is_free(host)).collect();
    free.sort_by_key(|host| host.name_any());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a seed times a count of hosts")]
    let at = (seed.clamp(0.0, 1.0) * free.len() as f64) as usize;
    match free.get(at.min(free.len().saturating_sub(1))) {
        Some(host) => Ok(host.as_ref().clone()),
        None => Err(none_free(&matching)),
    }
}

/// May be claimed by anybody.
pub(super) fn is_free(host: &BareMetalHost) -> bool {
    let status = host.status.clone().unwrap_or_default();
    let annotations = host.annotations();
    let barred = [HOST_PAUSED_ANNOTATION, HOST_DETACHED_ANNOTATION, HOST_UNHEALTHY_ANNOTATION];
    host.spec.consumer_ref.is_none()
        && host.spec.image.is_none()
        && !is_deleting(host)
        && status.error_message.is_empty()
        && status.provisioning.state == ProvisioningState::Available
        && !barred.iter().any(|key| annotations.contains_key(*key))
}

fn none_free(matching: &[&Arc<BareMetalHost>]) -> String {
    let count = |which: &dyn Fn(&BareMetalHost) -> bool| matching.iter().filter(|host| which(host)).count();
    let taken = count(&|host| host.spec.consumer_ref.is_some());
    let state = |host: &BareMetalHost| host.status.as_ref().map(|status| status.provisioning.state).unwrap_or_default();
    let failed = count(&|host| {
        host.spec.consumer_ref.is_none() && host.status.as_ref().is_some_and(|status| !status.error_message.is_empty())
    });
    let coming = count(&|host| {
        matches!(state(host), ProvisioningState::Registering | ProvisioningState::Inspecting | ProvisioningState::None)
    });
    format!(
        "cannot claim: {} hosts match, {taken} are taken, 0 available; {coming} are being registered or inspected, \
         {failed} show an error",
        matching.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, change: impl FnOnce(&mut BareMetalHost)) -> Arc<BareMetalHost> {
        let mut host = BareMetalHost::new(name, Default::default());
        host.status.get_or_insert_default().provisioning.state = ProvisioningState::Available;
        host.labels_mut().insert("rack".to_owned(), "r7".to_owned());
        change(&mut host);
        Arc::new(host)
    }

    #[test]
    fn only_free_and_healthy_hosts_are_chosen() {
        let hosts = [
            host("taken", |host| host.spec.consumer_ref = Some(Default::default())),
            host("written", |host| host.spec.image = Some(Default::default())),
            host("inspecting", |host| host.status.as_mut().unwrap().provisioning.state = ProvisioningState::Inspecting),
            host("failed", |host| host.status.as_mut().unwrap().error_message = "broken".to_owned()),
            host("paused", |host| {
                drop(host.annotations_mut().insert(HOST_PAUSED_ANNOTATION.to_owned(), String::new()))
            }),
            host("sick", |host| {
                drop(host.annotations_mut().insert(HOST_UNHEALTHY_ANNOTATION.to_owned(), String::new()))
            }),
        ];
        let machine = Metal3Machine::new("m", Default::default());
        let message = choose(&machine, &hosts, 0.5).unwrap_err();
        assert!(message.starts_with("cannot claim: 6 hosts match, 1 are taken, 0 available; 1 are being"), "{message}");
        let free = [hosts.to_vec(), vec![host("free", |_| {})]].concat();
        for seed in [0.0, 0.3, 1.0] {
            assert_eq!(choose(&machine, &free, seed).unwrap().name_any(), "free");
        }
    }

    #[test]
    fn the_selector_and_the_seed_decide() {
        let hosts = [host("a", |_| {}), host("b", |host| host.labels_mut().clear()), host("c", |_| {})];
        let mut machine = Metal3Machine::new("m", Default::default());
        machine.spec.host_selector.get_or_insert_default().match_labels.insert("rack".to_owned(), "r7".to_owned());
        assert_eq!(choose(&machine, &hosts, 0.0).unwrap().name_any(), "a");
        assert_eq!(choose(&machine, &hosts, 0.99).unwrap().name_any(), "c");
    }
}
