//! The tokio driver of a serial console: a session of its own, a task that keeps it, a stream for whoever looks on.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rand::RngExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::Link;
use crate::command::{Command, DeactivateSol, GetDeviceId};
use crate::message;
use crate::open::Open;
use crate::packet::PayloadType;

/// Characters kept for a reader that is slow; past them the BMC is told to wait.
const BUFFER: usize = 16 * 1024;
/// A packet that is not acknowledged goes out again after this long.
const REPEAT_AFTER: Duration = Duration::from_millis(500);
/// Silence after which the BMC is asked whether it is still there; well within its own 60 s.
const ASK_AFTER: Duration = Duration::from_secs(15);
/// Silence after which it is not.
const LOST_AFTER: Duration = Duration::from_secs(45);
/// For typed characters still under way, and then for the end of the payload, when a console is closed.
const FAREWELL: Duration = Duration::from_secs(2);

/// A server's serial console: reads what it prints, writes what is typed.
///
/// Shutting it down ends payload and session, and is over when the BMC has let go of them or had a few seconds for it;
/// dropping it does so in the background, as far as the runtime lives on. Reading fails once the BMC has gone silent
/// or has given the console to somebody else.
#[derive(Debug)]
pub struct Console {
    stream: DuplexStream,
    orders: mpsc::Sender<Order>,
    end: Arc<OnceLock<End>>,
    /// `None` once it has ended.
    task: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Order {
    Break,
}

/// Why a console ended without being closed.
#[derive(Clone, Copy, Debug)]
enum End {
    Deactivated,
    Silent,
}

impl Console {
    /// Takes over a session whose payload has just been activated.
    pub(crate) fn start(open: Open, payload_max: u16) -> Self {
        let (stream, far) = tokio::io::duplex(BUFFER);
        let (input, output) = tokio::io::split(far);
        let (orders, received) = mpsc::channel(4);
        let end = Arc::new(OnceLock::new());
        let now = Instant::now();
        let line = Line {
            open,
            link: Link::new(payload_max),
            output,
            input: Some(input),
            orders: received,
            shown: Vec::new(),
            repeat_at: now,
            heard: now,
            asked: now,
        };
        let told = Arc::clone(&end);
        let task = tokio::spawn(async move {
            if let Some(why) = line.run().await {
                // Only this task writes it.
                let _ = told.set(why);
            }
        });
        Self { stream, orders, end, task: Some(task) }
    }

    /// Sends a break, as for the kernel's "magic" keys.
    ///
    /// # Errors
    /// When the console has ended.
    pub async fn send_break(&self) -> io::Result<()> {
        self.orders.send(Order::Break).await.map_err(|_| self.ended())
    }

    /// Sends what is still under way, then ends payload and session. Takes a few seconds at most.
    pub async fn close(mut self) {
        if let Err(error) = self.shutdown().await {
            tracing::debug!(%error, "a serial console did not end as it should");
        }
    }

    fn ended(&self) -> io::Error {
        match self.end.get() {
            Some(End::Deactivated) => io::Error::new(
                io::ErrorKind::ConnectionReset,
                "the bmc ended the serial console: somebody else took it, or it was switched off",
            ),
            Some(End::Silent) => io::Error::new(io::ErrorKind::TimedOut, "the bmc fell silent"),
            None => io::ErrorKind::BrokenPipe.into(),
        }
    }
}

impl AsyncRead for Console {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(cx, buf);
        // The task ends the stream after it has said why.
        match result {
            Poll::Ready(Ok(())) if buf.filled().len() == before && buf.remaining() > 0 && self.end.get().is_some() => {
                Poll::Ready(Err(self.ended()))
            }
            result => result,
        }
    }
}

impl AsyncWrite for Console {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(cx, buf) {
            Poll::Ready(Err(_)) => Poll::Ready(Err(self.ended())),
            result => result,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        // The task hears of it, takes its leave of the BMC within two farewells, and ends.
        let Some(task) = &mut self.task else { return Poll::Ready(Ok(())) };
        let ended = ready!(Pin::new(task).poll(cx));
        self.task = None;
        Poll::Ready(ended.map_err(io::Error::other))
    }
}

/// The task's side.
struct Line {
    open: Open,
    link: Link,
    /// To whoever looks on.
    output: WriteHalf<DuplexStream>,
    /// From whoever types; `None` once they have gone.
    input: Option<ReadHalf<DuplexStream>>,
    orders: mpsc::Receiver<Order>,
    /// Characters on their way to whoever looks on.
    shown: Vec<u8>,
    repeat_at: Instant,
    heard: Instant,
    asked: Instant,
}

