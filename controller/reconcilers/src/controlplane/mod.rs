//! Group `controlplane.cluster.x-k8s.io`: control planes made with kubeadm.

pub(crate) mod certificates;
pub(crate) mod kubeadmcontrolplane;
