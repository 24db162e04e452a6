//! A program that runs beside a test: started, waited for until it says that it is ready, and ended.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// Python programs with many modules take seconds on a busy machine.
const STARTS: Duration = Duration::from_secs(60);

/// The last lines of what a program said.
const KEPT_LINES: usize = 200;

/// A running program, ended when this is dropped.
#[derive(Debug)]
pub struct Daemon {
    name: String,
    child: Child,
    said: Arc<Mutex<VecDeque<String>>>,
}

impl Daemon {
    /// Starts `command` and waits until a line of its output holds `ready`.
    ///
    /// # Errors
    /// When it cannot be run, ends before, or does not say so in a minute; with the last of what it said.
    pub fn start(name: &str, mut command: Command, ready: &str) -> Result<Self> {
        let (reader, writer) = std::io::pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let child = command.spawn().with_context(|| format!("cannot run {name}"))?;
        // holds the pipe's other end
        drop(command);
        let said: Arc<Mutex<VecDeque<String>>> = Arc::default();
        let daemon = Self { name: name.to_owned(), child, said: Arc::clone(&said) };
        let (seen, waiting) = channel();
        let ready = ready.to_owned();
        std::thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                let is_ready = line.contains(&ready);
                let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                said.push_back(line);
                if said.len() > KEPT_LINES {
                    said.pop_front();
                }
                drop(said);
                if is_ready {
                    // nobody waits for the second time
                    seen.send(()).ok();
                }
            }
        });
        let begun = Instant::now();
        match waiting.recv_timeout(STARTS) {
            Ok(()) => Ok(daemon),
            Err(RecvTimeoutError::Disconnected) => {
                bail!("{name} ended after {:?}: {}", begun.elapsed(), daemon.said())
            }
            Err(RecvTimeoutError::Timeout) => bail!("{name} is not ready after {STARTS:?}: {}", daemon.said()),
        }
    }

    /// The last of what it said.
    #[must_use]
    pub fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.iter().fold(format!("{}:\n", self.name), |text, line| text + line + "\n")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // one that has ended by itself needs no ending
        self.child.kill().ok();
        self.child.wait().ok();
        if std::thread::panicking() {
            eprintln!("{}", self.said());
        }
    }
}

/// A command for `program` that ends when the thread that starts it does, however that happens.
pub(crate) fn bound_to_us(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// A TCP port of loopback that nobody listens on, for a program that must be told one.
///
/// # Errors
/// When there is none.
pub fn free_tcp_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// The same of UDP.
///
/// # Errors
/// When there is none.
pub fn free_udp_port() -> Result<u16> {
    Ok(UdpSocket::bind("127.0.0.1:0")?.local_addr()?.port())
}
