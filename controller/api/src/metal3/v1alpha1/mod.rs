//! `metal3.io/v1alpha1`.

mod hardware;
mod host;
mod spec;
mod state;
mod status;

pub use hardware::{Bios, Cpu, Firmware, HardwareDetails, Nic, Storage, SystemVendor};
pub use host::{BareMetalHost, BareMetalHostSpec};
pub use spec::{BmcDetails, Image, RootDeviceHints};
pub use state::{ErrorType, OperationalStatus, ProvisioningState};
pub use status::{BareMetalHostStatus, CredentialsStatus, OperationHistory, OperationMetric, ProvisionStatus};
