//! Files over HTTP beside nginx: the same files from the same folder to the same client.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use bessemer_bench::{Rounds, Row};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::SUITE;
use crate::daemon::Daemon;
use crate::lab::{Lab, SERVER};

/// Where ours listens, and nginx.
pub(crate) const PORT: u16 = 8080;
const PEER: u16 = 8081;
/// A file of each kind in the folder that both serve as `/images`.
const SMALL: (&str, usize) = ("small", 16 * 1024);
const LARGE: (&str, usize) = ("large", 256 * 1024 * 1024);

const WARM_UP: Duration = Duration::from_millis(300);
const MEASURED: Duration = Duration::from_millis(1700);
/// Each measurement is made this often, in turns.
const ROUNDS: usize = 7;

/// Name, file, connections, whether octets count instead of answers.
const LOADS: [(&str, (&str, usize), usize, bool); 4] = [
    ("http, 16 KiB file, 64 connections", SMALL, 64, false),
    ("http, 16 KiB file, 1000 connections", SMALL, 1000, false),
    ("http, 256 MiB file, 1 connection", LARGE, 1, true),
    ("http, 256 MiB file, 64 connections", LARGE, 64, true),
];

/// The folder that [`measure`] needs its servers to serve as `/images`.
pub(crate) fn make_files(folder: &Path) -> Result<()> {
    let images = folder.join("images");
    fs::create_dir_all(&images)?;
    for (name, size) in [SMALL, LARGE] {
        fs::write(images.join(name), vec![0x5a; size])?;
    }
    Ok(())
}

pub(crate) fn measure(lab: &Lab) -> Result<()> {
    let folder = tempfile::tempdir()?;
    make_files(folder.path())?;
    // The one that is not asked waits and costs nothing.
    let _ours = Daemon::ours_with(lab, &folder.path().join("images"))?;
    let peer = Daemon::nginx(lab, folder.path(), PEER)?;
    for (name, (file, _), connections, octets) in LOADS {
        let (mut ours, mut theirs) = (Rounds::default(), Rounds::default());
        for _ in 0..ROUNDS {
            ours.push(run(lab, PORT, file, connections, octets)?);
            theirs.push(run(lab, PEER, file, connections, octets)?);
        }
        println!("{name}: ours {ours}, {} {theirs}", peer.name);
        let unit = if octets { "MiB/s" } else { "/s" };
        Row::new(SUITE, name, ours.median(), unit).beside(&peer.name, theirs.median()).at_least_times(1.0).print()?;
    }
    Ok(())
}

fn run(lab: &Lab, port: u16, file: &str, connections: usize, octets: bool) -> Result<f64> {
    let program = std::env::current_exe()?;
    let mut client = lab.client(program.to_str().context("a program whose path is not text")?);
    let output = client.args(["http", &port.to_string(), file, &connections.to_string()]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (answers, bytes) = text.trim().split_once(' ').context("the client said nothing")?;
    Ok(if octets { bytes.parse::<f64>()? / 1024.0 / 1024.0 } else { answers.parse()? })
}

/// The client's side: prints answers and octets a second.
pub(crate) async fn load(port: u16, file: &str, connections: usize) -> Result<()> {
    let begin = Instant::now() + WARM_UP;
    let end = begin + MEASURED;
    let clients: Vec<_> =
        (0..connections).map(|_| tokio::spawn(client(port, format!("/images/{file}"), begin, end))).collect();
    let (mut answers, mut octets) = (0_u64, 0_u64);
    for client in clients {
        let (more_answers, more_octets) = client.await??;
        answers += more_answers;
        octets += more_octets;
    }
    let seconds = MEASURED.as_secs_f64();
    println!("{} {}", answers as f64 / seconds, octets as f64 / seconds);
    Ok(())
}

/// One connection that is kept: answers that came to their end, and octets, between `begin` and `end`.
async fn client(port: u16, path: String, begin: Instant, end: Instant) -> Result<(u64, u64)> {
    let mut stream = TcpStream::connect((SERVER, port)).await?;
    stream.set_nodelay(true)?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {SERVER}\r\n\r\n");
    let mut buffer = vec![0; 256 * 1024];
    let (mut answers, mut octets) = (0, 0);
    loop {
        stream.write_all(request.as_bytes()).await?;
        let (mut head, mut left) = (Vec::new(), None);
        while left != Some(0) {
            let read = stream.read(&mut buffer).await?;
            let now = Instant::now();
            if now >= end {
                return Ok((answers, octets));
            }
            ensure!(read > 0, "closed in the middle of an answer");
            let got = buffer.get(..read).unwrap_or_default();
            let body = match left {
                Some(left) => left - read,
                None => {
                    head.extend_from_slice(got);
                    let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
                    length(&head)?.checked_sub(head.len() - end - 4).context("more than was announced")?
                }
            };
            left = Some(body);
            if now >= begin {
                octets += read as u64;
                answers += u64::from(body == 0);
            }
        }
    }
}

fn length(head: &[u8]) -> Result<usize> {
    let head = String::from_utf8_lossy(head);
    if !head.starts_with("HTTP/1.1 200 ") {
        bail!("not a file: {}", head.lines().next().unwrap_or_default());
    }
    let field = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).context("no length")?;
    Ok(field.trim().parse()?)
}
