//! Group `bessemer.dev`: what the controller must remember beyond the upstream kinds. Written by the controller alone;
//! deleting these objects by hand does no harm to a provisioned host.

mod boot_lease;
mod host_record;

pub use boot_lease::{BootLease, BootLeaseSpec};
pub use host_record::{
    AgentRecord, BootRecord, BootStep, BootTarget, HostRecord, HostRecordSpec, HostRecordStatus, ProgressRecord,
    RetryRecord, StoryLine, WorkKind, WorkRecord,
};
