//! Holding processes that must not outlive their owner, whatever becomes of it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use crate::log_tail;

type Children = Arc<Mutex<Vec<(&'static str, Child)>>>;

/// A program to start, and where to say whether that went well.
type Order = (&'static str, Command, Sender<Result<()>>);

/// Started processes; killed when dropped. The kernel kills them when the thread that started them ends, as with
/// its process: so that thread does nothing else and lasts as long as this.
#[derive(Debug)]
pub(crate) struct Keeper {
    children: Children,
    // dropped, it ends the thread
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(crate) fn new() -> Self {
        let children = Children::default();
        let (orders, received) = channel::<Order>();
        let shared = Arc::clone(&children);
        let thread = std::thread::spawn(move || {
            for (name, command, done) in received {
                let started = tied(&command).spawn().context("cannot run setpriv, of Debian's util-linux");
                // whoever ordered it waits for the answer
                done.send(started.map(|child| lock(&shared).push((name, child)))).ok();
            }
        });
        Self { children, orders: Some(orders), thread: Some(thread) }
    }

    pub(crate) fn start(&self, name: &'static str, command: Command) -> Result<()> {
        let (done, result) = channel();
        let sent = self.orders.as_ref().is_some_and(|orders| orders.send((name, command, done)).is_ok());
        ensure!(sent, "the thread that starts programs ended");
        result.recv().map_err(|_| anyhow!("the thread that starts programs ended"))?
    }

    pub(crate) fn processes(&self) -> Vec<(&'static str, u32)> {
        lock(&self.children).iter().map(|(name, child)| (*name, child.id())).collect()
    }

    pub(crate) fn kill(&self, name: &str) -> bool {
        let mut children = lock(&self.children);
        let Some((_, child)) = children.iter_mut().find(|(of, _)| *of == name) else { return false };
        child.kill().is_ok() && child.wait().is_ok()
    }

    /// Errors if one has ended, with the end of its log in `dir`.
    pub(crate) fn check(&self, dir: &Path) -> Result<()> {
        for (name, child) in lock(&self.children).iter_mut() {
            if let Some(status) = child.try_wait()? {
                bail!("{name} ended ({status}):\n{}", log_tail(&dir.join(format!("{name}.log"))));
            }
        }
        Ok(())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        for (_, child) in lock(&self.children).iter_mut() {
            // what cannot be killed has ended
            child.kill().ok();
            child.wait().ok();
        }
        drop(self.orders.take());
        self.thread.take().map(JoinHandle::join);
    }
}

fn lock(children: &Children) -> MutexGuard<'_, Vec<(&'static str, Child)>> {
    children.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same command, killed with the thread that starts it.
fn tied(command: &Command) -> Command {
    let mut tied = Command::new("setpriv");
    tied.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program()).args(command.get_args());
    if let Some(dir) = command.get_current_dir() {
        tied.current_dir(dir);
    }
    tied.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    tied
}
