//! `bessemer.dev/v1alpha1`.

mod boot_lease;
mod boot_trace;
mod host_record;

pub use boot_lease::{BootLease, BootLeaseSpec, DeclinedAddress};
pub use boot_trace::{BootExchange, BootTrace, BootTraceSpec, BootTraceStatus};
pub use host_record::{
    AgentRecord, BootRecord, BootStep, BootTarget, BootTrust, DiscoveredRecord, HostRecord, HostRecordSpec,
    HostRecordStatus, NodeKeyRecord, ProgressRecord, RetryRecord, StartsRecord, StoryLine, WorkKind, WorkRecord,
};
