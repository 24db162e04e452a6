//! Work that is under way at the BMC: its tasks and jobs, whoever started them.

use redfish_client::{Reference, Resource, TaskState};

use super::RedfishBmc;
use crate::BmcError;

const ACT: &str = "looking for unfinished work";

/// The newest of each list that are looked at.
const LOOKED_AT: usize = 8;

/// Whether a task or a job is about firmware's settings: by its name, or by what it was asked for with.
fn is_about_bios(work: &Resource) -> bool {
    let named = ["Name", "Description"].into_iter().filter_map(|name| work.text(name));
    let target = work.text("Payload/TargetUri").or_else(|| work.text("Oem/Dell/TargetSettingsURI"));
    named.map(str::to_ascii_lowercase).any(|name| name.contains("bios"))
        || target.is_some_and(|target| target.to_ascii_lowercase().contains("/bios"))
}

impl RedfishBmc {
    /// The task or job that has yet to apply settings of firmware, in words; none if there is none.
    pub(super) async fn unfinished_bios_work(&self) -> Result<Option<String>, BmcError> {
        for list in self.lists_of_work().await? {
            let listed = self.client.list(&list).await.map_err(|error| self.explain(ACT, error))?;
            for at in listed.iter().rev().take(LOOKED_AT) {
                let found = self.client.find(at).await.map_err(|error| self.explain(ACT, error))?;
                let Some(work) = found.filter(is_about_bios) else { continue };
                if let TaskState::Running { state, .. } = TaskState::of(&work) {
                    return Ok(Some(format!("{at} is {state} and applies them at the next reset")));
                }
            }
        }
        Ok(None)
    }

    /// The collections of tasks and of jobs that the service has.
    async fn lists_of_work(&self) -> Result<Vec<Reference>, BmcError> {
        let root = self.client.root().await.map_err(|error| self.explain(ACT, error))?;
        let mut lists = Vec::new();
        for (service, list) in [("Tasks", "Tasks"), ("JobService", "Jobs")] {
            let Some(service) = root.link(service) else { continue };
            let service = self.client.find(&service).await.map_err(|error| self.explain(ACT, error))?;
            lists.extend(service.and_then(|service| service.link(list)));
        }
        Ok(lists)
    }
}
