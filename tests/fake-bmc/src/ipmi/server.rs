//! The socket, the clock, and what tests hold of a running controller.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::controller::{Controller, Counts, Shared};
use super::faults::{Faults, due};
use super::sensors::Sensors;
use super::sol::{self, HostConsole, Port};
use crate::Host;
use crate::host::locked;

/// How a controller is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; port 0 for any.
    pub listen: SocketAddr,
    /// Numbers of the cipher suites it accepts, of 17 and 3.
    pub suites: Vec<u8>,
    /// IANA number of its manufacturer.
    pub manufacturer: u32,
    /// The manufacturer's number of it.
    pub product: u16,
    /// Number of its LAN channel.
    pub lan_channel: u8,
    /// Other LAN channels, which have no address.
    pub idle_channels: Vec<u8>,
    /// Whether the serial console may be used.
    pub sol_enabled: bool,
    /// Whether Get Channel Cipher Suites is known.
    pub lists_cipher_suites: bool,
    /// How long boot flags hold that nobody asked to keep: 60 s in the specification.
    pub boot_flags_hold: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: ([127, 0, 0, 1], 0).into(),
            suites: vec![17, 3],
            // Reserved for examples.
            manufacturer: 32473,
            product: 0x0b5e,
            lan_channel: 1,
            idle_channels: Vec::new(),
            sol_enabled: true,
            lists_cipher_suites: true,
            boot_flags_hold: Duration::from_secs(60),
        }
    }
}

/// A running controller; dropping it ends it.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    orders: mpsc::UnboundedSender<Order>,
    task: JoinHandle<()>,
}

enum Order {
    ForgetSessions,
    Suites(Vec<u8>),
}

impl Server {
    /// Starts a controller whose serial port sends back what it gets.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn start(host: Arc<Host>, options: Options) -> io::Result<Self> {
        Self::start_with(host, options, Port::Echo).await
    }

    /// Starts a controller, and gives the server's side of its serial port.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn start_with_console(host: Arc<Host>, options: Options) -> io::Result<(Self, HostConsole)> {
        let (port, console) = sol::host_port();
        Ok((Self::start_with(host, options, port).await?, console))
    }

    async fn start_with(host: Arc<Host>, options: Options, port: Port) -> io::Result<Self> {
        let socket = UdpSocket::bind(options.listen).await?;
        let address = socket.local_addr()?;
        let shared = Arc::new(Shared::default());
        let (orders, received) = mpsc::unbounded_channel();
        let controller = Controller::new(host, Arc::clone(&shared), options, port, address.port());
        let task = tokio::spawn(Loop { socket, controller, orders: received, held: Vec::new() }.run());
        Ok(Self { address, shared, orders, task })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What goes wrong with it, to be changed; hold the lock shortly.
    pub fn faults(&self) -> MutexGuard<'_, Faults> {
        locked(&self.shared.faults)
    }

    /// What its sensors read, to be changed; hold the lock shortly.
    pub fn sensors(&self) -> MutexGuard<'_, Sensors> {
        locked(&self.shared.sensors)
    }

    /// Sessions that are open now.
    #[must_use]
    pub fn open_sessions(&self) -> usize {
        self.counts().open
    }

    /// Sessions that were ever opened.
    #[must_use]
    pub fn sessions_opened(&self) -> u64 {
        self.counts().opened
    }

    /// Requests that came in sessions, repetitions included.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.counts().requests
    }

    /// Breaks that came over the serial console.
    #[must_use]
    pub fn breaks(&self) -> u64 {
        self.counts().breaks
    }

    /// Cold and warm resets of the controller.
    #[must_use]
    pub fn resets(&self) -> (u64, u64) {
        let counts = self.counts();
        (counts.cold_resets, counts.warm_resets)
    }

    /// Ends all sessions without telling anybody, as a restart does.
    pub fn forget_sessions(&self) {
        // The task lives as long as this does.
        let _ = self.orders.send(Order::ForgetSessions);
    }

    /// Changes which cipher suites are accepted.
    pub fn set_suites(&self, suites: &[u8]) {
        let _ = self.orders.send(Order::Suites(suites.to_vec()));
    }

    fn counts(&self) -> Counts {
        *locked(&self.shared.counts)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Loop {
    socket: UdpSocket,
    controller: Controller,
    orders: mpsc::UnboundedReceiver<Order>,
    held: Vec<(SocketAddr, Vec<u8>)>,
}

impl Loop {
    async fn run(mut self) {
        let mut buffer = [0; 2048];
        loop {
            for (peer, datagram) in self.controller.tick() {
                self.send(peer, &datagram).await;
            }
            let deadline = self.controller.deadline();
            let prints = self.controller.has_room();
            let from_host = match &mut self.controller.port {
                Port::Host { from_host, .. } if prints => Some(from_host),
                _ => None,
            };
            tokio::select! {
                // Orders first: a test that gave one expects it of the next datagram.
                biased;
                Some(order) = self.orders.recv() => match order {
                    Order::ForgetSessions => self.controller.forget_sessions(),
                    Order::Suites(suites) => self.controller.suites = suites,
                },
                Ok((length, peer)) = self.socket.recv_from(&mut buffer) => {
                    let datagrams = self.controller.receive(buffer.get(..length).unwrap_or_default(), peer);
                    self.answer(peer, datagrams).await;
                    for (peer, datagram) in std::mem::take(&mut self.controller.last_words) {
                        self.send(peer, &datagram).await;
                    }
                }
                Some(printed) = printed(from_host) => self.controller.print(&printed),
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {}
            }
        }
    }

    async fn answer(&mut self, peer: SocketAddr, datagrams: Vec<Vec<u8>>) {
        if datagrams.is_empty() {
            return;
        }
        let (latency, lost, held) = {
            let mut faults = self.controller.faults();
            (faults.latency, due(&mut faults.lose_answers), due(&mut faults.hold_answers))
        };
        if !latency.is_zero() {
            sleep(latency).await;
        }
        if lost {
            return;
        }
        if held {
            self.held.extend(datagrams.into_iter().map(|datagram| (peer, datagram)));
            return;
        }
        for datagram in datagrams {
            self.send(peer, &datagram).await;
        }
        for (peer, datagram) in std::mem::take(&mut self.held) {
            self.send(peer, &datagram).await;
        }
    }

    /// A console that is gone is not our concern.
    async fn send(&self, peer: SocketAddr, datagram: &[u8]) {
        let _ = self.socket.send_to(datagram, peer).await;
    }
}

/// The server's next characters; never, where there is nobody to print.
async fn printed(from_host: Option<&mut mpsc::Receiver<Vec<u8>>>) -> Option<Vec<u8>> {
    match from_host {
        Some(from_host) => from_host.recv().await,
        None => std::future::pending().await,
    }
}