impl Line {
    async fn run(mut self) -> Option<End> {
        let end = self.carry().await;
        if end.is_none() {
            let until = Instant::now() + FAREWELL;
            // What goes unanswered here ends by itself when the BMC misses us.
            let _ = self.open.execute(&DeactivateSol, REPEAT_AFTER, until).await;
        }
        end
    }

    /// Carries characters both ways until one side ends it; `None` when it was ours.
    async fn carry(&mut self) -> Option<End> {
        let mut datagram = vec![0; crate::wire::DATAGRAM_MAX];
        let mut typed = [0; 512];
        let mut leave_at = None;
        loop {
            self.transmit().await;
            let now = Instant::now();
            if now >= self.heard + LOST_AFTER {
                return Some(End::Silent);
            }
            if leave_at.is_some_and(|at| now >= at || self.link.is_idle()) {
                return None;
            }
            let room = self.link.room().min(typed.len());
            let (repeat_at, repeats) = (self.repeat_at, self.link.is_waiting());
            let next_question = self.asked.max(self.heard) + ASK_AFTER;
            tokio::select! {
                length = self.open.wire.receive(&mut datagram) => {
                    let received = length.ok().and_then(|length| datagram.get(..length));
                    if let Some(End::Deactivated) = received.and_then(|bytes| self.on_datagram(bytes)) {
                        return Some(End::Deactivated);
                    }
                }
                count = read(&mut self.input, typed.get_mut(..room).unwrap_or_default()), if room > 0 && self.input.is_some() => {
                    match count {
                        Some(count) => { self.link.type_in(typed.get(..count).unwrap_or_default()); }
                        None => {
                            self.input = None;
                            leave_at = Some(Instant::now() + FAREWELL);
                        }
                    }
                }
                written = self.output.write(&self.shown), if !self.shown.is_empty() && leave_at.is_none() => {
                    match written {
                        Ok(count) => { self.shown.drain(..count); }
                        Err(_) => self.shown.clear(),
                    }
                    if self.shown.is_empty() {
                        self.link.resume();
                    }
                }
                Some(Order::Break) = self.orders.recv() => self.link.send_break(),
                () = sleep_until(repeat_at), if repeats => {
                    if let Some(payload) = self.link.repeat() {
                        self.send(&payload).await;
                    }
                }
                () = sleep_until(next_question) => self.ask().await,
                () = sleep_until(leave_at.unwrap_or(now)), if leave_at.is_some() => {}
            }
        }
    }

    async fn transmit(&mut self) {
        while let Some(payload) = self.link.transmit() {
            self.send(&payload).await;
        }
    }

    async fn send(&mut self, payload: &[u8]) {
        self.repeat_at = Instant::now() + REPEAT_AFTER;
        let datagram = self.open.session.seal_as(PayloadType::SerialOverLan, payload, rand::rng().random());
        self.tell(&datagram).await;
    }

    /// Any answer will do.
    async fn ask(&mut self) {
        self.asked = Instant::now();
        let sequence = self.open.session.next_request();
        let message = message::encode_request(GetDeviceId::NETWORK_FUNCTION, GetDeviceId::NUMBER, sequence, &[]);
        let datagram = self.open.session.seal(&message, rand::rng().random());
        self.tell(&datagram).await;
    }

    async fn tell(&mut self, datagram: &[u8]) {
        if let Err(error) = self.open.wire.send(datagram).await {
            tracing::debug!(%error, "could not send to a bmc");
        }
    }

    fn on_datagram(&mut self, datagram: &[u8]) -> Option<End> {
        let (kind, payload) = self
            .open
            .session
            .open_any(datagram)
            .inspect_err(|why| tracing::debug!(%why, "ignoring a datagram"))
            .ok()?;
        self.heard = Instant::now();
        if kind != PayloadType::SerialOverLan {
            return None;
        }
        let room = if self.shown.is_empty() { BUFFER } else { 0 };
        match self.link.receive(&payload, room) {
            Ok(incoming) => {
                if incoming.overrun {
                    tracing::debug!("a bmc lost characters of a serial console");
                }
                self.shown.extend(incoming.data);
                incoming.deactivated.then_some(End::Deactivated)
            }
            Err(why) => {
                tracing::debug!(%why, "ignoring a serial over lan packet");
                None
            }
        }
    }
}

/// How much was typed; `None` once there is nobody to type.
async fn read(input: &mut Option<ReadHalf<DuplexStream>>, into: &mut [u8]) -> Option<usize> {
    match input.as_mut()?.read(into).await {
        Ok(0) | Err(_) => None,
        Ok(count) => Some(count),
    }
}
