//! Labels, annotations, finalizers and Secret types that have a meaning, upstream's and ours.

/// Label: the Cluster that an object belongs to.
pub const CLUSTER_NAME_LABEL: &str = "cluster.x-k8s.io/cluster-name";
/// Label: on Machines of a control plane, with an empty value.
pub const CONTROL_PLANE_LABEL: &str = "cluster.x-k8s.io/control-plane";
/// Label: the control plane object that made a Machine.
pub const CONTROL_PLANE_NAME_LABEL: &str = "cluster.x-k8s.io/control-plane-name";
/// Annotation: reconciliation is paused, whatever its value.
pub const PAUSED_ANNOTATION: &str = "cluster.x-k8s.io/paused";
/// Annotation: the template that an object was cloned from.
pub const CLONED_FROM_NAME_ANNOTATION: &str = "cluster.x-k8s.io/cloned-from-name";
/// Annotation: `<kind>.<group>` of the template that an object was cloned from.
pub const CLONED_FROM_GROUP_KIND_ANNOTATION: &str = "cluster.x-k8s.io/cloned-from-groupkind";
/// Type of the Secrets of Cluster API.
pub const CLUSTER_SECRET_TYPE: &str = "cluster.x-k8s.io/secret";

/// Finalizer of Cluster.
pub const CLUSTER_FINALIZER: &str = "cluster.cluster.x-k8s.io";
/// Finalizer of Machine.
pub const MACHINE_FINALIZER: &str = "machine.cluster.x-k8s.io";
/// Finalizer of KubeadmControlPlane.
pub const CONTROL_PLANE_FINALIZER: &str = "kubeadm.controlplane.cluster.x-k8s.io";
/// Finalizer of Metal3Cluster.
pub const METAL3_CLUSTER_FINALIZER: &str = "metal3cluster.infrastructure.cluster.x-k8s.io";
/// Finalizer of Metal3Machine.
pub const METAL3_MACHINE_FINALIZER: &str = "metal3machine.infrastructure.cluster.x-k8s.io";
/// Finalizer of BareMetalHost.
pub const HOST_FINALIZER: &str = "baremetalhost.metal3.io";

/// Annotation on a BareMetalHost: reconciliation is paused, whatever its value.
pub const HOST_PAUSED_ANNOTATION: &str = "baremetalhost.metal3.io/paused";
/// Annotation on a BareMetalHost: nothing manages it, whatever its value.
pub const HOST_DETACHED_ANNOTATION: &str = "baremetalhost.metal3.io/detached";
/// Annotation on a BareMetalHost: its status as it was before it moved here, for whoever restores it.
pub const HOST_STATUS_ANNOTATION: &str = "baremetalhost.metal3.io/status";
/// Annotation on a Metal3Machine: `<namespace>/<name>` of its BareMetalHost.
pub const HOST_ANNOTATION: &str = "metal3.io/BareMetalHost";
/// Annotation on a BareMetalHost: it is not to be chosen.
pub const HOST_UNHEALTHY_ANNOTATION: &str = "capm3.metal3.io/unhealthy";
/// Annotation on a BareMetalHost: `disabled` for no inspection, anything else for another one.
pub const HOST_INSPECT_ANNOTATION: &str = "inspect.metal3.io";
/// Label on every Secret that hosts use, so that a watch sees no others.
pub const ENVIRONMENT_LABEL: &str = "environment.metal3.io";
/// Value of [`ENVIRONMENT_LABEL`].
pub const ENVIRONMENT_VALUE: &str = "baremetal";

/// Annotation on a BareMetalHost: its host id, minted once.
pub const HOST_ID_ANNOTATION: &str = "bessemer.dev/host-id";
/// Annotation on a BareMetalHost: addresses reserved for its network cards, `MAC=IP` with commas between.
pub const RESERVED_ADDRESSES_ANNOTATION: &str = "bessemer.dev/reserved-addresses";
/// Annotation on a BareMetalHost or Metal3Machine: who carries out the bootstrap data, `agent` or `cloud-init`.
pub const BOOTSTRAP_DELIVERY_ANNOTATION: &str = "bessemer.dev/bootstrap-delivery";
/// Annotation: what is not done yet with an object whose status has no place to say so; the value is for people.
pub const NOT_IMPLEMENTED_ANNOTATION: &str = "bessemer.dev/not-implemented";
