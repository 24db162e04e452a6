//! For fuzzing and for captured traffic: whole exchanges with a directory that knows everybody.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use futures::FutureExt;

use super::boot_file::Programs;
use super::engine::{Engine, Port};
use super::packet::Packet;
use super::place::Destination;
use crate::client::ClientIdentity;
use crate::config::{Config, Interface, Mode, Reach, Subnet};
use crate::directory::{BootTarget, DirectoryError, HostDirectory, Lease};
use crate::identity::BootId;
use crate::overlay::BootFiles;
use crate::trace::Observer;

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

struct Everybody;

#[async_trait::async_trait]
impl HostDirectory for Everybody {
    async fn boot_target(&self, who: &ClientIdentity) -> Result<BootTarget, DirectoryError> {
        let boot_id = BootId(7);
        Ok(match who.mac().map_or(0, |mac| mac.hash()) % 5 {
            0 => BootTarget::LocalDisk,
            1 => BootTarget::PowerOff,
            2 => BootTarget::LiveIso { boot_id, url: "http://10.77.0.9/live.iso".into() },
            3 => BootTarget::Discover { boot_id },
            _ => BootTarget::Ramdisk { boot_id },
        })
    }

    async fn lease(
        &self,
        _: &ClientIdentity,
        subnet: &Subnet,
        _: Option<Ipv4Addr>,
    ) -> Result<Option<Lease>, DirectoryError> {
        Ok(Some(Lease { address: (subnet.prefix.network().to_bits() + 160).into() }))
    }

    async fn overlay(&self, _: &BootId) -> Result<BootFiles, DirectoryError> {
        Ok(BootFiles::Unknown)
    }
}

/// Subnets in each mode: 10.77.0.0/24 on the link, 10.77.1.0/24 and 10.77.2.0/24 behind relay agents.
fn config(on_link: Mode) -> Config {
    let subnet = |third: u8, reach| {
        let prefix = crate::prefix::Prefix::of([10, 77, third, 0].into(), 24);
        prefix.map(|prefix| Subnet { dns: vec![SERVER; 60], ntp: vec![SERVER; 60], ..Subnet::new(prefix, reach) })
    };
    let mut subnets: Vec<Subnet> =
        [subnet(0, Reach::OnLink("br0".into())), subnet(1, Reach::Relayed), subnet(2, Reach::Relayed)]
            .into_iter()
            .flatten()
            .collect();
    for (subnet, mode) in subnets.iter_mut().zip([on_link, Mode::Full, Mode::Proxy]) {
        subnet.mode = mode;
    }
    Config { interfaces: vec![Interface::new("br0", SERVER)], subnets, ..Config::default() }
}

/// One message heard on port 67 or 4011, by a server of addresses or one beside it, as the first octet says. True if it
/// was answered.
///
/// # Panics
/// If an answer is no answer to this message, is longer than it may be, or would go to somebody that may not be sent to.
#[doc(hidden)]
pub fn fuzz(data: &[u8]) -> bool {
    let Some((how, message)) = data.split_first() else { return false };
    let mode = if how & 1 == 0 { Mode::Full } else { Mode::Proxy };
    let port = if how & 2 == 0 { Port::Dhcp } else { Port::BootServer };
    let from = SocketAddrV4::new([10, 77, 0, 160].into(), if how & 4 == 0 { 68 } else { 67 });
    let config = config(mode);
    let programs = Programs::new(&config, (SERVER, 8080));
    let engine =
        Engine::new("br0", SERVER, Arc::new(config.clone()), programs, Observer::new(Arc::new(Everybody), &config));
    let Some(admitted) = engine.admit(message, from, port) else { return false };
    // Deadlines of questions need a clock, though no question here waits.
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else { return false };
    let answer = runtime.block_on(async { engine.answer(admitted).now_or_never() });
    let Some(mut outcome) = answer else { return false };
    let reply = outcome.reply.take();
    engine.ended(outcome, Ok(()));
    let (Some((bytes, to)), Ok(asked)) = (reply, Packet::decode(message)) else { return false };
    let answer = Packet::decode(&bytes);
    assert!(answer.is_ok(), "an answer that nobody can read");
    let Ok(answer) = answer else { return false };
    assert!(answer.whole && answer.op == 2 && (answer.xid, answer.chaddr) == (asked.xid, asked.chaddr));
    // What the client said comes back; all else fits a frame.
    assert!(bytes.len() <= 1472 + message.len(), "an answer that amplifies: {}", bytes.len());
    assert_eq!(answer.options.get(82), asked.options.get(82));
    match to {
        Destination::Address(to) => assert!(
            asked.giaddr == *to.ip() || asked.ciaddr == *to.ip() || from == to,
            "{to} is neither the relay nor the client"
        ),
        Destination::Hardware(mac, address) => {
            assert!(asked.mac() == Some(mac) && asked.ciaddr.is_unspecified() && address == answer.yiaddr);
        }
        Destination::Broadcast => assert!(asked.giaddr.is_unspecified()),
    }
    true
}
