//! How far can be believed what a host booted, and what is withheld where it cannot.
//!
//! `https` is never concluded from what a server saw: whoever is between fetches by HTTPS as well, and hands on what it
//! likes. `media` is the BMC's own word. All else that this program boots today is `plain`.

use bessemer_api::bessemer::BootTrust;
use bessemer_api::conditions::{Wanted, wanted};

use super::super::observed::claim;
use super::Rules;

/// The condition's name, beside those of Metal3.
const TRUSTED: &str = "BootTransportTrusted";

impl Rules<'_> {
    /// None for a host that was not booted by us.
    pub(super) fn transport(&self) -> Option<Wanted> {
        let trust = self.trust()?;
        let reason = match trust {
            BootTrust::Plain => "Plain",
            BootTrust::Https => "Https",
            BootTrust::Media => "VerifiedMedia",
            BootTrust::Secureboot => "SecureBoot",
        };
        if trust.is_trusted() {
            return Some(wanted(TRUSTED, true, reason, ""));
        }
        let withheld = if self.seen.boot.require_trusted_boot { "; bootstrap data is withheld from it" } else { "" };
        let message = format!("anybody on the boot network could have changed what it booted{withheld}");
        Some(wanted(TRUSTED, false, reason, message))
    }

    /// Why nothing is installed by this boot for a consumer, whose secrets would follow.
    pub(super) fn distrusts(&self) -> Option<String> {
        let trusted = self.trust().is_some_and(BootTrust::is_trusted);
        let asked = self.seen.boot.require_trusted_boot && claim(&self.seen.host).is_some();
        (asked && !trusted).then(|| {
            "this site requires a trusted boot (--require-trusted-boot), and anybody on the boot network could have changed \
             what this host booted, so its consumer's secrets are withheld: use an address of virtual media and an https:// \
             --media-url whose certificate the BMC verifies"
                .to_owned()
        })
    }

    fn trust(&self) -> Option<BootTrust> {
        self.decision.record.boot.as_ref()?.trust
    }
}
