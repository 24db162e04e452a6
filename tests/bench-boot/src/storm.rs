//! A boot storm: a thousand machines that are powered on within ten seconds, each from its first DISCOVER to the boot
//! script in its hands. Arrivals are open: nobody waits for the others.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bessemer_bench::Row;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use crate::SUITE;
use crate::daemon::Daemon;
use crate::lab::{CLIENT_SIDE, Lab};

const MACHINES: u32 = 1000;
const ARRIVALS: Duration = Duration::from_secs(10);
/// As iPXE asks again.
const AGAIN: Duration = Duration::from_secs(1);
const TRIES: usize = 4;

pub(crate) fn measure(lab: &Lab) -> Result<()> {
    let _daemon = Daemon::ours(lab)?;
    let program = std::env::current_exe()?;
    let mut client = lab.client(program.to_str().context("a program whose path is not text")?);
    let output = client.arg("storm").output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [booted, median, slowest, last] = numbers.as_slice() else { anyhow::bail!("the client said {text}") };
    let name = |what: &str| format!("storm, {MACHINES} machines in {} s, DORA and script, {what}", ARRIVALS.as_secs());
    Row::new(SUITE, name("machines that failed"), f64::from(MACHINES) - booted, "").at_most(0.0).print()?;
    Row::new(SUITE, name("p50"), *median, "ms").print()?;
    Row::new(SUITE, name("p99"), *slowest, "ms").at_most(50.0).print()?;
    Row::new(SUITE, name("slowest"), *last, "ms").print()?;
    Ok(())
}

/// The clients' side: prints how many got their script, and the median, the 99th of a hundred and the last in ms.
pub(crate) async fn machines() -> Result<()> {
    let link = Arc::new(Link::open()?);
    let reader = tokio::spawn(Link::read(link.clone()));
    let begin = Instant::now() + Duration::from_millis(200);
    let boots = (0..MACHINES).map(|machine| {
        let link = link.clone();
        let arrives = begin + ARRIVALS * machine / MACHINES;
        tokio::spawn(async move {
            sleep_until(arrives).await;
            let powered_on = Instant::now();
            boot(&link, machine).await.map(|()| powered_on.elapsed())
        })
    });
    let mut times = Vec::new();
    for boot in boots.collect::<Vec<_>>() {
        match boot.await? {
            Ok(took) => times.push(took),
            Err(error) => eprintln!("{error:#}"),
        }
    }
    reader.abort();
    times.sort_unstable();
    let at = |hundredths: usize| {
        let place = (times.len() * hundredths / 100).min(times.len().saturating_sub(1));
        times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    println!("{} {} {} {}", times.len(), at(50), at(99), at(100));
    Ok(())
}

async fn boot(link: &Link, machine: u32) -> Result<()> {
    let offer = link.ask(machine, 1, &[]).await.context("no offer")?;
    let (address, server) = (offer.address, option(&offer.packet, 54).context("an offer of nobody")?.to_vec());
    let chosen = [&[54, 4][..], &server, &[50, 4], &address.octets()].concat();
    let confirmed = link.ask(machine, 3, &chosen).await.context("no confirmation")?;
    ensure!(confirmed.address == address, "another address than offered");
    let url = boot_file(&confirmed.packet).context("no boot file")?;
    let script = fetch(&url).await.with_context(|| url.clone())?;
    ensure!(script.contains("\r\n\r\n#!ipxe\n") && script.contains("\nkernel http://"), "not a script: {script}");
    Ok(())
}

async fn fetch(url: &str) -> Result<String> {
    let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).context("no URL")?;
    let mut stream = TcpStream::connect(host.parse::<SocketAddr>()?).await?;
    stream.write_all(format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    timeout(AGAIN * 5, stream.read_to_string(&mut answer)).await??;
    Ok(answer)
}

struct Reply {
    address: Ipv4Addr,
    packet: Vec<u8>,
}

/// The wire that all machines are on.
struct Link {
    socket: tokio::net::UdpSocket,
    asked: Mutex<HashMap<u32, oneshot::Sender<Vec<u8>>>>,
}

impl Link {
    fn open() -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 68))?;
        socket.set_broadcast(true)?;
        socket.set_nonblocking(true)?;
        let raw = socket2::SockRef::from(&socket);
        raw.bind_device(Some(CLIENT_SIDE.as_bytes()))?;
        raw.set_recv_buffer_size(4 << 20)?;
        Ok(Self { socket: tokio::net::UdpSocket::from_std(socket)?, asked: Mutex::default() })
    }

    /// Hands each answer to the machine that asked.
    async fn read(link: Arc<Self>) -> Result<()> {
        let mut buffer = [0; 2048];
        loop {
            let (len, _) = link.socket.recv_from(&mut buffer).await?;
            let packet = buffer.get(..len).unwrap_or_default();
            let Some(id) = packet.get(4..8).and_then(|id| id.first_chunk()) else { continue };
            let mut asked = link.asked.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(waiting) = asked.remove(&u32::from_be_bytes(*id)) {
                // A machine that gave up does not care.
                let _ = waiting.send(packet.to_vec());
            }
        }
    }

    /// As iPXE does: a message of `kind` with some options more, again each second.
    async fn ask(&self, machine: u32, kind: u8, more: &[u8]) -> Result<Reply> {
        let id = machine << 8 | u32::from(kind);
        let [_, _, high, low] = machine.to_be_bytes();
        let mut packet = vec![1, 1, 6, 0];
        packet.extend(id.to_be_bytes());
        packet.extend([0, 0, 0x80, 0]);
        packet.resize(28, 0);
        packet.extend([0x52, 0x54, 0, 0x42, high, low]);
        packet.resize(236, 0);
        packet.extend([99, 130, 83, 99, 53, 1, kind]);
        packet.extend(b"\x3c\x09PXEClient\x5d\x02\x00\x07\x4d\x04iPXE\x37\x05\x01\x03\x06\x36\x43\xaf\x03\xb1\x01\x04");
        packet.extend(more);
        packet.push(255);
        packet.resize(packet.len().max(300), 0);
        for _ in 0..TRIES {
            let (answer, answered) = oneshot::channel();
            self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(id, answer);
            self.socket.send_to(&packet, (Ipv4Addr::BROADCAST, 67)).await?;
            let Ok(Ok(packet)) = timeout(AGAIN, answered).await else { continue };
            let address: [u8; 4] = *packet.get(16..20).and_then(|octets| octets.first_chunk()).context("cut off")?;
            return Ok(Reply { address: address.into(), packet });
        }
        anyhow::bail!("machine {machine} had no answer in {TRIES} tries")
    }
}

fn option(packet: &[u8], wanted: u8) -> Option<&[u8]> {
    let mut rest = packet.get(240..)?;
    loop {
        match rest {
            [0, after @ ..] => rest = after,
            [code, len, after @ ..] if *code != 255 => {
                let (value, after) = after.split_at_checked(usize::from(*len))?;
                if *code == wanted {
                    return Some(value);
                }
                rest = after;
            }
            _ => return None,
        }
    }
}

fn boot_file(packet: &[u8]) -> Option<String> {
    let fixed = packet.get(108..236)?.split(|octet| *octet == 0).next()?;
    let named = option(packet, 67).unwrap_or(fixed);
    Some(String::from_utf8_lossy(named).trim_end_matches('\0').to_owned()).filter(|name| !name.is_empty())
}
