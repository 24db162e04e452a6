//! The control plane of a cluster.

use super::foreign::Mismatch;
use super::semver::Version;
use super::{Contract, ControlPlaneMachines, FieldError, Foreign};
use crate::Time;
use crate::cluster::{ApiEndpoint, VersionCount};

/// The control plane of a cluster, read by its contract. Counts are none for control planes that are not made of
/// machines.
#[derive(Debug, Clone, Copy)]
pub struct ControlPlane<'a>(pub Foreign<'a>);

/// Every accessor fails with [`FieldError`] if its field has another shape than the contract's.
#[expect(clippy::missing_errors_doc, reason = "said once for all of them")]
impl<'a> ControlPlane<'a> {
    /// It has served once.
    pub fn initialized(&self) -> Result<bool, FieldError> {
        self.0.flag(self.0.contract().pick("status.initialized", "status.initialization.controlPlaneInitialized"))
    }

    /// Where it is to be reached, if it says so with host and port.
    pub fn endpoint(&self) -> Result<Option<ApiEndpoint>, FieldError> {
        self.0.endpoint()
    }

    /// It runs elsewhere and has no machines or nodes of its own.
    pub fn is_externally_managed(&self) -> Result<bool, FieldError> {
        self.0.flag("status.externalManagedControlPlane")
    }

    /// Version that it shall have.
    pub fn version(&self) -> Result<Option<String>, FieldError> {
        self.0.text("spec.version")
    }

    /// Versions of its machines, from old to new.
    pub fn versions(&self) -> Result<Vec<VersionCount>, FieldError> {
        const PATH: &str = "status.versions";
        let versions: Vec<VersionCount> = self.0.read(PATH)?.unwrap_or_default();
        let mut before: Option<Version> = None;
        for count in &versions {
            let version = self.parse(PATH, &count.version)?;
            if before.is_some_and(|before| version.is_older(&before)) {
                return Err(self.wrong(PATH, format!("{} stands behind a newer version", count.version)));
            }
            if count.replicas.is_some_and(|replicas| replicas < 0) {
                return Err(self.wrong(PATH, format!("{} has a negative number of replicas", count.version)));
            }
            before = Some(version);
        }
        Ok(versions)
    }

    /// The oldest version among its machines; none before the first.
    pub fn oldest_version(&self) -> Result<Option<String>, FieldError> {
        match self.versions()?.into_iter().next() {
            Some(oldest) => Ok(Some(oldest.version)),
            None => self.0.text("status.version"),
        }
    }

    /// It is being made for the first time.
    pub fn is_provisioning(&self) -> Result<bool, FieldError> {
        Ok(self.oldest_version()?.is_none())
    }

    /// Some machine is not yet at the version that it shall have. Not while it is provisioning.
    pub fn is_upgrading(&self) -> Result<bool, FieldError> {
        let Some(wanted) = self.version()? else { return Ok(false) };
        let wanted = self.parse("spec.version", &wanted)?;
        let mut found: Vec<String> = self.versions()?.into_iter().map(|count| count.version).collect();
        if found.is_empty() {
            found.extend(self.0.text("status.version")?);
        }
        for version in found {
            if wanted.is_newer_or_other_build(&self.parse("status.versions", &version)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Machines that are wanted.
    pub fn replicas(&self) -> Result<Option<i32>, FieldError> {
        self.0.read("spec.replicas")
    }

    /// Machines that are there.
    pub fn current_replicas(&self) -> Result<Option<i32>, FieldError> {
        self.0.read("status.replicas")
    }

    /// Machines that are ready.
    pub fn ready_replicas(&self) -> Result<Option<i32>, FieldError> {
        self.0.read("status.readyReplicas")
    }

    /// Machines that are available. The older contract counts those that are not.
    pub fn available_replicas(&self) -> Result<Option<i32>, FieldError> {
        match self.0.contract() {
            Contract::V1Beta2 => self.0.read("status.availableReplicas"),
            Contract::V1Beta1 => {
                let unavailable: i32 = self.0.read("status.unavailableReplicas")?.unwrap_or(0);
                Ok(self.replicas()?.map(|wanted| wanted.saturating_sub(unavailable)))
            }
        }
    }

    /// Machines that are as wanted.
    pub fn up_to_date_replicas(&self) -> Result<Option<i32>, FieldError> {
        self.0.read(self.0.contract().pick("status.updatedReplicas", "status.upToDateReplicas"))
    }

    /// Any of the counts differs from what is wanted, or is not there. Not for control planes without replicas.
    pub fn is_scaling(&self) -> Result<bool, FieldError> {
        let wanted = self.replicas()?;
        let counts =
            [self.current_replicas()?, self.up_to_date_replicas()?, self.ready_replicas()?, self.available_replicas()?];
        Ok(wanted.is_some() && counts.into_iter().any(|count| count != wanted))
    }

    /// Label selector of its machines, as text.
    pub fn selector(&self) -> Result<Option<String>, FieldError> {
        self.0.text("status.selector")
    }

    /// Machines older than this are replaced once it is past.
    pub fn rollout_after(&self) -> Result<Option<Time>, FieldError> {
        self.0.time(self.0.contract().pick("spec.rolloutAfter", "spec.rollout.after"))
    }

    /// What its machines are made from.
    #[must_use]
    pub fn machines(&self) -> ControlPlaneMachines<'a> {
        ControlPlaneMachines(self.0)
    }

    fn parse(&self, path: &str, text: &str) -> Result<Version, FieldError> {
        Version::parse(text).ok_or_else(|| self.wrong(path, format!("{text:?} is no version")))
    }

    fn wrong(&self, path: &str, why: String) -> FieldError {
        self.0.mismatch(path, Mismatch::Value(why))
    }
}
