//! Which of the chassis a BMC shows hold the server: behind one BMC there may be several nodes, accelerators and shelves.

use redfish_client::{Reference, Resource};

use super::super::survey::Survey;

/// The chassis of `system`, its own first: those it names, else those that name it, else the only one there is.
pub(crate) async fn chassis_of(survey: &Survey<'_>, system: &Resource) -> Vec<Resource> {
    let named = survey.all(system.links("Links/Chassis")).await;
    if !named.is_empty() {
        return named;
    }
    let Some(root) = survey.find(&Reference::root()).await else { return Vec::new() };
    let all = survey.members(&root, "Chassis").await;
    if all.len() == 1 {
        return all;
    }
    let names = |chassis: &Resource| chassis.links("Links/ComputerSystems").contains(system.uri());
    // HPE Cray has no links between the two and calls them the same.
    let alike = |chassis: &Resource| chassis.uri().id() == system.uri().id();
    let naming: Vec<Resource> = all.iter().filter(|chassis| names(chassis)).cloned().collect();
    if naming.is_empty() { all.into_iter().filter(alike).collect() } else { naming }
}
