//! The parts of a program that runs until it is told to end: each is a task that returns its name when it ends.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::signals::Signals;

/// How long everything may take to end.
const END_DEADLINE: Duration = Duration::from_secs(15);

/// Waits for a signal, which is as it should be, or for a part that ends by itself.
///
/// # Errors
/// Which part ended.
pub(crate) async fn wait(parts: &mut JoinSet<&'static str>, signals: &mut Signals) -> anyhow::Result<()> {
    tokio::select! {
        signal = signals.next() => {
            tracing::info!(signal, "ending");
            Ok(())
        }
        ended = parts.join_next() => match ended {
            Some(Ok(part)) => Err(anyhow::anyhow!("{part} ended unexpectedly; the log says why")),
            Some(Err(error)) => Err(anyhow::anyhow!("a part of the program failed: {error}")),
            None => Err(anyhow::anyhow!("nothing is running")),
        },
    }
}

/// Tells every part to end and waits for that, until the deadline or another signal.
pub(crate) async fn end(parts: &mut JoinSet<&'static str>, signals: &mut Signals, stop: &CancellationToken) {
    stop.cancel();
    let ended = async { while parts.join_next().await.is_some() {} };
    tokio::select! {
        ended = tokio::time::timeout(END_DEADLINE, ended) => {
            if ended.is_err() {
                tracing::warn!("some parts did not end within {END_DEADLINE:?}");
            }
        }
        signal = signals.next() => tracing::warn!(signal, "asked again: not waiting any longer"),
    }
}
