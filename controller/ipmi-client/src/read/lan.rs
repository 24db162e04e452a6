//! The BMC's own addresses.

use std::net::Ipv4Addr;

use crate::command::{
    GetChannelInfo, GetLan, LanAddress, LanGateway, LanIsDhcp, LanMac, LanMask, LanParameter, THIS_CHANNEL,
};
use crate::{Client, IpmiError};

/// A LAN channel of the BMC's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanInterface {
    /// Its channel number.
    pub channel: u8,
    /// Its MAC address.
    pub mac: [u8; 6],
    /// Its IPv4 address.
    pub address: Option<Ipv4Addr>,
    /// Whether the address came by DHCP.
    pub is_dhcp: Option<bool>,
    /// Its subnet mask.
    pub mask: Option<Ipv4Addr>,
    /// Its gateway.
    pub gateway: Option<Ipv4Addr>,
}

impl Client {
    /// The LAN channel by which we came in, or the first with an address; `None` when the BMC tells of none.
    ///
    /// Channel numbers differ among BMCs, and one that does not exist may stand before one that does: all are tried.
    ///
    /// # Errors
    /// Any of [`IpmiError`] but a completion code, which is an answer about one channel.
    pub async fn read_lan(&self) -> Result<Option<LanInterface>, IpmiError> {
        const CHANNELS: std::ops::RangeInclusive<u8> = 1..=11;
        let ours = optional(self.execute(&GetChannelInfo(THIS_CHANNEL)).await)?.filter(|info| info.is_lan);
        let mut unaddressed = None;
        for channel in ours.into_iter().map(|info| info.number).chain(CHANNELS) {
            let Some(interface) = self.read_channel(channel).await? else { continue };
            if interface.address.is_some() {
                return Ok(Some(interface));
            }
            unaddressed.get_or_insert(interface);
        }
        Ok(unaddressed)
    }

    async fn read_channel(&self, channel: u8) -> Result<Option<LanInterface>, IpmiError> {
        let Some(mac) = self.parameter(channel, LanMac).await? else { return Ok(None) };
        // What has no hardware address is no interface.
        if mac == [0; 6] || mac == [0xff; 6] {
            return Ok(None);
        }
        let address = |address: Option<Ipv4Addr>| address.filter(|address| !address.is_unspecified());
        Ok(Some(LanInterface {
            channel,
            mac,
            address: address(self.parameter(channel, LanAddress).await?),
            is_dhcp: self.parameter(channel, LanIsDhcp).await?,
            mask: address(self.parameter(channel, LanMask).await?),
            gateway: address(self.parameter(channel, LanGateway).await?),
        }))
    }

    async fn parameter<P: LanParameter>(&self, channel: u8, parameter: P) -> Result<Option<P::Value>, IpmiError> {
        optional(self.execute(&GetLan { channel, parameter }).await)
    }
}

fn optional<T>(result: Result<T, IpmiError>) -> Result<Option<T>, IpmiError> {
    match result {
        Ok(answer) => Ok(Some(answer)),
        Err(IpmiError::Completion { code, .. }) if !code.is_transient() => Ok(None),
        Err(IpmiError::Malformed(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
