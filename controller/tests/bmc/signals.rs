//! What a signal leaves behind: no session, no console that keeps others out, no terminal without echo.

use std::fs::File;
use std::future::Future;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bessemer_fake_bmc::host::users::Users;
use bessemer_fake_bmc::ipmi::{Options, Server};
use bessemer_fake_bmc::{Host, HostOptions};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::transcript::PASSWORD;

const SOON: Duration = Duration::from_secs(30);

fn bessemer(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bessemer"));
    command.arg("bmc").args(words.split_whitespace()).env_clear().kill_on_drop(true);
    command
}

async fn until(what: &str, is: impl Fn() -> bool) {
    let watch = async {
        while !is() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    soon(what, watch).await;
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.unwrap_or_else(|_| panic!("not in time: {what}"))
}

/// With the exit codes they lead to. One that these tests were started to ignore, as by `nohup`, is ignored by what they
/// start, too.
fn signals() -> Vec<(Signal, i32)> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    let all = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];
    all.into_iter().filter(|(signal, _)| ignored >> (signal.as_raw() - 1) & 1 == 0).collect()
}

async fn signalled(child: &mut Child, signal: Signal) -> ExitStatus {
    let id = i32::try_from(child.id().unwrap()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    soon("its end", child.wait()).await.unwrap()
}

#[tokio::test]
async fn a_console_that_a_signal_ends_is_free_at_once() {
    let options = HostOptions { users: Users::administrator("admin", PASSWORD), ..HostOptions::numbered(1) };
    let server = Server::start(Host::new(options), Options::default()).await.unwrap();
    let words = format!("console -a ipmi://{} -u admin", server.address());
    for (signal, code) in signals() {
        let mut command = bessemer(&words);
        command.env("BESSEMER_BMC_PASSWORD", PASSWORD).stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        // what is typed comes back: the console is there
        let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        tokio::io::AsyncWriteExt::write_all(&mut keys, b"x").await.unwrap();
        let mut shown = [0];
        soon("an echo", tokio::io::AsyncReadExt::read_exact(&mut screen, &mut shown)).await.unwrap();
        assert_eq!(signalled(&mut child, signal).await.code(), Some(code));
        until("the end of its session", || server.open_sessions() == 0).await;
    }
}

#[tokio::test]
async fn a_question_for_a_password_that_is_left_gives_the_echo_back() {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let name = ptsname(&near, Vec::new()).unwrap();
    let far = File::from(open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap());
    let echoes = || tcgetattr(&far).unwrap().local_modes.contains(LocalModes::ECHO);
    assert!(echoes());
    for (signal, _) in signals() {
        let mut command = bessemer("power status -a ipmi://127.0.0.1:1 -u admin");
        let mut child = command.stdin(far.try_clone().unwrap()).stderr(Stdio::null()).spawn().unwrap();
        until("the question", || !echoes()).await;
        assert!(!signalled(&mut child, signal).await.success());
        assert!(echoes(), "{signal:?}");
    }
}
