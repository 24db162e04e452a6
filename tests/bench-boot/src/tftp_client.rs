//! A TFTP client with windows (RFC 7440) that loses no time: it counts what it gets.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

const PATIENCE: Duration = Duration::from_secs(10);

/// Fetches a file and returns its length.
pub(crate) fn fetch(server: Ipv4Addr, name: &str, block_size: usize, window: u16) -> Result<usize> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let windows = if window > 1 { format!("windowsize\0{window}\0") } else { String::new() };
    let request = format!("\0\x01{name}\0octet\0blksize\0{block_size}\0{windows}");
    socket.send_to(request.as_bytes(), (server, 69))?;
    let mut buffer = vec![0; block_size + 4];
    let (len, from) = socket.recv_from(&mut buffer).context("no answer")?;
    socket.connect(from)?;
    let answer = buffer.get(..len).unwrap_or_default();
    ensure!(answer.starts_with(&[0, 6]), "no option acknowledgement: {}", answer.escape_ascii());
    let granted = answer.windows(11).any(|part| part == b"windowsize\0");
    let window = if granted { window } else { 1 };
    socket.send(&[0, 4, 0, 0])?;
    let (mut total, mut next, mut since) = (0, 1_u16, 0);
    loop {
        let len = socket.recv(&mut buffer).context("the server went silent")?;
        let Some(([_, kind, high, low], data)) = buffer.get(..len).unwrap_or_default().split_first_chunk::<4>() else {
            bail!("a message of {len} octets");
        };
        ensure!(*kind == 3, "not a block: kind {kind}");
        if u16::from_be_bytes([*high, *low]) != next {
            // Lost: the last one in order, once for each window.
            if since != u16::MAX {
                socket.send(&[[0, 4], next.wrapping_sub(1).to_be_bytes()].concat())?;
                since = u16::MAX;
            }
            continue;
        }
        total += data.len();
        since = if since == u16::MAX { 1 } else { since + 1 };
        let is_last = data.len() < block_size;
        if is_last || since == window {
            socket.send(&[0, 4, *high, *low])?;
            since = 0;
        }
        if is_last {
            return Ok(total);
        }
        next = next.wrapping_add(1);
    }
}
