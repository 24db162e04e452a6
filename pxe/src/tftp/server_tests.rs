//! The server over real sockets: packet-exact conversations, both port modes, limits, and its end.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::*;
use crate::client::ClientIdentity;
use crate::config::{Config, Subnet};
use crate::directory::{BootTarget, DirectoryError, HostDirectory, Lease};
use crate::identity::BootId;
use crate::overlay::BootFiles;
use crate::trace::{Answer, Exchange};

const SILENCE: Duration = Duration::from_millis(150);

/// Remembers what it is told.
#[derive(Default)]
struct Listening(Mutex<Vec<(String, Answer, String)>>);

#[async_trait::async_trait]
impl HostDirectory for Listening {
    async fn boot_target(&self, _: &ClientIdentity) -> Result<BootTarget, DirectoryError> {
        Ok(BootTarget::Nothing)
    }

    async fn lease(
        &self,
        _: &ClientIdentity,
        _: &Subnet,
        _: Option<Ipv4Addr>,
    ) -> Result<Option<Lease>, DirectoryError> {
        Ok(None)
    }

    async fn overlay(&self, _: &BootId) -> Result<BootFiles, DirectoryError> {
        Ok(BootFiles::Unknown)
    }

    fn observed(&self, exchange: &Exchange) {
        let why = exchange.why.clone().unwrap_or_default().into_owned();
        self.0.lock().unwrap().push((exchange.asked.to_string(), exchange.answer.clone(), why));
    }
}

struct Running {
    at: SocketAddr,
    heard: Arc<Listening>,
    cancel: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

fn start(address: IpAddr, limits: TftpLimits) -> Running {
    let listener = Listener::bind("lo", (address, 0).into()).unwrap();
    let at = listener.socket.local_addr().unwrap();
    let mut files = Files::default();
    files.insert("shimx64.efi", Bytes::from_static(b"twenty octets of it."));
    files.insert("large", large().into());
    let heard = Arc::new(Listening::default());
    let server = TftpServer {
        listeners: vec![listener],
        files,
        clients: Clients::new([(address, 8)]),
        limits,
        observer: Observer::new(heard.clone(), &Config::default()),
    };
    let cancel = CancellationToken::new();
    let task = tokio::spawn(server.run(cancel.clone()));
    Running { at, heard, cancel, task }
}

fn large() -> Vec<u8> {
    (0..300_000_u32).map(|n| u8::try_from(n % 251).unwrap()).collect()
}

impl Running {
    async fn stop(self) -> Vec<(String, Answer, String)> {
        self.cancel.cancel();
        tokio::time::timeout(Duration::from_secs(5), self.task).await.unwrap().unwrap();
        std::mem::take(&mut *self.heard.0.lock().unwrap())
    }
}

/// A client with a port of its own. It blocks; the server has its own thread.
struct Client(UdpSocket, SocketAddr);

impl Client {
    fn new(server: SocketAddr) -> Self {
        let any: IpAddr = if server.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        Self(UdpSocket::bind((any, 0)).unwrap(), server)
    }

    /// To the server, or to the port that answered last.
    fn say(&self, message: &[u8]) {
        self.0.send_to(message, self.1).unwrap();
    }

    fn hear(&mut self, patience: Duration) -> Option<Vec<u8>> {
        self.0.set_read_timeout(Some(patience)).unwrap();
        let mut buffer = [0; 2048];
        let (len, from) = self.0.recv_from(&mut buffer).ok()?;
        self.1 = from;
        Some(buffer[..len].to_vec())
    }

    fn must_hear(&mut self) -> Vec<u8> {
        self.hear(Duration::from_secs(5)).expect("no answer")
    }

