//! Tables of what is seen of a control plane and what is decided.

use bessemer_api::cluster::{ApiEndpoint, Cluster};
use bessemer_api::conditions::get;
use bessemer_api::infrastructure::Metal3MachineTemplate;

use super::*;

fn seen() -> Observed {
    let mut object = KubeadmControlPlane::new("cp", Default::default());
    object.finalizers_mut().push(CONTROL_PLANE_FINALIZER.to_owned());
    object.spec.replicas = Some(1);
    object.spec.version = "v1.36.3".to_owned();
    let mut cluster = Cluster::new("c", Default::default());
    cluster.spec.control_plane_endpoint = Some(ApiEndpoint::new("10.0.0.1", 6443));
    cluster.status.get_or_insert_default().initialization.get_or_insert_default().infrastructure_provisioned =
        Some(true);
    Observed {
        object,
        cluster: Some(cluster),
        template: Some(Metal3MachineTemplate::default()),
        missing: Vec::new(),
        kubeconfig: true,
        machines: Vec::new(),
        begun: None,
        serves: Serves::NotYet,
        seed: "abcde".to_owned(),
    }
}

fn machine(ready: bool) -> Machine {
    let mut machine = Machine::new("cp-abcde", Default::default());
    machine.spec.version = Some("v1.36.3".to_owned());
    let status = machine.status.get_or_insert_default();
    for type_ in ["Ready", "Available"] {
        conditions::set(&mut status.conditions, wanted(type_, ready, "R", ""), None, time(Timestamp::UNIX_EPOCH));
    }
    machine
}

#[test]
fn things_are_made_one_after_the_other() {
    type Change = fn(&mut Observed);
    let table: [(Change, Option<Make>); 7] = [
        (|seen| seen.missing = vec![Purpose::Etcd], Some(Make::Certificates(vec![Purpose::Etcd]))),
        (|seen| seen.kubeconfig = false, Some(Make::Kubeconfig { server: "https://10.0.0.1:6443".to_owned() })),
        (|_| {}, Some(Make::Machine { name: "cp-abcde".to_owned() })),
        (|seen| seen.begun = Some("cp-vwxyz".to_owned()), Some(Make::Machine { name: "cp-vwxyz".to_owned() })),
        (|seen| seen.machines = vec![machine(false)], None),
        (|seen| seen.template = None, None),
        (|seen| seen.cluster.as_mut().unwrap().status = None, None),
    ];
    for (at, (change, make)) in table.into_iter().enumerate() {
        let mut observed = seen();
        change(&mut observed);
        assert_eq!(decide(&observed, Timestamp::UNIX_EPOCH).make, make, "row {at}");
    }
}

#[test]
fn lost_cas_are_never_replaced() {
    let observed = Observed { missing: vec![Purpose::Cluster], machines: vec![machine(true)], ..seen() };
    let decision = decide(&observed, Timestamp::UNIX_EPOCH);
    assert_eq!(decision.make, None);
    let status = decision.object.status.unwrap();
    assert_eq!(
        get(&status.conditions, "CertificatesAvailable").unwrap().message,
        "the Secrets c-ca are gone: restore them"
    );
}

#[test]
fn available_needs_a_ready_machine_that_serves() {
    for (serves, ready, available) in
        [(Serves::Yes, true, "True"), (Serves::Yes, false, "False"), (Serves::No, true, "False")]
    {
        let observed = Observed { machines: vec![machine(ready)], serves, ..seen() };
        let decision = decide(&observed, Timestamp::UNIX_EPOCH);
        let status = decision.object.status.clone().unwrap();
        assert_eq!(get(&status.conditions, "Available").unwrap().status, available);
        let again = Observed { object: decision.object.clone(), ..observed };
        assert_eq!(decide(&again, Timestamp::MAX).object, decision.object, "a second pass changes nothing");
    }
}

#[test]
fn machines_show_whether_their_version_is_wanted() {
    type Change = fn(&mut Observed);
    let table: [(Change, Option<&str>); 5] = [
        (|_| {}, Some("True")),
        (|seen| seen.machines[0].spec.version = Some("v1.35.0".to_owned()), Some("False")),
        (|seen| seen.machines[0].spec.version = None, Some("False")),
        (|seen| seen.machines[0].metadata.deletion_timestamp = Some(time(Timestamp::UNIX_EPOCH)), None),
        (|seen| seen.cluster.as_mut().unwrap().spec.paused = Some(true), None),
    ];
    for (at, (change, shown)) in table.into_iter().enumerate() {
        let mut observed = Observed { machines: vec![machine(true)], serves: Serves::Yes, ..seen() };
        change(&mut observed);
        let decision = decide(&observed, Timestamp::UNIX_EPOCH);
        let conditions = &decision.machines[0].status.as_ref().unwrap().conditions;
        assert_eq!(get(conditions, "UpToDate").map(|condition| condition.status.as_str()), shown, "row {at}");
        let again = Observed { machines: decision.machines.clone(), ..observed };
        assert_eq!(decide(&again, Timestamp::MAX).machines, decision.machines, "row {at}: a second pass");
    }
}

#[test]
fn nothing_is_available_without_a_machine() {
    let observed = Observed { serves: Serves::Yes, template: None, ..seen() };
    let status = decide(&observed, Timestamp::UNIX_EPOCH).object.status.unwrap();
    let available = get(&status.conditions, "Available").unwrap();
    assert_eq!((available.status.as_str(), available.reason.as_str()), ("False", "NotAvailable"));
    assert!(available.message.ends_with("does not exist: create it"), "{}", available.message);
}
