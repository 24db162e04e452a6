//! `bmc console`.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::time::Duration;

use bessemer_bmc::{Bmc, BmcError, ConsoleStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::ends::Ends;
use super::escape::Escape;
use super::exit::Failure;
use super::output::{Format, show};
use super::table::Table;
use super::terminal::Raw;

/// A BMC says goodbye in milliseconds.
const LEAVES: Duration = Duration::from_secs(5);

/// Opens the console and follows it until it ends, a key ends it, or a signal.
pub(super) async fn run(bmc: &dyn Bmc, take_over: bool, format: Format, ends: &mut Ends) -> Result<(), Failure> {
    let opened = tokio::select! {
        opened = bmc.open_console(take_over) => opened,
        signal = ends.next() => return Err(Failure::interrupted(signal)),
    };
    match opened {
        Ok(mut stream) => {
            let terminal = io::stdin().is_terminal().then(Raw::start).transpose();
            let ended = match &terminal {
                Ok(_) => {
                    eprint!("console is open; ~. at the beginning of a line ends it\r\n");
                    tokio::select! {
                        ended = follow(&mut *stream) => ended,
                        signal = ends.next() => Err(Failure::interrupted(signal)),
                    }
                }
                Err(_) => Ok(()),
            };
            // whatever ended it: a console that stays behind keeps everybody else out
            let left = leave(stream).await;
            let terminal = terminal?;
            drop(terminal);
            eprintln!();
            ended.and(left)
        }
        Err(error @ BmcError::Busy { .. }) if !take_over => {
            Err(Failure::from(error).with_remedy("--take-over ends theirs"))
        }
        Err(BmcError::Unsupported { why, .. }) => {
            eprintln!("the console cannot be opened here: {why}; the bmc offers:");
            list(bmc, format).await
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn list(bmc: &dyn Bmc, format: Format) -> Result<(), Failure> {
    let ways = bmc.console().await?;
    show(format, &ways, |ways| {
        let mut table = Table::new(["KIND", "ENABLED", "PORT", "SESSIONS", "HOW"]);
        for way in ways {
            table.row([
                Some(way.kind.to_string()),
                way.enabled.map(|enabled| if enabled { "yes" } else { "no" }.to_owned()),
                way.port.map(|port| port.to_string()),
                way.sessions.map(|sessions| sessions.to_string()),
                way.hint.clone(),
            ]);
        }
        table.render()
    })
}

/// Carries keys one way and text the other until somebody ends it. An input that is at its end leaves the output going:
/// that is how a console is recorded.
async fn follow(stream: &mut dyn ConsoleStream) -> Result<(), Failure> {
    let mut keys = typed();
    let (mut escape, mut typing) = (Escape::LineBegins, true);
    let mut buffer = [0; 4096];
    let lost = |error: io::Error| Failure::here(format!("the console ended: {error}"));
    loop {
        tokio::select! {
            pressed = keys.recv(), if typing => {
                let Some(pressed) = pressed else {
                    typing = false;
                    continue;
                };
                let typed = escape.typed(&pressed);
                stream.write_all(&typed.send).await.map_err(lost)?;
                stream.flush().await.map_err(lost)?;
                if typed.leave {
                    return Ok(());
                }
            }
            read = stream.read(&mut buffer) => {
                let length = read.map_err(lost)?;
                let Some(text @ [_, ..]) = buffer.get(..length) else {
                    return Err(Failure::here("the bmc has ended the console"));
                };
                // a terminal that is stopped stops us, too; the session is kept by a task of its own
                let mut screen = io::stdout().lock();
                let shown = screen.write_all(text).and_then(|()| screen.flush());
                shown.map_err(|error| Failure::here(format!("stdout: {error}")))?;
            }
        }
    }
}

/// Ends the console, which waits until the BMC has let go of it. One that does not let go is left as it is.
async fn leave(mut stream: Box<dyn ConsoleStream>) -> Result<(), Failure> {
    match tokio::time::timeout(LEAVES, stream.shutdown()).await {
        Ok(Err(error)) => Err(Failure::here(format!("the console did not end as it should: {error}"))),
        Ok(Ok(())) | Err(_) => Ok(()),
    }
}

/// Keys as they are pressed. The thread that reads them stays until there are no more: nothing else can interrupt it.
fn typed() -> mpsc::Receiver<Vec<u8>> {
    let (pressed, keys) = mpsc::channel(16);
    std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        while let Ok(length @ 1..) = io::stdin().lock().read(&mut buffer) {
            let part = buffer.get(..length).unwrap_or_default().to_vec();
            if pressed.blocking_send(part).is_err() {
                return;
            }
        }
    });
    keys
}
