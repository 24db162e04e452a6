//! The files of one boot, under its id: script, kernel, ramdisk with the overlay, and both in one program or ISO. The
//! same bytes each time, for the boot's own addresses, until its overlay is spent.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tracing::{error, warn};

use super::connection::Peer;
use super::content::{Content, Piece, Tagged, etag};
use super::reply::{BINARY, EFI, EFI_ISO, Refusal};
use super::site::{Site, script, urls};
use crate::breaker::{Breaker, Verdict};
use crate::config::Ramdisk;
use crate::cpio;
use crate::deadline::ask;
use crate::identity::BootId;
use crate::media::{Iso, Part, Uki};
use crate::overlay::{BootFiles, Overlay};
use crate::script::{InvalidValue, KernelLine, Start, paths};

/// Said by the script in the place of one that is refused. Why is for the log and the host's story.
const REFUSED: &str = "this boot is not served";
/// Said by the script that turns a looping host off.
const LOOPING: &str = "this boot was started too often without coming to an end, so this host is turned off";

/// A BMC reads the beginning of a drive several times in one boot, which may take long.
const SLOWER: u32 = 10;

const NO_SUCH_FILE: Refusal = Refusal::not_found("no such file of a boot");

/// Kernel and ramdisk for one kind of processor.
pub(crate) struct System {
    kernel: Tagged,
    ramdisk: Tagged,
    kernel_line: KernelLine,
}

impl System {
    pub(crate) fn new(ramdisk: &Ramdisk) -> Result<Self, InvalidValue> {
        let kernel_line = KernelLine::parse(&ramdisk.kernel_args)?;
        Ok(Self { kernel: ramdisk.kernel.clone().into(), ramdisk: ramdisk.initrd.clone().into(), kernel_line })
    }
}

/// What every boot is made of.
pub(crate) struct Boots {
    pub(crate) x64: System,
    pub(crate) arm64: Option<System>,
    pub(crate) uki: Option<Uki>,
    /// Of the UKI as it was built.
    pub(crate) uki_tag: u64,
    pub(crate) iso: Option<Iso>,
    pub(crate) breaker: Breaker,
}

impl Boots {
    /// One file of one boot; `starts` if the host begins to boot with it. With the reason, if something else is served
    /// that keeps the host asking.
    ///
    /// Firmware and iPXE that are refused what they begin with go on to the next boot entry, which is the disk, where the
    /// previous tenant's system may be. So they are held there with success; what a script fetches later is refused as
    /// usual, because the script itself asks again.
    pub(super) async fn file(
        &self,
        boot_id: BootId,
        file: &str,
        peer: &Peer,
        starts: bool,
        site: &Site,
    ) -> Result<(Content, Option<Cow<'static, str>>), Refusal> {
        let refusal = match self.own_file(boot_id, file, peer, starts, site).await {
            Ok(content) => return Ok((content, None)),
            Err(refusal) => refusal,
        };
        // iPXE and firmware ask again by themselves where the server says that it is busy.
        if refusal == NO_SUCH_FILE || refusal.status == 503 {
            return Err(refusal);
        }
        let instead = match file {
            paths::SCRIPT | paths::SCRIPT_ARM64 => script(site.scripts.refused(REFUSED))?,
            // It asks DHCP again, and is held by a script.
            paths::UKI => site.program(paths::IPXE_EFI).ok_or_else(|| refusal.clone())?,
            _ => return Err(refusal),
        };
        warn!(%boot_id, file, peer = %peer.address, why = %refusal.why, "held instead of refused, to keep the host off its disk");
        Ok((instead, Some(refusal.why)))
    }

    async fn own_file(
        &self,
        boot_id: BootId,
        file: &str,
        peer: &Peer,
        starts: bool,
        site: &Site,
    ) -> Result<Content, Refusal> {
        let system = match file {
            paths::SCRIPT | paths::KERNEL | paths::INITRD => &self.x64,
            paths::SCRIPT_ARM64 | paths::KERNEL_ARM64 | paths::INITRD_ARM64 => {
                self.arm64.as_ref().ok_or(NO_SUCH_FILE)?
            }
            paths::UKI if self.uki.is_some() => &self.x64,
            paths::ISO if self.iso.is_some() => &self.x64,
            _ => return Err(NO_SUCH_FILE),
        };
        let overlay = match admit(boot_id, file, peer, site).await? {
            Admitted::Overlay(overlay) => overlay,
            Admitted::Live(url) => return script(site.scripts.live(&url)),
        };
        let same_start = match file {
            paths::SCRIPT | paths::SCRIPT_ARM64 | paths::UKI => Some(self.breaker.same_start()),
            paths::ISO => Some(self.breaker.same_start() * SLOWER),
            _ => None,
        };
        // A machine that nobody owns is nobody's to turn off.
        let is_owned = !overlay.files.is_empty();
        if let Some(same_start) = same_start.filter(|_| starts && is_owned)
            && self.is_looping(boot_id, same_start, site).await
            // A drive that cannot be read is passed by, on to the disk. The directory knows.
            && file != paths::ISO
        {
            // As for what is refused: iPXE asks DHCP again and is held.
            return match site.program(paths::IPXE_EFI).filter(|_| file == paths::UKI) {
                Some(ipxe) => Ok(ipxe),
                None => script(site.scripts.hold(Some(LOOPING))),
            };
        }
        match file {
            paths::SCRIPT | paths::SCRIPT_ARM64 => {
                let urls = urls(peer);
                let (kernel, initrd) = match file {
                    paths::SCRIPT => (paths::KERNEL, paths::INITRD),
                    _ => (paths::KERNEL_ARM64, paths::INITRD_ARM64),
                };
                script(site.scripts.ramdisk(&Start {
                    boot_id,
                    server: urls.root(),
                    kernel: urls.of_boot(boot_id, kernel),
                    initrd: urls.of_boot(boot_id, initrd),
                    kernel_line: &system.kernel_line,
                    kernel_args: &overlay.kernel_args,
                    custom: overlay.script.as_deref(),
                }))
            }
            paths::KERNEL | paths::KERNEL_ARM64 => Ok(Content::made(BINARY, &system.kernel, [])),
            paths::INITRD | paths::INITRD_ARM64 => {
                let padding = Bytes::from_static(cpio::padding(system.ramdisk.len()));
                let more = archive(boot_id, &overlay)?.map(|archive| [padding, archive]);
                Ok(Content::made(BINARY, &system.ramdisk, more.into_iter().flatten()))
            }
            paths::UKI => self.uki(boot_id, &overlay),
            _ => self.iso(boot_id, &overlay),
        }
    }

