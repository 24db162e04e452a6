//! Counts how often a boot is started without coming to an end, so that a host that fails again and again is stopped.
//!
//! Knows boot ids and time only. A boot id ends with the enrolment of its host (the directory makes a new one for the
//! next boot), so whatever is asked for too often under one id has not enrolled in between.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::identity::BootId;

/// Boots remembered; the one that was asked for longest ago is forgotten first.
const MOST: usize = 4096;

/// When a boot that never ends is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopLimits {
    /// Starts of one boot id that are served. The next one is answered with the script that turns the host off.
    pub starts: u32,
    /// Within this time, another request is the same start: retries, a second card, HEAD before GET.
    pub same_start: Duration,
}

impl Default for LoopLimits {
    fn default() -> Self {
        Self { starts: 5, same_start: Duration::from_secs(30) }
    }
}

/// What to do with one start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Serve it.
    Go,
    /// Do not serve it, and tell the directory: this is the first one too many.
    Broken(u32),
    /// Do not serve it; it was told.
    StillBroken,
}

#[derive(Debug)]
pub(crate) struct Breaker {
    limits: LoopLimits,
    boots: Mutex<HashMap<BootId, Starts>>,
}

#[derive(Debug, Clone, Copy)]
struct Starts {
    count: u32,
    counted: Instant,
    asked: Instant,
    told: bool,
}

impl Breaker {
    pub(crate) fn new(limits: LoopLimits) -> Self {
        Self { limits, boots: Mutex::default() }
    }

    /// A host asks for the start of this boot. True if that is one more start, and not the last one again: within
    /// `same_start` it is the same.
    pub(crate) fn start(&self, boot_id: BootId, same_start: Duration, now: Instant) -> bool {
        let mut boots = self.boots.lock().unwrap_or_else(PoisonError::into_inner);
        if boots.len() >= MOST && !boots.contains_key(&boot_id) {
            let oldest = boots.iter().min_by_key(|(_, starts)| starts.asked).map(|(boot_id, _)| *boot_id);
            oldest.and_then(|oldest| boots.remove(&oldest));
        }
        let starts = boots.entry(boot_id).or_insert(Starts { count: 0, counted: now, asked: now, told: false });
        starts.asked = now;
        let is_new = starts.count == 0 || now.saturating_duration_since(starts.counted) >= same_start;
        if is_new {
            starts.count = starts.count.saturating_add(1);
            starts.counted = now;
        }
        is_new
    }

    /// So many starts were counted in all, by this server and others, now and before it was started.
    pub(crate) fn raise(&self, boot_id: BootId, count: u32) {
        if let Some(starts) = self.boots.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&boot_id) {
            starts.count = starts.count.max(count);
        }
    }

    /// What to do with the start that was just counted.
    pub(crate) fn verdict(&self, boot_id: BootId) -> Verdict {
        let mut boots = self.boots.lock().unwrap_or_else(PoisonError::into_inner);
        match boots.get_mut(&boot_id) {
            Some(starts) if starts.count > self.limits.starts => match std::mem::replace(&mut starts.told, true) {
                true => Verdict::StillBroken,
                false => Verdict::Broken(starts.count),
            },
            _ => Verdict::Go,
        }
    }

    /// How close requests are that are the same start.
    pub(crate) fn same_start(&self) -> Duration {
        self.limits.same_start
    }

    /// The directory could not be told: the next start is the first one too many again.
    pub(crate) fn untold(&self, boot_id: BootId) {
        if let Some(starts) = self.boots.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&boot_id) {
            starts.told = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOT: BootId = BootId(1);

    fn count(breaker: &Breaker, boot_id: BootId, now: Instant) -> Verdict {
        breaker.start(boot_id, breaker.same_start(), now);
        breaker.verdict(boot_id)
    }

    #[test]
    fn one_start_too_many_is_told_once() {
        let breaker = Breaker::new(LoopLimits { starts: 2, same_start: Duration::from_secs(30) });
        let begin = Instant::now();
        let at = |seconds| count(&breaker, BOOT, begin + Duration::from_secs(seconds));
        let verdicts = [0, 1, 29, 60, 80, 120, 121, 1000].map(at);
        use Verdict::{Broken, Go, StillBroken};
        assert_eq!(verdicts, [Go, Go, Go, Go, Go, Broken(3), StillBroken, StillBroken]);
        assert_eq!(count(&breaker, BootId(2), begin), Go);
        breaker.untold(BOOT);
        assert_eq!([1001, 1002].map(at), [Broken(4), StillBroken]);
    }

    #[test]
    fn requests_that_follow_each_other_closely_are_one_start_each_time_it_is_over() {
        let breaker = Breaker::new(LoopLimits { starts: 1, same_start: Duration::from_secs(30) });
        let begin = Instant::now();
        let broken = (0..10).find(|tick| count(&breaker, BOOT, begin + Duration::from_secs(tick * 20)) != Verdict::Go);
        assert_eq!(broken, Some(2));
    }

    #[test]
    fn what_others_counted_counts() {
        let breaker = Breaker::new(LoopLimits { starts: 2, same_start: Duration::ZERO });
        let begin = Instant::now();
        assert_eq!(count(&breaker, BOOT, begin), Verdict::Go);
        breaker.raise(BOOT, 1);
        assert_eq!(breaker.verdict(BOOT), Verdict::Go);
        breaker.raise(BOOT, 3);
        assert_eq!((breaker.verdict(BOOT), breaker.verdict(BOOT)), (Verdict::Broken(3), Verdict::StillBroken));
    }

    #[test]
    fn memory_is_bounded() {
        let breaker = Breaker::new(LoopLimits { starts: 0, ..LoopLimits::default() });
        let begin = Instant::now();
        for boot in 0..MOST as u128 + 10 {
            let told = count(&breaker, BootId(boot), begin + Duration::from_millis(u64::try_from(boot).unwrap()));
            assert_eq!(told, Verdict::Broken(1));
        }
        let boots = breaker.boots.lock().unwrap();
        assert_eq!(boots.len(), MOST);
        assert!(!boots.contains_key(&BootId(9)) && boots.contains_key(&BootId(10)));
    }
}
