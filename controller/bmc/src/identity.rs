//! Who a BMC says it is.

/// What a BMC tells about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// IANA enterprise number of the manufacturer (674 is Dell, 11 HPE, 10876 Supermicro); 0 when not told.
    pub manufacturer_id: u32,
    /// The manufacturer's own product number.
    pub product_id: u16,
    /// BMC firmware revision, as in `2.18`.
    pub firmware: String,
    /// The managed system's GUID, bytes as they came over the wire; BMCs disagree on their order, and some have none.
    pub system_guid: Option<[u8; 16]>,
}
