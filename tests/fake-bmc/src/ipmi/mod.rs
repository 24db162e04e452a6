//! The IPMI 2.0 side of a host: RMCP+ over UDP. It knows [`crate::host`] and nothing of Redfish.
