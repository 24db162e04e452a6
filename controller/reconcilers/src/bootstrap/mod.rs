//! Group `bootstrap.cluster.x-k8s.io`: bootstrap data for machines.

pub(crate) mod kubeadmconfig;
