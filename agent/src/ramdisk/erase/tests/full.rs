//! Disks that are made up: some obey, some lie, some break.

use std::cell::Cell;
use std::fs;
use std::io;
use std::ops::Range;
use std::process::Command;
use std::time::{Duration, Instant};

use bessemer_protocol::NvmeCapabilities;

use super::super::controls::{Controls, Hardware, SanitizeState};
use super::super::full::{FullError, Watch, erase};
use super::super::medium::Medium;
use super::super::methods::{AtaSecurity, Capabilities, Sanitize, SecureErase};

/// What a made-up disk does when it is told to erase itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Temper {
    /// Erases, to the byte that its maker likes.
    Obeys(u8),
    /// Says that it did.
    Lies,
    /// Says that it cannot.
    Refuses,
    /// Begins and fails.
    Breaks,
    /// Never ends.
    Hangs,
}

struct Made {
    capabilities: Capabilities,
    sanitize: Temper,
    format: Temper,
    ata: Temper,
    discard: Temper,
    /// Looks at the sanitize state until it is done.
    looks: u16,
    state: SanitizeState,
    asked: Vec<String>,
}

impl Made {
    fn new(capabilities: Capabilities) -> Self {
        let refuses = Temper::Refuses;
        let (state, asked) = (SanitizeState::Never, Vec::new());
        Self {
            capabilities,
            sanitize: refuses,
            format: refuses,
            ata: refuses,
            discard: refuses,
            looks: 2,
            state,
            asked,
        }
    }

    fn act(&mut self, medium: &Medium, what: String, temper: Temper) -> io::Result<()> {
        self.asked.push(what);
        match temper {
            Temper::Obeys(byte) => fill(medium, byte),
            Temper::Lies => Ok(()),
            _ => Err(io::Error::other("not today")),
        }
    }
}

fn fill(medium: &Medium, byte: u8) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(medium.file(), &vec![byte; medium.size() as usize], 0)
}

impl Controls for Made {
    fn capabilities(&mut self, _: &Medium) -> Capabilities {
        self.capabilities
    }

    fn sanitize(&mut self, medium: &Medium, action: Sanitize) -> io::Result<()> {
        let temper = if matches!(self.sanitize, Temper::Breaks | Temper::Hangs) { Temper::Lies } else { self.sanitize };
        self.act(medium, format!("sanitize {action:?}"), temper)?;
        self.state = SanitizeState::Running(0);
        Ok(())
    }

    fn sanitize_state(&mut self, _: &Medium) -> io::Result<SanitizeState> {
        if let SanitizeState::Running(parts) = self.state {
            self.state = match (parts, self.sanitize) {
                (_, Temper::Hangs) => SanitizeState::Running(1),
                (parts, _) if parts < self.looks => SanitizeState::Running(parts + 1),
                (_, Temper::Breaks) => SanitizeState::Failed,
                _ => SanitizeState::Done,
            };
        }
        Ok(self.state)
    }

    fn format(&mut self, medium: &Medium, erase: SecureErase, _: Duration) -> io::Result<()> {
        self.act(medium, format!("format {erase:?}"), self.format)
    }

    fn ata_erase(&mut self, medium: &Medium, enhanced: bool, _: Duration) -> io::Result<()> {
        self.act(medium, format!("ata enhanced={enhanced}"), self.ata)
    }

    fn discard(&mut self, medium: &Medium, _: Range<u64>) -> io::Result<()> {
        self.act(medium, "discard".into(), self.discard)
    }

    fn zero_out(&mut self, medium: &Medium, range: Range<u64>) -> io::Result<()> {
        medium.zero(range)
    }
}

const SIZE: usize = 1 << 20;

/// A disk with data on it.
fn disk() -> (tempfile::NamedTempFile, Medium) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let data: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8).collect();
    fs::write(file.path(), data).unwrap();
    let medium = Medium::open(file.path().to_str().unwrap()).unwrap();
    (file, medium)
}

fn nvme() -> Capabilities {
    let nvme = NvmeCapabilities {
        sanitize_block: true,
        sanitize_crypto: true,
        format: true,
        format_crypto: true,
        ..NvmeCapabilities::default()
    };
    Capabilities { nvme: Some(nvme), alone: true, discard: true, ..Capabilities::default() }
}

