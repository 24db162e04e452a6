//! The hardware as the BMC shows it, in the many places where it does. One file for each kind of part: where it is
//! looked for, and a pure decoder that takes any body.

mod chassis;
mod drives;
mod firmware;
mod memory;
pub(super) mod nics;
mod power_supplies;
mod processors;

use redfish_client::Resource;

use super::RedfishBmc;
use super::survey::Survey;
use crate::{BmcError, Inventory};
pub(super) use chassis::chassis_of;

const ACT: &str = "reading the inventory";

impl RedfishBmc {
    pub(super) async fn read_inventory(&self) -> Result<Inventory, BmcError> {
        let system = self.system(ACT).await?;
        let survey = Survey::new(self);
        let chassis = chassis_of(&survey, &system).await;
        let (processors, memory, nics, drives, (power_supplies, firmware)) = tokio::join!(
            Box::pin(processors::read(&survey, &system)),
            Box::pin(memory::read(&survey, &system)),
            Box::pin(nics::read(&survey, &system, &chassis)),
            Box::pin(drives::read(&survey, &system, &chassis)),
            Box::pin(async {
                let power_supplies = power_supplies::read(&survey, &chassis).await;
                (power_supplies, firmware::read(&survey).await)
            }),
        );
        let (processors, accelerators) = processors;
        Ok(Inventory {
            processors,
            accelerators,
            memory_mib: memory::total(&system, &memory),
            memory,
            nics,
            drives,
            power_supplies,
            firmware,
            gaps: survey.finish(ACT)?,
        })
    }
}

/// What the service calls a part: `Id`, the `MemberId` of a part within another resource, or the end of its path.
fn id(resource: &Resource) -> String {
    let id = resource.text("Id").or_else(|| resource.text("MemberId"));
    id.unwrap_or_else(|| resource.uri().id()).to_owned()
}

/// Every decoder on one body, for tests that feed them anything.
#[cfg(test)]
pub(super) fn decode_everything(resource: &Resource) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        processors::decode(resource),
        memory::decode(resource),
        nics::decode(resource),
        drives::decode(resource),
        drives::simple(resource),
        power_supplies::decode(resource),
        firmware::decode(resource),
    )
}
