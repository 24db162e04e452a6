//! The long-lived stream: one request that never ends, lines of JSON both ways. It is opened again and again for as long as the agent
//! lives; what was not heard is said again by the [`Session`].

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use bessemer_protocol::{
    Down, Failure, FailureCode, HEARTBEAT_SECONDS, Lines, Outcome, Up, WorkId, decode_line, encode_line,
};
use bytes::Bytes;
use reqwest::{Body, Response};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tracing::info;

use super::{Controllers, LinkError};
use crate::backoff::Backoff;

/// How often a session is asked for what is worth saying but not worth waking for, such as progress.
const TICK: Duration = Duration::from_secs(1);

/// A controller that is silent for three heartbeats is gone.
const SILENCE: Duration = Duration::from_secs(3 * HEARTBEAT_SECONDS);

/// Longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// What one role says and hears.
pub(crate) trait Session {
    /// First on every new stream. Forgets what was said on an earlier one.
    fn open(&mut self) -> Vec<Up>;
    /// What has come up since it was last asked.
    fn pending(&mut self) -> Vec<Up>;
    /// Returns when there is something pending that should not wait for the next tick.
    fn changed(&mut self) -> impl Future<Output = ()>;
    /// One message of the controller; not its refusals, which end the stream.
    fn hear(&mut self, message: Down);
}

/// What goes up a stream, in the order in which it was said.
pub(crate) type Upwards = mpsc::Receiver<Result<Bytes, Infallible>>;

/// Whoever streams are opened to.
pub(crate) trait Peers {
    /// What comes down an open one.
    type Downwards: Downwards;
    /// Opens one that carries `up`. Returns when the other side has accepted it.
    fn open(&self, up: Upwards) -> impl Future<Output = Result<Self::Downwards, LinkError>>;
}

/// The other side's half of a stream.
pub(crate) trait Downwards {
    /// The next bytes; none at its end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, String>>;
}

impl Peers for Controllers {
    type Downwards = Response;

    async fn open(&self, up: Upwards) -> Result<Response, LinkError> {
        Controllers::open(self, "/v1/stream", Body::wrap_stream(ReceiverStream::new(up))).await
    }
}

impl Downwards for Response {
    async fn next(&mut self) -> Result<Option<Bytes>, String> {
        self.chunk().await.map_err(|error| super::controllers::innermost(&error))
    }
}

/// Keeps a stream open for ever.
pub(crate) async fn keep_open(controllers: &impl Peers, session: &mut impl Session) -> Infallible {
    let mut backoff = Backoff::new(Duration::from_millis(500), LONGEST_PAUSE);
    loop {
        let opened = Instant::now();
        let reason = one_stream(controllers, session).await;
        if opened.elapsed() > LONGEST_PAUSE {
            backoff.reset();
        }
        let pause = backoff.next();
        info!("stream to the controller: {reason}; opening it again in {:.1} s", pause.as_secs_f32());
        tokio::time::sleep(pause).await;
    }
}

/// Returns why it ended.
async fn one_stream(controllers: &impl Peers, session: &mut impl Session) -> String {
    let (up, body) = mpsc::channel(16);
    let mut speaker = Speaker { up, last: Instant::now() };
    let opened = controllers.open(body);
    let opening = session.open();
    let greeted = async {
        for message in &opening {
            speaker.say(message).await?;
        }
        Ok::<(), String>(())
    };
    // Together, as the opening may be more than the channel holds and the controller may want it before it answers.
    let (mut down, greeted) = match tokio::join!(opened, greeted) {
        (Ok(down), greeted) => (down, greeted),
        (Err(error), _) => return error.to_string(),
    };
    if let Err(reason) = greeted {
        return reason;
    }
    info!("stream to the controller is open");
    let mut lines = Lines::default();
    let mut heard = Instant::now();
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            chunk = down.next() => match chunk {
                Ok(Some(chunk)) => {
                    heard = Instant::now();
                    lines.feed(&chunk);
                    loop {
                        let heard = match lines.next_line() {
                            Ok(None) => break,
                            Ok(Some(line)) => understand(line),
                            Err(error) => return error.to_string(),
                        };
                        match heard {
                            Ok(Heard::Message(Down::Refused(refusal))) => return format!("refused: {}", refusal.message),
                            Ok(Heard::Message(message)) => session.hear(message),
                            Ok(Heard::UnknownWork(id)) => {
                                if let Err(reason) = speaker.say(&unknown_work(id)).await {
                                    return reason;
                                }
                            }
                            Err(reason) => return reason,
                        }
                    }
                }
                Ok(None) => return "ended by the controller".to_owned(),
                Err(reason) => return reason,
            },
            () = session.changed() => {}
            _ = tick.tick() => {
                if heard.elapsed() > SILENCE {
                    return format!("controller silent for {} s", SILENCE.as_secs());
                }
            }
        }
        for message in session.pending() {
            if let Err(reason) = speaker.say(&message).await {
                return reason;
            }
        }
        if speaker.last.elapsed() >= Duration::from_secs(HEARTBEAT_SECONDS)
            && let Err(reason) = speaker.say(&Up::Heartbeat).await
        {
            return reason;
        }
    }
}

struct Speaker {
    up: mpsc::Sender<Result<Bytes, Infallible>>,
    last: Instant,
}

impl Speaker {
    async fn say(&mut self, message: &Up) -> Result<(), String> {
        let line = encode_line(message).map_err(|error| error.to_string())?;
        match tokio::time::timeout(SILENCE, self.up.send(Ok(line.into()))).await {
            Ok(Ok(())) => {
                self.last = Instant::now();
                Ok(())
            }
            Ok(Err(_)) => Err("closed by the controller".to_owned()),
            Err(_) => Err(format!("controller reads nothing for {} s", SILENCE.as_secs())),
        }
    }
}

/// One line of the controller's. A work item of a kind that this agent does not know is refused by its id; anything else that is unknown ends the
/// stream.
fn understand(line: &[u8]) -> Result<Heard, String> {
    let error = match decode_line(line) {
        Ok(message) => return Ok(Heard::Message(message)),
        Err(error) => error,
    };
    #[derive(serde::Deserialize)]
    struct Item {
        r#type: String,
        id: WorkId,
    }
    match decode_line::<Item>(line) {
        Ok(item) if item.r#type == "work" => Ok(Heard::UnknownWork(item.id)),
        _ => Err(error.to_string()),
    }
}

#[expect(clippy::large_enum_variant, reason = "one is in memory at a time, and a box would be in the reader's way")]
enum Heard {
    Message(Down),
    UnknownWork(WorkId),
}

fn unknown_work(work_id: WorkId) -> Up {
    let message = format!(
        "agent {} does not know this kind of work, or a part of it: build the ramdisk from the controller's release",
        crate::VERSION
    );
    Up::Result { work_id, outcome: Outcome::Failed(Failure { code: FailureCode::Refused, message }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_a_newer_controller_is_refused_by_its_id() {
        let id = WorkId::random();
        let line = format!("{{\"type\":\"work\",\"id\":\"{id}\",\"work\":{{\"kind\":\"levitate\"}}}}\n");
        assert!(matches!(understand(line.as_bytes()), Ok(Heard::UnknownWork(unknown)) if unknown == id));
        assert!(understand(b"{\"type\":\"levitate\"}\n").is_err());
        assert!(understand(b"{\"type\":\"work\"}\n").is_err());
        let known = encode_line(&Down::Stored { work_id: id }).unwrap();
        assert!(matches!(understand(&known), Ok(Heard::Message(Down::Stored { .. }))));
    }
}
