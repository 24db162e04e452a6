//! Identity and inventory from the BMC's inventories (FRU): makers, models and serial numbers. What IPMI does not know is
//! left empty, and said.

use ipmi_client::IpmiError;
use ipmi_client::command::{GetDeviceId, GetSystemGuid};
use ipmi_client::fru::Fru;
use ipmi_client::sdr::FruLocator;

use super::{IpmiBmc, vendors};
use crate::{BmcError, Firmware, Identity, Inventory, PowerSupply};

/// The server's own inventory.
const OWN: u8 = 0;
/// The entity id of a power supply (table 43-13).
const POWER_SUPPLY: u8 = 10;

impl IpmiBmc {
    pub(super) async fn read_identity(&self) -> Result<Identity, BmcError> {
        const ACT: &str = "reading its identity";
        let id = self.execute(ACT, &GetDeviceId).await?;
        let guid = self.optional(ACT, self.client.execute(&GetSystemGuid).await)?;
        let fru = self.optional(ACT, self.client.read_fru(OWN).await)?.unwrap_or_default();
        let Fru { chassis, board, product, .. } = fru;
        let (chassis, board, product) =
            (chassis.unwrap_or_default(), board.unwrap_or_default(), product.unwrap_or_default());
        let by_number =
            || vendors::maker(id.manufacturer).map_or_else(|| format!("IANA {}", id.manufacturer), str::to_owned);
        let remarks = self.client.downgrade().await.map(|fall| {
            format!(
                "the bmc refuses cipher suite {} which it used before, and uses {}: it was reset or replaced, or \
                 somebody answers in its stead",
                fall.from.id, fall.to.id
            )
        });
        let model = told(product.name).or(told(board.name));
        Ok(Identity {
            vendor: told(product.manufacturer).or(told(board.manufacturer)).or_else(|| Some(by_number())),
            model: model.or_else(|| Some(format!("product {}", id.product))),
            firmware: Some(format!("{}.{:02}", id.firmware_major, id.firmware_minor)),
            // The case's serial number is the service tag of some, the product's that of others; the board's is spare.
            serial: told(product.serial).or(told(chassis.serial)).or(told(board.serial)),
            uuid: guid.map(uuid),
            power: Some(self.read_power().await?),
            remarks: remarks.into_iter().collect(),
            ..Identity::default()
        })
    }

    pub(super) async fn read_inventory(&self) -> Result<Inventory, BmcError> {
        const ACT: &str = "reading its inventory";
        let id = self.execute(ACT, &GetDeviceId).await?;
        let records = self.client.read_sdr().await.map_err(|error| self.explain(ACT, error))?;
        let mut inventory = Inventory {
            firmware: vec![Firmware {
                id: "bmc".to_owned(),
                name: "BMC".to_owned(),
                version: Some(format!("{}.{:02}", id.firmware_major, id.firmware_minor)),
                ..Firmware::default()
            }],
            gaps: vec!["ipmi knows no processors, memory, network interfaces and drives".to_owned()],
            ..Inventory::default()
        };
        for (record, why) in records.unreadable {
            inventory.gaps.push(format!("sensor data record {record}: {why}"));
        }
        let supplies = records.frus.into_iter().filter(|fru| fru.entity.0 == POWER_SUPPLY);
        for FruLocator { name, device, .. } in supplies {
            let Some(device) = device else { continue };
            match self.client.read_fru(device).await {
                Ok(fru) => inventory.power_supplies.push(supply(name, fru)),
                // An empty bay answers so.
                Err(IpmiError::Completion { code, .. }) if !code.is_transient() => {}
                Err(IpmiError::Malformed(why)) => inventory.gaps.push(format!("inventory of {name}: {why}")),
                Err(error) => return Err(self.explain(ACT, error)),
            }
        }
        Ok(inventory)
    }

    /// What a BMC need not have: a refusal and a malformed answer are no errors.
    pub(super) fn optional<T>(&self, act: &str, result: Result<T, IpmiError>) -> Result<Option<T>, BmcError> {
        match result {
            Ok(answer) => Ok(Some(answer)),
            Err(IpmiError::Completion { code, .. }) if !code.is_transient() => Ok(None),
            Err(IpmiError::Malformed(_)) => Ok(None),
            Err(error) => Err(self.explain(act, error)),
        }
    }
}

/// Without what boards leave the factory with.
fn told(field: Option<String>) -> Option<String> {
    let placeholder = |text: &str| {
        let text = text.to_ascii_lowercase();
        text.starts_with("0123456789")
            || text.chars().all(|character| matches!(character, '0' | 'x' | '.' | '-' | ' '))
            || ["to be filled by o.e.m.", "default string", "none", "n/a", "not specified"].contains(&text.as_str())
    };
    field.filter(|text| !placeholder(text))
}

fn supply(name: String, fru: Fru) -> PowerSupply {
    let (product, board) = (fru.product.unwrap_or_default(), fru.board.unwrap_or_default());
    PowerSupply {
        name,
        vendor: product.manufacturer.or(board.manufacturer),
        model: product.name.or(board.name),
        serial: product.serial.or(board.serial),
        ..PowerSupply::default()
    }
}

/// The GUID as Redfish and SMBIOS tell it. The specification turns all of its bytes round (§20.8); some BMCs send SMBIOS's
/// order, and some the one in which it is written. It is the first of these that has a version which is in use and the
/// variant that goes with it (RFC 9562 §4).
fn uuid(guid: [u8; 16]) -> String {
    let turned = {
        let mut bytes = guid;
        bytes.reverse();
        bytes
    };
    let [a, b, c, d, e, f, g, h, rest @ ..] = guid;
    let [i, j, k, l, m, n, o, p] = rest;
    let of_smbios = [d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p];
    let fits =
        |[_, _, _, _, _, _, version, _, variant, ..]: &[u8; 16]| matches!(version >> 4, 1..=5) && variant >> 6 == 0b10;
    let bytes = [turned, of_smbios, guid].into_iter().find(fits).unwrap_or(turned);
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut text = digits;
    // From the end on, so that places stay.
    [20, 16, 12, 8].into_iter().for_each(|place| text.insert(place, '-'));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_is_the_uuid_that_redfish_tells() {
        let bytes = |text: &str| {
            let digits: Vec<u8> =
                (0..16).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect();
            <[u8; 16]>::try_from(digits).unwrap()
        };
        for (wire, shown) in [
            // As specified; as SMBIOS has it; as it is written.
            ("010000000000008072456d6573736562", "62657373-656d-4572-8000-000000000001"),
            ("737365626d6572458000000000000001", "62657373-656d-4572-8000-000000000001"),
            ("62657373656d45728000000000000001", "62657373-656d-4572-8000-000000000001"),
            // Made up by somebody who knows no versions.
            ("a123456789abcdefa123456789abcdef", "efcdab89-6745-23a1-efcd-ab89674523a1"),
        ] {
            assert_eq!(uuid(bytes(wire)), shown, "{wire}");
        }
    }
}