#[test]
fn the_first_way_that_is_proven_ends_it() {
    use Temper::{Breaks, Lies, Obeys, Refuses};
    let ata = Capabilities {
        ata: Some(AtaSecurity { supported: true, enhanced: true, ..AtaSecurity::default() }),
        rotational: true,
        ..Capabilities::default()
    };
    let made = |capabilities, sanitize, format, ata, discard| Made {
        sanitize,
        format,
        ata,
        discard,
        ..Made::new(capabilities)
    };
    let table = [
        ("it obeys", made(nvme(), Obeys(0), Refuses, Refuses, Refuses), "NVMe sanitize, block erase", "sanitize Block"),
        (
            "to ones",
            made(nvme(), Obeys(0xff), Refuses, Refuses, Refuses),
            "NVMe sanitize, block erase",
            "sanitize Block",
        ),
        (
            "it says it did, as a format without secure erase does",
            made(nvme(), Lies, Obeys(0), Refuses, Refuses),
            "NVMe format, cryptographic erase",
            "sanitize Block, sanitize Crypto, format Crypto",
        ),
        (
            "it begins and fails",
            made(nvme(), Breaks, Refuses, Refuses, Obeys(0)),
            "discard and zeroes",
            "sanitize Block, sanitize Crypto, format Crypto, format UserData, discard",
        ),
        (
            "a disk that is locked",
            made(ata, Refuses, Refuses, Refuses, Refuses),
            "overwriting with zeroes",
            "ata enhanced=true, ata enhanced=false",
        ),
        (
            "a disk that obeys",
            made(ata, Refuses, Refuses, Obeys(0), Refuses),
            "ATA enhanced security erase",
            "ata enhanced=true",
        ),
        (
            "nothing but writes",
            made(Capabilities::default(), Refuses, Refuses, Refuses, Refuses),
            "overwriting with zeroes",
            "",
        ),
    ];
    for (what, mut made, expected, asked) in table {
        let (file, medium) = disk();
        let progress = Cell::new(0);
        let watch = Watch {
            deadline: Instant::now() + Duration::from_secs(60),
            progress: &|done| progress.set(done),
            poll: Duration::from_millis(1),
        };
        let erased = erase(&medium, &mut made, &watch).unwrap();
        assert!(erased.steps.last().unwrap().starts_with(expected), "{what}: {:?}", erased.steps);
        assert_eq!(made.asked.join(", "), asked, "{what}");
        assert_eq!(
            erased.steps.len() - 1,
            made.asked.len() - usize::from(!asked.is_empty() && !expected.starts_with("over")),
            "{what}: each failed way is told"
        );
        assert!(erased.proof.contains("256"), "{what}: {}", erased.proof);
        assert!(progress.get() <= SIZE as u64);
        let left = fs::read(file.path()).unwrap();
        assert!(left.iter().all(|byte| *byte == left[0]), "{what}: data is left");
    }
}

/// The kernel's own ioctls, on a device that knows discards and nothing else.
#[test]
fn a_loop_device_is_erased_by_discarding() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP not root: loop devices are made with sudo");
        return;
    }
    let (file, _) = disk();
    let attached = Loop::attach(file.path());
    let medium = Medium::open(&attached.0).unwrap();
    let mut hardware = Hardware { namespace: Some(1), is_ata: true, discard: true, rotational: false, alone: true };
    let watch =
        Watch { deadline: Instant::now() + Duration::from_secs(60), progress: &|_| {}, poll: Duration::from_millis(1) };
    let erased = erase(&medium, &mut hardware, &watch).unwrap();
    assert_eq!(erased.steps, ["discard and zeroes"], "it answers neither NVMe nor ATA commands");
    assert_eq!(erased.proof, "256 blocks of 4096 bytes read as zero, 256 of them held data before");
    drop(medium);
    assert!(fs::read(file.path()).unwrap().iter().all(|byte| *byte == 0));
}

struct Loop(String);

impl Loop {
    fn attach(file: &std::path::Path) -> Self {
        let output = Command::new("/usr/sbin/losetup").args(["--find", "--show"]).arg(file).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        Self(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("/usr/sbin/losetup").arg("-d").arg(&self.0).status();
    }
}

#[test]
fn a_way_that_never_ends_ends_with_the_deadline() {
    let (file, medium) = disk();
    let mut made = Made { sanitize: Temper::Hangs, ..Made::new(nvme()) };
    let watch =
        Watch { deadline: Instant::now() + Duration::from_millis(50), progress: &|_| {}, poll: Duration::from_secs(9) };
    let error = erase(&medium, &mut made, &watch).unwrap_err();
    assert!(matches!(error, FullError::Late(_)), "{error}");
    assert_eq!(made.asked, ["sanitize Block"], "the disk is busy: nothing else is begun");
    assert_eq!(fs::read(file.path()).unwrap().len(), SIZE);
}

/// The agent died during the last one; a disk refuses a second one while the first runs.
#[test]
fn a_sanitize_that_runs_already_is_waited_for() {
    let (_file, medium) = disk();
    let mut made = Made { sanitize: Temper::Obeys(0), state: SanitizeState::Running(0), ..Made::new(nvme()) };
    let watch =
        Watch { deadline: Instant::now() + Duration::from_secs(60), progress: &|_| {}, poll: Duration::from_millis(1) };
    // It ended before the agent came: the data was gone then.
    fill(&medium, 0).unwrap();
    let erased = erase(&medium, &mut made, &watch).unwrap();
    assert_eq!(made.asked, Vec::<String>::new());
    assert_eq!(erased.proof, "0 of 256 blocks of 4096 bytes held data before, and none of it reads as it did");
}
