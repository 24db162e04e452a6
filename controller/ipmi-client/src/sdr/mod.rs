//! Sensor data records (§43): which sensors and units a BMC has, and how their raw readings turn into physical ones.
//! Pure decoding of bytes that may be damaged in any way; reading them from a BMC is [`Client`](crate::Client)'s.

mod convert;
mod kind;
mod record;
mod unit;

pub use convert::Conversion;
pub use kind::sensor_kind;
pub use record::{FruLocator, Record, Sensor, SensorClass};
pub use unit::Unit;
