//! Who a BMC says it is.

use std::fmt;

/// What a BMC tells about itself and its system. All of it is optional: there is no part that every BMC tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Manufacturer, as the BMC writes it, or its IANA enterprise number (`IANA 674`).
    pub vendor: Option<String>,
    /// Model of the system, or the manufacturer's number of the product.
    pub model: Option<String>,
    /// Firmware revision of the BMC, as in `2.18`.
    pub firmware: Option<String>,
    /// Serial number of the system.
    pub serial: Option<String>,
    /// UUID of the system, as the BMC writes it; BMCs disagree on the order of its bytes.
    pub uuid: Option<String>,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.vendor.as_deref().unwrap_or("unknown manufacturer"))?;
        for (name, value) in [("", &self.model), ("firmware ", &self.firmware), ("serial ", &self.serial)] {
            if let Some(value) = value {
                write!(f, " · {name}{value}")?;
            }
        }
        Ok(())
    }
}
