//! Completion codes (§5.2): a BMC's one-byte verdict on a command.

use std::fmt;

/// What a BMC said of a command. Zero is success and never appears in an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompletionCode(pub u8);

impl CompletionCode {
    /// Done.
    pub const SUCCESS: Self = Self(0x00);
    /// "Node busy": ask again.
    pub const NODE_BUSY: Self = Self(0xc0);
    /// The BMC does not know this command.
    pub const INVALID_COMMAND: Self = Self(0xc1);
    /// The BMC ran out of time.
    pub const TIMEOUT: Self = Self(0xc3);
    /// The BMC ran out of room.
    pub const OUT_OF_SPACE: Self = Self(0xc4);
    /// The reservation was lost to a change of what is read, or to another reader.
    pub const RESERVATION_LOST: Self = Self(0xc5);
    /// There is no such record, sensor or device.
    pub const NOT_PRESENT: Self = Self(0xcb);
    /// The BMC's firmware is being updated.
    pub const FIRMWARE_UPDATE: Self = Self(0xd1);
    /// The BMC is still starting.
    pub const INITIALIZING: Self = Self(0xd2);
    /// The session's privilege does not allow the command.
    pub const INSUFFICIENT_PRIVILEGE: Self = Self(0xd4);
    /// Not possible in the present state, as power on of a server that is on.
    pub const WRONG_STATE: Self = Self(0xd5);

    /// Whether the same command may succeed a little later.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            Self::NODE_BUSY | Self::TIMEOUT | Self::OUT_OF_SPACE | Self::FIRMWARE_UPDATE | Self::INITIALIZING
        )
    }

    /// Whether the command has certainly not been begun, so that even one that must not be carried out twice may be
    /// sent again.
    #[must_use]
    pub const fn is_before_the_act(self) -> bool {
        self.is_transient() && self.0 != Self::TIMEOUT.0
    }

    const fn meaning(self) -> &'static str {
        match self.0 {
            0x00 => "success",
            0x01..=0x7e => "device specific error",
            0x80..=0xbe => "command specific error",
            0xc0 => "node busy",
            0xc1 => "invalid command",
            0xc2 => "command invalid for given lun",
            0xc3 => "timeout while processing command",
            0xc4 => "out of space",
            0xc5 => "reservation canceled or invalid",
            0xc6 => "request data truncated",
            0xc7 => "request data length invalid",
            0xc8 => "request data field length limit exceeded",
            0xc9 => "parameter out of range",
            0xca => "cannot return number of requested data bytes",
            0xcb => "requested data not present",
            0xcc => "invalid data field in request",
            0xcd => "command illegal for this sensor or record type",
            0xce => "response could not be provided",
            0xcf => "cannot execute duplicated request",
            0xd0 => "sdr repository in update mode",
            0xd1 => "device in firmware update mode",
            0xd2 => "bmc initialization in progress",
            0xd3 => "destination unavailable",
            0xd4 => "insufficient privilege level",
            0xd5 => "not supported in present state",
            0xd6 => "sub-function disabled or unavailable",
            _ => "unspecified error",
        }
    }
}

impl fmt::Display for CompletionCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#04x})", self.meaning(), self.0)
    }
}
