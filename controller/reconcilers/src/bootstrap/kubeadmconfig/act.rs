//! Stores the data, then says so.

use std::collections::BTreeMap;

use bessemer_api::bootstrap::KubeadmConfig;
use bessemer_api::well_known::{CLUSTER_NAME_LABEL, CLUSTER_SECRET_TYPE};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::ObjectMeta;
use kube::runtime::controller::Action;

use super::KubeadmConfigReconciler;
use super::decide::{Data, Decision};
use super::observe::Observed;
use crate::cluster::cluster_label;
use crate::kubernetes::{Key, ReconcileError, create_or_get, own, write};

impl KubeadmConfigReconciler {
    pub(super) async fn act(&self, key: &Key, seen: &Observed, decision: Decision) -> Result<Action, ReconcileError> {
        if let Some(data) = decision.data {
            let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &key.namespace);
            create_or_get(&secrets, &secret(key, &seen.config, data)).await?;
        }
        let api: Api<KubeadmConfig> = Api::namespaced(self.client.clone(), &key.namespace);
        write(&api, &seen.config, &decision.config).await?;
        Ok(decision.wake.map_or_else(Action::await_change, Action::requeue))
    }
}

fn secret(key: &Key, config: &KubeadmConfig, data: Data) -> Secret {
    let labels = cluster_label(config).map(|name| (CLUSTER_NAME_LABEL.to_owned(), name.to_owned()));
    let mut metadata = ObjectMeta {
        name: Some(key.name.clone()),
        namespace: Some(key.namespace.clone()),
        labels: Some(labels.into_iter().collect()),
        ..ObjectMeta::default()
    };
    own(&mut metadata, config, true);
    let bytes = |text: String| ByteString(text.into_bytes());
    Secret {
        metadata,
        type_: Some(CLUSTER_SECRET_TYPE.to_owned()),
        data: Some(BTreeMap::from([
            ("value".to_owned(), bytes(data.0)),
            ("format".to_owned(), bytes("cloud-config".to_owned())),
        ])),
        ..Secret::default()
    }
}
