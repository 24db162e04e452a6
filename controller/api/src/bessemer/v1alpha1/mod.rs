//! `bessemer.dev/v1alpha1`.

mod boot_lease;
mod host_record;

pub use boot_lease::{BootLease, BootLeaseSpec};
pub use host_record::{
    AgentRecord, BootRecord, BootStep, BootTarget, HostRecord, HostRecordSpec, HostRecordStatus, ProgressRecord,
    RetryRecord, StoryLine, WorkKind, WorkRecord,
};
