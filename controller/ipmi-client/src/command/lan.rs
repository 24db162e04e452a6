//! The BMC's own network: which channels are LANs, and their addresses (§22.24, §23.2).

use std::net::Ipv4Addr;

use super::{APPLICATION, Command, TRANSPORT};
use crate::Malformed;
use crate::bytes::Reader;

/// Get Channel Info (§22.24).
#[derive(Clone, Copy, Debug)]
pub struct GetChannelInfo(pub u8);

/// The channel over which the command itself arrives.
pub const THIS_CHANNEL: u8 = 0x0e;

/// What kind of channel it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelInfo {
    /// Its real number, also when asked for [`THIS_CHANNEL`].
    pub number: u8,
    /// Whether it is an Ethernet.
    pub is_lan: bool,
}

impl Command for GetChannelInfo {
    type Answer = ChannelInfo;
    const NAME: &'static str = "get channel info";
    const NETWORK_FUNCTION: u8 = APPLICATION;
    const NUMBER: u8 = 0x42;

    fn data(&self) -> Vec<u8> {
        vec![self.0 & 0x0f]
    }

    fn parse(data: &[u8]) -> Result<ChannelInfo, Malformed> {
        const LAN: u8 = 0x04;
        let [number, medium] = Reader::new("get channel info response", data).array()?;
        Ok(ChannelInfo { number: number & 0x0f, is_lan: medium & 0x7f == LAN })
    }
}

/// A LAN parameter (table 23-4) of a known form.
pub trait LanParameter {
    /// What it says.
    type Value;
    /// Its number.
    const NUMBER: u8;

    /// Reads it.
    ///
    /// # Errors
    /// When it is too short.
    fn parse(reader: &mut LanReader<'_>) -> Result<Self::Value, Malformed>;
}

/// A parameter's bytes.
pub struct LanReader<'a>(Reader<'a>);

macro_rules! lan_parameters {
    ($($(#[$doc:meta])* $name:ident = $number:literal: $value:ty, $reader:ident => $parse:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl LanParameter for $name {
            type Value = $value;
            const NUMBER: u8 = $number;

            fn parse($reader: &mut LanReader<'_>) -> Result<$value, Malformed> {
                $parse
            }
        }
    )*};
}

lan_parameters! {
    /// Parameter 3: the address.
    LanAddress = 3: Ipv4Addr, reader => reader.0.array::<4>().map(Ipv4Addr::from);
    /// Parameter 4: whether the address came by DHCP.
    LanIsDhcp = 4: bool, reader => reader.0.u8().map(|source| source & 0x0f == 2);
    /// Parameter 5: the MAC address.
    LanMac = 5: [u8; 6], reader => reader.0.array();
    /// Parameter 6: the subnet mask.
    LanMask = 6: Ipv4Addr, reader => reader.0.array::<4>().map(Ipv4Addr::from);
    /// Parameter 12: the default gateway.
    LanGateway = 12: Ipv4Addr, reader => reader.0.array::<4>().map(Ipv4Addr::from);
}

/// Get LAN Configuration Parameters (§23.2).
#[derive(Clone, Copy, Debug)]
pub struct GetLan<P> {
    /// The channel.
    pub channel: u8,
    /// The parameter.
    pub parameter: P,
}

impl<P: LanParameter> Command for GetLan<P> {
    type Answer = P::Value;
    const NAME: &'static str = "get lan configuration parameters";
    const NETWORK_FUNCTION: u8 = TRANSPORT;
    const NUMBER: u8 = 0x02;

    fn data(&self) -> Vec<u8> {
        vec![self.channel & 0x0f, P::NUMBER, 0, 0]
    }

    fn parse(data: &[u8]) -> Result<P::Value, Malformed> {
        let mut reader = Reader::new("get lan configuration parameters response", data);
        let _revision = reader.u8()?;
        P::parse(&mut LanReader(reader))
    }
}