    async fn is_looping(&self, boot_id: BootId, same_start: Duration, site: &Site) -> bool {
        if self.breaker.start(boot_id, same_start, Instant::now()) {
            match ask(site.observer.directory.started(&boot_id)).await {
                Ok(Some(count)) => self.breaker.raise(boot_id, count),
                Ok(None) => {}
                Err(error) => warn!(%boot_id, %error, "a start is counted by this server alone"),
            }
        }
        match self.breaker.verdict(boot_id) {
            Verdict::Go => false,
            Verdict::StillBroken => true,
            Verdict::Broken(starts) => {
                error!(%boot_id, starts, "the boot is started again and again without the agent's enrolment: stopped");
                if let Err(error) = ask(site.observer.directory.looping(&boot_id, starts)).await {
                    warn!(%boot_id, %error, "the directory does not know of the loop, and is told again at the next start");
                    self.breaker.untold(boot_id);
                }
                true
            }
        }
    }

    fn uki(&self, boot_id: BootId, overlay: &Overlay) -> Result<Content, Refusal> {
        let uki = self.uki.as_ref().ok_or(Refusal::not_found("no UKI is configured"))?;
        let archive = archive(boot_id, overlay)?;
        let pieces = match archive.clone() {
            Some(archive) => uki.with_overlay(archive).map_err(|error| broken(boot_id, &error))?,
            None => vec![uki.image().clone()],
        };
        Ok(Content::new(EFI, etag(self.uki_tag, &archive), pieces.into_iter().map(Piece::Made).collect()))
    }

    fn iso(&self, boot_id: BootId, overlay: &Overlay) -> Result<Content, Refusal> {
        let iso = self.iso.as_ref().ok_or(Refusal::not_found("no ISO is configured"))?;
        let archive = archive(boot_id, overlay)?.unwrap_or_default();
        let etag = etag(iso.version(), [&archive]);
        let parts = iso.with_overlay(archive).map_err(|error| broken(boot_id, &error))?;
        let pieces = parts.into_iter().map(|part| match part {
            Part::Stored(range) => Piece::Stored(iso.file().clone(), range),
            Part::Made(octets) => Piece::Made(octets),
        });
        Ok(Content::new(EFI_ISO, etag, pieces.collect()))
    }
}

/// Whose files are asked for.
enum Admitted {
    /// A boot of ours.
    Overlay(Overlay),
    /// The live system at this URL.
    Live(String),
}

/// A boot exists as long as its overlay does, and for its own addresses. A virtual drive is read by the BMC, from an
/// address of its own: there the boot id, which only the BMC was told, is the key.
async fn admit(boot_id: BootId, file: &str, peer: &Peer, site: &Site) -> Result<Admitted, Refusal> {
    let is_theirs =
        |addresses: &[IpAddr]| site.observer.bindings.admits(boot_id, addresses, peer.address, Instant::now());
    let overlay = match ask(site.observer.directory.overlay(&boot_id)).await {
        Ok(BootFiles::Ready(overlay)) => overlay,
        Ok(BootFiles::Live { .. }) if !matches!(file, paths::SCRIPT | paths::SCRIPT_ARM64) => {
            return Err(Refusal::not_found("this boot is of a live system"));
        }
        Ok(BootFiles::Live { url, addresses }) if is_theirs(&addresses) => return Ok(Admitted::Live(url)),
        Ok(BootFiles::Live { .. }) => return Err(Refusal::not_found("another address's boot")),
        Ok(BootFiles::Unknown) => return Err(Refusal::not_found("no such boot")),
        Ok(BootFiles::Spent) => return Err(Refusal::new(410, "this boot's overlay is spent")),
        Err(error) => return Err(Refusal::new(503, format!("no answer about this boot: {error}"))),
    };
    if overlay.media != (file == paths::ISO) {
        return Err(Refusal::not_found(match overlay.media {
            true => "this boot is by virtual media",
            false => "this boot is not by virtual media",
        }));
    }
    // Without files there is nothing to guard.
    let is_open = overlay.media || overlay.files.is_empty();
    if is_open || is_theirs(&overlay.addresses) {
        return Ok(Admitted::Overlay(overlay));
    }
    Err(Refusal::not_found("another address's boot"))
}

/// `None` for an overlay without files (discovery).
fn archive(boot_id: BootId, overlay: &Overlay) -> Result<Option<Bytes>, Refusal> {
    if overlay.files.is_empty() {
        return Ok(None);
    }
    cpio::archive(overlay).map(Some).map_err(|error| broken(boot_id, &error))
}

fn broken(boot_id: BootId, error: &dyn std::error::Error) -> Refusal {
    warn!(%boot_id, %error, "a boot's files cannot be made");
    Refusal::new(500, error.to_string())
}
