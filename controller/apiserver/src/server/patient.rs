//! A connection whose far side must take what is sent to it within a time. Without that, a client that is gone or does
//! not read would hold its connection, and what is to be sent, for as long as it likes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A stream that fails once a write has waited too long.
pub(super) struct Patient<S> {
    inner: S,
    patience: Duration,
    /// Set while a write waits.
    deadline: Pin<Box<Sleep>>,
    waiting: bool,
}

impl<S> Patient<S> {
    pub(super) fn new(inner: S, patience: Duration) -> Self {
        Self { inner, patience, deadline: Box::pin(tokio::time::sleep(patience)), waiting: false }
    }

    /// Passes on what a write came to; fails when it has waited too long.
    fn judge<T>(&mut self, context: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.waiting = false;
            return result;
        }
        if !self.waiting {
            self.waiting = true;
            self.deadline.as_mut().reset(Instant::now() + self.patience);
        }
        ready!(self.deadline.as_mut().poll(context));
        self.waiting = false;
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not take what is sent to it")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(context, buf);
        self.judge(context, result)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_flush(context);
        self.judge(context, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_shutdown(context);
        self.judge(context, result)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_client_that_does_not_read_is_given_up() {
        const PATIENCE: Duration = Duration::from_millis(200);
        let (near, mut far) = tokio::io::duplex(16);
        let mut near = Patient::new(near, PATIENCE);
        near.write_all(&[0; 16]).await.unwrap();
        let begun = Instant::now();
        let error = near.write_all(&[0; 1]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= PATIENCE);
        // A slow one is not: each byte it takes gives it more time.
        let slow = tokio::spawn(async move {
            let mut taken = [0; 16];
            far.read_exact(&mut taken).await.unwrap();
            for _ in 0..40 {
                tokio::time::sleep(PATIENCE / 10).await;
                far.read_u8().await.unwrap();
            }
        });
        near.write_all(&[0; 40]).await.unwrap();
        assert!(begun.elapsed() >= PATIENCE * 3);
        slow.await.unwrap();
    }
}
