//! Erasing all data: one way after the other until one is proven to have done it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::time::{Duration, Instant};

use super::controls::{Controls, SanitizeState};
use super::medium::Medium;
use super::methods::{Method, choose};

/// How much is read to prove an erasure. A disk that is not larger than all samples together is read whole.
const SAMPLES: u64 = 4096;
const SAMPLE: u64 = 4096;

/// How much is zeroed between two looks at the clock.
const PIECE: u64 = 64 << 20;

/// What an erasure must heed.
pub(super) struct Watch<'a> {
    /// No step is begun, and none goes on that can be stopped, after this.
    pub(super) deadline: Instant,
    /// Told how many bytes of the disk are done.
    pub(super) progress: &'a dyn Fn(u64),
    /// Between two looks at an operation that the disk runs by itself and does not announce the end of.
    pub(super) poll: Duration,
}

impl Watch<'_> {
    fn left(&self) -> Result<Duration, StepError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(StepError::Late) } else { Ok(left) }
    }
}

/// What was done and how it was proven.
#[derive(Debug)]
pub(super) struct Erased {
    pub(super) steps: Vec<String>,
    pub(super) proof: String,
}

/// Why data may be left.
#[derive(Debug, thiserror::Error)]
pub(super) enum FullError {
    #[error("deadline passed during {0}")]
    Late(Method),
    #[error("no way of erasing it worked: {0}")]
    NothingWorked(String),
    #[error("read what is on it: {0}")]
    Read(io::Error),
}

#[derive(Debug, thiserror::Error)]
enum StepError {
    #[error("out of time")]
    Late,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the disk says that it failed")]
    Refused,
    #[error("the disk calls it done, but {0}")]
    NotProven(String),
}

/// Erases `medium`.
pub(super) fn erase(medium: &Medium, controls: &mut impl Controls, watch: &Watch<'_>) -> Result<Erased, FullError> {
    let before = samples(medium).map_err(FullError::Read)?;
    let mut steps = Vec::new();
    for method in choose(&controls.capabilities(medium)) {
        let done = perform(method, medium, controls, watch).and_then(|()| prove(method, medium, &before));
        match done {
            Ok(proof) => {
                steps.push(method.to_string());
                return Ok(Erased { steps, proof });
            }
            Err(StepError::Late) => return Err(FullError::Late(method)),
            Err(error) => steps.push(format!("{method}: {error}")),
        }
    }
    Err(FullError::NothingWorked(steps.join("; ")))
}

fn perform(method: Method, medium: &Medium, controls: &mut impl Controls, watch: &Watch<'_>) -> Result<(), StepError> {
    let left = watch.left()?;
    match method {
        Method::NvmeSanitize(action) => {
            // One that was begun before this agent started is waited for: a second one would be refused.
            if !matches!(controls.sanitize_state(medium)?, SanitizeState::Running(_)) {
                controls.sanitize(medium, action)?;
            }
            loop {
                match controls.sanitize_state(medium)? {
                    SanitizeState::Done => return Ok(()),
                    SanitizeState::Failed | SanitizeState::Never => return Err(StepError::Refused),
                    SanitizeState::Running(parts) => (watch.progress)(medium.size() / 65536 * u64::from(parts)),
                }
                std::thread::sleep(watch.left()?.min(watch.poll));
            }
        }
        Method::NvmeFormat(erase) => Ok(controls.format(medium, erase, left)?),
        Method::AtaSecure { enhanced } => Ok(controls.ata_erase(medium, enhanced, left)?),
        Method::DiscardAndZero => {
            each_piece(medium, watch, |range| Ok(controls.discard(medium, range)?))?;
            each_piece(medium, watch, |range| Ok(controls.zero_out(medium, range)?))
        }
        Method::Overwrite => each_piece(medium, watch, |range| Ok(medium.zero(range)?)),
    }
}

fn each_piece(
    medium: &Medium,
    watch: &Watch<'_>,
    mut each: impl FnMut(std::ops::Range<u64>) -> Result<(), StepError>,
) -> Result<(), StepError> {
    let mut at = 0;
    while at < medium.size() {
        watch.left()?;
        let next = medium.size().min(at + PIECE);
        each(at..next)?;
        (watch.progress)(next);
        at = next;
    }
    Ok(())
}

/// One sample of what a disk holds.
#[derive(Debug, PartialEq, Eq)]
struct Sample {
    at: u64,
    hash: u64,
    /// All its bytes are the same one.
    uniform: Option<u8>,
}

fn samples(medium: &Medium) -> io::Result<Vec<Sample>> {
    medium.settle()?;
    let blocks = medium.size().div_ceil(SAMPLE);
    let count = blocks.min(SAMPLES);
    let mut samples = Vec::new();
    for number in 0..count {
        // Evenly spread, the first and the last block among them.
        let block = if count == blocks || count < 2 { number } else { number * (blocks - 1) / (count - 1) };
        let at = block * SAMPLE;
        let bytes = medium.read(at, SAMPLE as usize)?;
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let first = bytes.first().copied();
        let uniform = first.filter(|first| bytes.iter().all(|byte| byte == first));
        samples.push(Sample { at, hash: hasher.finish(), uniform });
    }
    Ok(samples)
}

/// Reads again what was read before. Zeroes must be zeroes; where the disk may leave what it likes, nothing may be as it was.
fn prove(method: Method, medium: &Medium, before: &[Sample]) -> Result<String, StepError> {
    let after = samples(medium)?;
    let count = after.len();
    let held = before.iter().filter(|sample| sample.uniform.is_none()).count();
    if method.leaves_zeroes() {
        return match after.iter().find(|sample| sample.uniform != Some(0)) {
            Some(sample) => Err(StepError::NotProven(format!("the block at {} is not zero", sample.at))),
            None => Ok(format!("{count} blocks of {SAMPLE} bytes read as zero, {held} of them held data before")),
        };
    }
    let same = before.iter().zip(&after).find(|(before, after)| after.uniform.is_none() && before.hash == after.hash);
    match same {
        Some((_, sample)) => Err(StepError::NotProven(format!("the block at {} is as it was", sample.at))),
        None => {
            Ok(format!("{held} of {count} blocks of {SAMPLE} bytes held data before, and none of it reads as it did"))
        }
    }
}
