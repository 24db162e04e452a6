//! `Discovery` finds kinds by what the server tells of them, in both forms.

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::discovery::{Discovery, Scope, pinned_kind, verbs};

use crate::soon;

pub(crate) async fn check(client: &Client) {
    let kind = GroupVersionKind::gvk("kube-rs.example", "v1", "Shelf");
    let plain = soon("plain discovery", Discovery::new(client.clone()).run()).await.unwrap();
    let aggregated = soon("aggregated discovery", Discovery::new(client.clone()).run_aggregated()).await.unwrap();
    for discovery in [plain, aggregated] {
        let (resource, capabilities) = discovery.resolve_gvk(&kind).expect("the kind is not told of");
        assert_eq!((resource.plural.as_str(), &capabilities.scope), ("shelves", &Scope::Namespaced));
        assert!(capabilities.supports_operation(verbs::WATCH) && capabilities.supports_operation(verbs::PATCH));
        assert!(capabilities.subresources.iter().any(|(part, _)| part.plural == "status"), "{capabilities:?}");
        assert!(discovery.has_group("") && discovery.has_group("coordination.k8s.io"));
        let shelves: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        soon("a list of what was discovered", shelves.list(&ListParams::default())).await.unwrap();
    }
    let (resource, _) = soon("a pinned kind", pinned_kind(client, &kind)).await.unwrap();
    assert_eq!(resource.plural, "shelves");
    let version = soon("the version", client.apiserver_version()).await.unwrap();
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "36"));
}