    /// A whole file by windows.
    fn fetch(&mut self, name: &str, block_size: usize, window: u16) -> Vec<u8> {
        self.say(format!("\0\x01{name}\0octet\0blksize\0{block_size}\0windowsize\0{window}\0").as_bytes());
        assert_eq!(self.must_hear()[1], 6);
        self.say(&[0, 4, 0, 0]);
        let (mut file, mut since) = (Vec::new(), 0);
        loop {
            let message = self.must_hear();
            file.extend_from_slice(&message[4..]);
            since += 1;
            let last = message.len() < block_size + 4;
            if last || since == window {
                since = 0;
                self.say(&[0, 4, message[2], message[3]]);
            }
            if last {
                return file;
            }
        }
    }
}

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Plays a conversation: `>` is said, `<` must be heard.
fn play(name: &str, server: SocketAddr) {
    let path = format!("{}/tests/golden/{name}.hex", env!("CARGO_MANIFEST_DIR"));
    let mut client = Client::new(server);
    for line in std::fs::read_to_string(&path).unwrap().lines() {
        match line.split_at_checked(1) {
            Some(("#", _)) | None => {}
            Some((">", hex)) => client.say(&octets(hex)),
            Some(("<", hex)) => {
                let (heard, expected) = (client.must_hear(), octets(hex));
                assert_eq!(heard.escape_ascii().to_string(), expected.escape_ascii().to_string(), "{name}: {line}");
            }
            _ if line == "silence" => assert_eq!(client.hear(SILENCE), None, "{name}: not silent"),
            _ if line == "another port" => client = Client::new(server),
            _ => panic!("{name}: what is `{line}`?"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn c152_c156_conversations_are_exact_to_the_octet() {
    for single_port in [false, true] {
        let running = start(Ipv4Addr::LOCALHOST.into(), TftpLimits { single_port, ..TftpLimits::default() });
        let at = running.at;
        // C152, C156 and the cases O and P among them.
        for name in [
            "tftp-size-probe",
            "tftp-size-probe-only",
            "tftp-no-options",
            "tftp-unknown-options",
            "tftp-large-block",
            "tftp-window",
            "tftp-refusals",
            "tftp-names",
        ] {
            tokio::task::spawn_blocking(move || play(name, at)).await.unwrap();
        }
        let heard = running.stop().await;
        let probes = heard.iter().filter(|(_, answer, _)| *answer == Answer::Noted).count();
        let failures: Vec<_> = heard.iter().filter(|(_, answer, _)| *answer == Answer::Failed).collect();
        assert_eq!((probes, failures.len()), (2, 0), "{failures:?}");
        let sent = heard.iter().filter(|(_, answer, _)| matches!(answer, Answer::Sent { bytes: 20, .. })).count();
        assert_eq!(sent, 9, "{heard:?}");
        assert!(heard.iter().any(|(asked, answer, why)| asked == "read ../../etc/shadow"
            && *answer == Answer::Refused { code: Some(2) }
            && why == "the file name leaves the directory"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn whole_files_arrive_from_one_port_or_from_many_over_either_protocol() {
    for (address, single_port) in [
        (IpAddr::from(Ipv4Addr::LOCALHOST), false),
        (Ipv4Addr::LOCALHOST.into(), true),
        (Ipv6Addr::LOCALHOST.into(), false),
        (Ipv6Addr::LOCALHOST.into(), true),
    ] {
        let running = start(address, TftpLimits { single_port, ..TftpLimits::default() });
        let at = running.at;
        let fetches: Vec<_> = [(1468, 64), (1468, 1), (512, 3), (8, 64)]
            .map(|(block_size, window)| {
                tokio::task::spawn_blocking(move || {
                    let mut client = Client::new(at);
                    assert!(client.fetch("large", block_size, window) == large(), "{block_size} {window}");
                    assert_eq!(client.1.port() == at.port(), single_port);
                })
            })
            .into();
        for fetch in fetches {
            fetch.await.unwrap();
        }
        let heard = running.stop().await;
        assert_eq!(heard.len(), 4, "{heard:?}");
        assert!(heard.iter().all(|(asked, answer, why)| asked == "read large"
            && matches!(answer, Answer::Sent { bytes: 300_000, resent: 0, .. })
            && why.contains("MB/s in windows of")));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_request_that_comes_again_begins_nothing_new() {
    let limits = TftpLimits { timeout: Duration::from_secs(30), ..TftpLimits::default() };
    let running = start(Ipv4Addr::LOCALHOST.into(), limits);
    let server = running.at;
    let mut client = Client::new(server);
    let request = b"\0\x01large\0octet\0blksize\x001000\0";
    client.say(request);
    let first = client.must_hear();
    let port = client.1;
    client.0.send_to(request, server).unwrap();
    assert_eq!((client.must_hear(), client.1), (first, port), "a second transfer beside the first");
    // Nor does a late copy once something was acknowledged: the transfer goes on.
    client.say(&[0, 4, 0, 0]);
    assert_eq!(client.must_hear()[..4], [0, 3, 0, 1]);
    client.0.send_to(request, server).unwrap();
    assert_eq!((client.hear(SILENCE), client.1), (None, port));
    client.say(&[0, 4, 0, 1]);
    assert_eq!((&client.must_hear()[..4], client.1), (&[0, 3, 0, 2][..], port));
    // Another request from the same port is another transfer, and the first one ends.
    client.0.send_to(b"\0\x01shimx64.efi\0octet\0", server).unwrap();
    assert_eq!(client.must_hear()[..4], [0, 3, 0, 1]);
    assert_ne!(client.1, port);
    client.say(&[0, 4, 0, 1]);
    assert_eq!(client.hear(SILENCE), None);
    let heard = running.stop().await;
    assert_eq!(heard[0].2, "the client began anew after 1000 octets", "{heard:?}");
    assert!(matches!(heard[1].1, Answer::Sent { bytes: 20, .. }), "{heard:?}");
}

/// A ROM with a fixed port that was reset asks for the same file with the same octets.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_client_that_begins_anew_with_the_same_request_is_served_once_the_first_stands_still() {
    let limits = TftpLimits { timeout: Duration::from_millis(200), attempts: 100, ..TftpLimits::default() };
    let running = start(Ipv4Addr::LOCALHOST.into(), limits);
    let server = running.at;
    let mut client = Client::new(server);
    let request = b"\0\x01large\0octet\0";
    client.say(request);
    client.must_hear();
    let first = client.1;
    client.say(&[0, 4, 0, 1]);
    assert_eq!(client.must_hear()[..4], [0, 3, 0, 2]);
    let deadline = Instant::now() + Duration::from_secs(5);
    while client.1 == first {
        assert!(Instant::now() < deadline, "it was never served again");
        client.0.send_to(request, server).unwrap();
        client.must_hear();
    }
    let heard = running.stop().await;
    assert_eq!(heard[0].2, "the client began anew after 512 octets", "{heard:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_lost_block_comes_again_and_a_silent_client_is_given_up() {
    let limits = TftpLimits { timeout: Duration::from_millis(50), attempts: 3, ..TftpLimits::default() };
    let running = start(Ipv4Addr::LOCALHOST.into(), limits);
    let mut client = Client::new(running.at);
    client.say(b"\0\x01large\0octet\0");
    let started = Instant::now();
    let first = client.must_hear();
    assert_eq!((client.must_hear(), client.must_hear()), (first.clone(), first));
    assert!(started.elapsed() >= Duration::from_millis(100));
    assert_eq!(client.hear(SILENCE), None);
    let heard = running.stop().await;
    assert_eq!(heard, [("read large".into(), Answer::Failed, "no acknowledgement after 0 octets".into())]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn one_address_has_a_few_transfers_each_of_which_ends() {
    let whole = Duration::from_millis(600);
    let limits = TftpLimits { transfers_each: 2, attempts: 100, whole, ..TftpLimits::default() };
    let running = start(Ipv4Addr::LOCALHOST.into(), limits);
    let at = running.at;
    let ask = || {
        let mut client = Client::new(at);
        client.say(b"\0\x01large\0octet\0");
        let answered = client.hear(Duration::from_millis(300)).is_some();
        (client, answered)
    };
    let ((mut first, one), (_second, two), (_third, three)) = (ask(), ask(), ask());
    assert_eq!((one, two, three), (true, true, false));
    // The error tells the client that it is over.
    let ended = first.must_hear();
    assert_eq!(ended, b"\0\x05\0\0the transfer took too long\0");
    assert!(ask().1, "the first two never ended");
    let heard = running.stop().await;
    assert_eq!(heard[0].1, Answer::Dropped, "{heard:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn strangers_and_noise_are_counted_and_not_answered() {
    let running = start(Ipv4Addr::LOCALHOST.into(), TftpLimits::default());
    let mut client = Client::new(running.at);
    for noise in [&b""[..], b"\0", b"\xff\xff\xff", b"\0\x01unended", b"\0\x05\0\0\0", &[0; 2000]] {
        client.say(noise);
    }
    assert_eq!(client.hear(SILENCE), None);
    assert!(running.stop().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_thread_ends_with_the_task() {
    let running = start(Ipv4Addr::LOCALHOST.into(), TftpLimits::default());
    let at = running.at;
    running.task.abort();
    let deadline = Instant::now() + Duration::from_secs(5);
    // Its port is free again once the thread is gone.
    while UdpSocket::bind(at).is_err() {
        assert!(Instant::now() < deadline, "the port is still taken");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
