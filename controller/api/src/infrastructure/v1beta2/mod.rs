//! `infrastructure.cluster.x-k8s.io/v1beta2`.

mod machine_parts;
mod meta_data;
mod metal3_cluster;
mod metal3_cluster_template;
mod metal3_data;
mod metal3_data_claim;
mod metal3_data_template;
mod metal3_machine;
mod metal3_machine_template;
mod metal3_remediation;
mod metal3_remediation_template;
mod network_links;
mod networks;
mod references;
mod status_parts;

pub use machine_parts::{CustomDeploy, HostRequirement, HostSelector, InfraImage};
pub use meta_data::{
    MetaData, MetaDataAnnotation, MetaDataHostInterface, MetaDataIndex, MetaDataLabel, MetaDataNamespace,
    MetaDataObjectName, MetaDataPool, MetaDataString,
};
pub use metal3_cluster::{Metal3Cluster, Metal3ClusterSpec, Metal3ClusterStatus};
pub use metal3_cluster_template::{Metal3ClusterTemplate, Metal3ClusterTemplateResource, Metal3ClusterTemplateSpec};
pub use metal3_data::{Metal3Data, Metal3DataSpec, Metal3DataStatus};
pub use metal3_data_claim::{Metal3DataClaim, Metal3DataClaimSpec, Metal3DataClaimStatus};
pub use metal3_data_template::{DataIndex, Metal3DataTemplate, Metal3DataTemplateSpec, Metal3DataTemplateStatus};
pub use metal3_machine::{Metal3Machine, Metal3MachineSpec, Metal3MachineStatus};
pub use metal3_machine_template::{Metal3MachineTemplate, Metal3MachineTemplateResource, Metal3MachineTemplateSpec};
pub use metal3_remediation::{
    Metal3Remediation, Metal3RemediationSpec, Metal3RemediationStatus, RemediationPhase, RemediationStrategy,
    RemediationType,
};
pub use metal3_remediation_template::{
    Metal3RemediationTemplate, Metal3RemediationTemplateResource, Metal3RemediationTemplateSpec,
    Metal3RemediationTemplateStatus,
};
pub use network_links::{
    BondHashPolicy, BondLink, BondMode, BondParameter, EthernetLink, EthernetType, LinkMac, NetworkLinks, VlanLink,
};
pub use networks::{
    DynamicNetwork, Gateway, Ipv4Route, Ipv6Route, NetworkData, NetworkServices, Networks, PoolNetwork,
};
pub use references::{FromAnnotation, MachineObject, ObjectName, PoolReference};
pub use status_parts::{InfraInitialization, V1Beta1ClusterFailure, V1Beta1MachineFailure};
