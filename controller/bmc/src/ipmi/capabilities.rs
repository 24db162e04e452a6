//! What a BMC can do over IPMI: what the protocol has, and what the BMC says it keeps.

use ipmi_client::command::GetDeviceId;

use super::IpmiBmc;
use crate::{BmcError, Capabilities, Capability};

impl IpmiBmc {
    pub(super) async fn find_capabilities(&self) -> Result<Capabilities, BmcError> {
        use Capability as C;
        let id = self.execute("finding out what it can do", &GetDeviceId).await?;
        let kept = |keeps: bool, what: &str| if keeps { Ok(()) } else { Err(format!("the bmc keeps no {what}")) };
        let not_in_ipmi = |what: &str| Err(format!("ipmi has no {what}: use redfish"));
        Ok([
            (C::PowerOn, Ok(())),
            (C::ForceOff, Ok(())),
            (C::GracefulOff, Ok(())),
            (C::Reset, Ok(())),
            (C::Cycle, Ok(())),
            (C::BootPxe, Ok(())),
            (C::BootDisk, Ok(())),
            (C::BootCd, Ok(())),
            (C::BootPersistent, Ok(())),
            (C::BootMode, Ok(())),
            (C::BootUefiHttp, not_in_ipmi("boot flag for http")),
            (C::BootHttpUri, not_in_ipmi("boot flag for http")),
            (C::VirtualCd, not_in_ipmi("virtual media")),
            (C::Inventory, kept(id.has_fru, "inventories (fru)")),
            (C::Sensors, kept(id.has_sdr_repository || id.has_sensors, "sensor data records")),
            (C::SecureBoot, not_in_ipmi("secure boot")),
            (C::Bios, not_in_ipmi("bios settings")),
            (C::FirmwareUpdate, not_in_ipmi("firmware update that makers share")),
            (C::Events, not_in_ipmi("event subscriptions")),
            (C::Log, kept(id.has_sel, "system event log")),
            (C::Console, Ok(())),
        ]
        .into_iter()
        .collect())
    }
}
