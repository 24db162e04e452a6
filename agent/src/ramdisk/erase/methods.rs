//! Which ways of erasing all data to try on a disk, best first.

use std::fmt;

use bessemer_protocol::NvmeCapabilities;

/// What a disk can do for itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// Of an NVMe disk that answers.
    pub(super) nvme: Option<NvmeCapabilities>,
    /// Of an ATA disk that answers.
    pub(super) ata: Option<AtaSecurity>,
    /// Takes discards.
    pub(super) discard: bool,
    /// Spins.
    pub(super) rotational: bool,
    /// Every other namespace of its controller is to be erased as well, or there is none.
    pub(super) alone: bool,
}

/// Word 128 of IDENTIFY DEVICE (ACS-4): the security feature set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent bits of the specification")]
pub(super) struct AtaSecurity {
    pub(super) supported: bool,
    /// A password is set.
    pub(super) enabled: bool,
    pub(super) locked: bool,
    /// The firmware has forbidden changes until the next power cycle.
    pub(super) frozen: bool,
    pub(super) enhanced: bool,
    /// How long the two erasures take, in minutes; 0 when the disk does not say.
    pub(super) minutes: u16,
    pub(super) enhanced_minutes: u16,
}

/// SANACT of the Sanitize command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sanitize {
    Block = 2,
    Overwrite = 3,
    Crypto = 4,
}

/// SES of the Format NVM command. Never 0, which erases nothing and is reported as success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecureErase {
    UserData = 1,
    Crypto = 2,
}

/// One way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    NvmeSanitize(Sanitize),
    NvmeFormat(SecureErase),
    AtaSecure {
        enhanced: bool,
    },
    /// Discard everything, then have the disk or the kernel write zeroes.
    DiscardAndZero,
    /// Write zeroes from here.
    Overwrite,
}

impl Method {
    /// Whether the disk reads as zeroes afterwards. The others leave what the maker likes.
    pub(super) fn leaves_zeroes(self) -> bool {
        matches!(self, Self::DiscardAndZero | Self::Overwrite)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NvmeSanitize(Sanitize::Block) => "NVMe sanitize, block erase",
            Self::NvmeSanitize(Sanitize::Overwrite) => "NVMe sanitize, overwrite",
            Self::NvmeSanitize(Sanitize::Crypto) => "NVMe sanitize, cryptographic erase",
            Self::NvmeFormat(SecureErase::UserData) => "NVMe format, user data erase",
            Self::NvmeFormat(SecureErase::Crypto) => "NVMe format, cryptographic erase",
            Self::AtaSecure { enhanced: true } => "ATA enhanced security erase",
            Self::AtaSecure { enhanced: false } => "ATA security erase",
            Self::DiscardAndZero => "discard and zeroes",
            Self::Overwrite => "overwriting with zeroes (spare blocks of flash keep what they hold)",
        })
    }
}

/// All that the disk offers, best first. There is always at least one.
pub(super) fn choose(disk: &Capabilities) -> Vec<Method> {
    let mut methods = Vec::new();
    if let Some(nvme) = disk.nvme {
        let offered = [
            (disk.alone && nvme.sanitize_block, Method::NvmeSanitize(Sanitize::Block)),
            (disk.alone && nvme.sanitize_crypto, Method::NvmeSanitize(Sanitize::Crypto)),
            (nvme.format && nvme.format_crypto, Method::NvmeFormat(SecureErase::Crypto)),
            (nvme.format, Method::NvmeFormat(SecureErase::UserData)),
            (disk.alone && nvme.sanitize_overwrite, Method::NvmeSanitize(Sanitize::Overwrite)),
        ];
        let may_format = disk.alone || !nvme.format_erases_all;
        methods.extend(
            offered
                .into_iter()
                .filter(|(offered, method)| *offered && (may_format || !matches!(method, Method::NvmeFormat(_))))
                .map(|(_, method)| method),
        );
    }
    if let Some(ata) = disk.ata.filter(|ata| ata.supported && !ata.frozen) {
        methods.extend(ata.enhanced.then_some(Method::AtaSecure { enhanced: true }));
        methods.push(Method::AtaSecure { enhanced: false });
    }
    if disk.discard && !disk.rotational {
        methods.push(Method::DiscardAndZero);
    }
    methods.push(Method::Overwrite);
    methods
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_way_that_harms_nothing_else_comes_first() {
        use Method::{AtaSecure, DiscardAndZero, NvmeFormat, NvmeSanitize, Overwrite};
        let all = NvmeCapabilities {
            sanitize_crypto: true,
            sanitize_block: true,
            sanitize_overwrite: true,
            format: true,
            format_crypto: true,
            format_erases_all: true,
            namespaces: 32,
        };
        let nvme = |nvme, alone| Capabilities { nvme: Some(nvme), alone, discard: true, ..Capabilities::default() };
        let ata = |ata, rotational| Capabilities { ata: Some(ata), rotational, discard: true, alone: true, nvme: None };
        let secure = AtaSecurity { supported: true, enhanced: true, ..AtaSecurity::default() };
        let own = NvmeCapabilities { format_erases_all: false, ..all };
        let table = [
            (
                "everything",
                nvme(all, true),
                vec![
                    NvmeSanitize(Sanitize::Block),
                    NvmeSanitize(Sanitize::Crypto),
                    NvmeFormat(SecureErase::Crypto),
                    NvmeFormat(SecureErase::UserData),
                    NvmeSanitize(Sanitize::Overwrite),
                    DiscardAndZero,
                    Overwrite,
                ],
            ),
            ("a namespace beside it is kept", nvme(all, false), vec![DiscardAndZero, Overwrite]),
            (
                "a namespace beside it is kept, but format takes one alone",
                nvme(own, false),
                vec![NvmeFormat(SecureErase::Crypto), NvmeFormat(SecureErase::UserData), DiscardAndZero, Overwrite],
            ),
            ("an emulated NVMe disk", nvme(NvmeCapabilities::default(), true), vec![DiscardAndZero, Overwrite]),
            (
                "a SATA flash disk",
                ata(secure, false),
                vec![AtaSecure { enhanced: true }, AtaSecure { enhanced: false }, DiscardAndZero, Overwrite],
            ),
            (
                "frozen by the firmware",
                ata(AtaSecurity { frozen: true, ..secure }, false),
                vec![DiscardAndZero, Overwrite],
            ),
            (
                "a spinning SATA disk",
                ata(AtaSecurity { enhanced: false, ..secure }, true),
                vec![AtaSecure { enhanced: false }, Overwrite],
            ),
            ("nothing known", Capabilities::default(), vec![Overwrite]),
        ];
        for (what, disk, expected) in table {
            assert_eq!(choose(&disk), expected, "{what}");
        }
    }
}
