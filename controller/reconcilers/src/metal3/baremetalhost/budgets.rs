//! Every period and limit of a host's life, in one place.

use std::time::Duration;

use crate::kubernetes::Backoff;

/// From the power-on to the agent's enrolment: firmware POST of a large server and the download of the ramdisk.
pub(crate) const POST_BUDGET: Duration = Duration::from_secs(30 * 60);
/// How long a silent agent may take to come back before its host is booted again: three heartbeats.
pub(crate) const AGENT_GRACE: Duration = Duration::from_secs(3 * bessemer_protocol::HEARTBEAT_SECONDS);
/// For the agent to report the hardware.
pub(crate) const INSPECT_BUDGET: Duration = Duration::from_secs(10 * 60);
/// For the agent to erase what tells what is on the disks.
pub(crate) const ERASE_BUDGET: Duration = Duration::from_secs(30 * 60);
/// For the agent to write an image.
pub(crate) const DEPLOY_BUDGET: Duration = Duration::from_secs(60 * 60);
/// For the agent to leave; then the BMC makes it.
pub(crate) const LEAVE_BUDGET: Duration = Duration::from_secs(2 * 60);
/// For the agent to tell its logs.
pub(crate) const COLLECT_BUDGET: Duration = Duration::from_secs(60);
/// Beyond a work item's deadline, for the agent to say that it gave up.
pub(crate) const DEADLINE_SLACK: Duration = Duration::from_secs(60);

/// For a system to shut down when asked to; then its power is cut.
pub(crate) const SOFT_OFF_BUDGET: Duration = Duration::from_secs(3 * 60);

/// The power state is read again when it is older than this.
pub(crate) const POWER_POLL: Duration = Duration::from_secs(60);
/// The same while somebody waits for it.
pub(crate) const POWER_POLL_WAITING: Duration = Duration::from_secs(15);
/// For a missing Secret, or another host that is in the way: no watch of ours tells this host when that changes.
pub(crate) const MISSING_SECRET_POLL: Duration = Duration::from_secs(10);
/// Progress of a work item is written no more often.
pub(crate) const PROGRESS_PERIOD: Duration = Duration::from_secs(5);

/// Between attempts at anything that failed.
pub(crate) const RETRY: Backoff = Backoff { first: Duration::from_secs(20), ceiling: Duration::from_secs(5 * 60) };
/// Boots without an agent, or failed deployments, in a row; then the host waits for an edit.
pub(crate) const MAX_ATTEMPTS: i32 = 5;
/// With credentials that the BMC refuses; BMCs lock accounts from five or six on.
pub(crate) const MAX_REFUSALS: i32 = 3;
/// To erase a host that is being deleted; then it is let go as it is.
pub(crate) const MAX_ERASE_ATTEMPTS_BEFORE_DELETE: i32 = 3;
/// To switch a host off that is being deleted; then it is let go as it is.
pub(crate) const MAX_POWER_OFF_ATTEMPTS: i32 = 3;
