//! The long-lived stream: one request that never ends, lines of JSON both ways. It is opened again and again for as long as the agent
//! lives; what was not heard is said again by the [`Session`].

use std::convert::Infallible;
use std::future::Future;
use std::time::{Duration, Instant};

use bessemer_protocol::{Down, HEARTBEAT_SECONDS, MAX_LINE, Up, decode_line, encode_line};
use bytes::Bytes;
use reqwest::Body;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tracing::info;

use super::Controllers;
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
    /// One message of the controller.
    fn hear(&mut self, message: Down);
}

/// Keeps a stream open for ever.
pub(crate) async fn keep_open(controllers: &Controllers, session: &mut impl Session) -> Infallible {
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
async fn one_stream(controllers: &Controllers, session: &mut impl Session) -> String {
    let (up, body) = mpsc::channel::<Result<Bytes, Infallible>>(16);
    let mut speaker = Speaker { up, last: Instant::now() };
    let opened = controllers.open("/v1/stream", Body::wrap_stream(ReceiverStream::new(body)));
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
            chunk = down.chunk() => match chunk {
                Ok(Some(chunk)) => {
                    heard = Instant::now();
                    match lines.feed(&chunk) {
                        Ok(messages) => messages.into_iter().for_each(|message| session.hear(message)),
                        Err(reason) => return reason,
                    }
                }
                Ok(None) => return "ended by the controller".to_owned(),
                Err(error) => return super::controllers::innermost(&error),
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

/// Cuts chunks into messages.
#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    fn feed(&mut self, chunk: &[u8]) -> Result<Vec<Down>, String> {
        let mut messages = Vec::new();
        self.rest.extend_from_slice(chunk);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            messages.push(decode_line(&line).map_err(|error| error.to_string())?);
        }
        if self.rest.len() > MAX_LINE {
            return Err(format!("the controller sent a line of more than {MAX_LINE} bytes"));
        }
        Ok(messages)
    }
}

#[cfg(test)]
mod tests {
    use bessemer_protocol::WorkId;

    use super::*;

    #[test]
    fn messages_come_out_whole_however_the_chunks_fall() {
        let sent = [Down::Heartbeat, Down::Stored { work_id: WorkId::random() }, Down::Heartbeat];
        let bytes: Vec<u8> = sent.iter().flat_map(|message| encode_line(message).unwrap()).collect();
        for size in [1, 7, bytes.len()] {
            let mut lines = Lines::default();
            let got: Vec<Down> = bytes.chunks(size).flat_map(|chunk| lines.feed(chunk).unwrap()).collect();
            assert_eq!(got, sent);
        }
    }

    #[test]
    fn a_line_without_end_is_cut_off() {
        assert!(Lines::default().feed(&vec![b'x'; MAX_LINE + 1]).is_err());
    }
}
