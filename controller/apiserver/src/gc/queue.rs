//! The tasks that wait for the collector's thread, each once however often it is asked for. What fails waits, longer each
//! time, and is tried again: a disk that was full may have space by then. It knows nothing of what the tasks are.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long failed tasks wait at first, and at most.
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// Bounded by the number of different tasks.
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    wake: Condvar,
}

struct State<T> {
    tasks: BTreeSet<T>,
    /// They are tried again together.
    failed: BTreeSet<T>,
    retry: Option<Instant>,
    delay: Duration,
    closed: bool,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        let state = State {
            tasks: BTreeSet::new(),
            failed: BTreeSet::new(),
            retry: None,
            delay: Duration::ZERO,
            closed: false,
        };
        Self { state: Mutex::new(state), wake: Condvar::new() }
    }
}

impl<T: Ord> Queue<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, tasks: impl Iterator<Item = T>) {
        self.lock().tasks.extend(tasks);
        self.wake.notify_one();
    }

    /// Ends the waiting for tasks.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_one();
    }

    /// Waits for a task; `None` once closed.
    pub(super) fn next(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            let now = Instant::now();
            if state.retry.is_some_and(|at| at <= now) {
                let mut failed = std::mem::take(&mut state.failed);
                state.tasks.append(&mut failed);
                state.retry = None;
            }
            if let Some(task) = state.tasks.pop_first() {
                return Some(task);
            }
            state = match state.retry {
                None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    let waited = self.wake.wait_timeout(state, at.saturating_duration_since(now));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// A task could not be carried out: it comes again.
    pub(super) fn failed(&self, task: T) {
        let mut state = self.lock();
        state.failed.insert(task);
        if state.retry.is_none() {
            state.delay = state.delay.saturating_mul(2).clamp(FIRST_DELAY, LONGEST_DELAY);
            state.retry = Instant::now().checked_add(state.delay);
        }
    }

    /// A task was carried out. Once all are, the next failure waits a short time again.
    pub(super) fn done(&self) {
        let mut state = self.lock();
        if state.tasks.is_empty() && state.failed.is_empty() {
            state.delay = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_comes_again_later_and_later() {
        let queue = Queue::default();
        queue.add(["a", "b"].into_iter());
        assert_eq!(queue.next(), Some("a"));
        let begun = Instant::now();
        queue.failed("a");
        assert_eq!(queue.next(), Some("b"), "others need not wait");
        queue.done();
        assert_eq!(queue.next(), Some("a"));
        assert!(begun.elapsed() >= FIRST_DELAY);
        let begun = Instant::now();
        queue.failed("a");
        assert_eq!(queue.next(), Some("a"));
        assert!(begun.elapsed() >= FIRST_DELAY * 2);
        queue.done();
        queue.failed("c");
        assert_eq!(queue.lock().delay, FIRST_DELAY, "all was well in between");
        queue.close();
        assert_eq!(queue.next(), None);
    }
}
