//! Answers that are ready together leave together. Behind a relay agent, or where clients want broadcasts, a storm's
//! answers go to one place and most have one length: these are one buffer, which the kernel cuts.

use std::net::SocketAddrV4;

use tokio::net::UdpSocket;

use super::engine::{Engine, Outcome};
use super::place::Destination;
use super::socket::Sockets;
use crate::offload::most;

/// Sends all answers of `ready` from the port that heard their requests, and tells what came of each.
pub(super) async fn send_all(sockets: &Sockets, from: &UdpSocket, engine: &Engine, ready: &mut Vec<Outcome>) {
    // Those of one place follow one another, in the order in which they were asked for.
    ready.sort_by_key(place);
    let mut together = Vec::new();
    let mut ready = ready.drain(..).peekable();
    let mut group = Vec::new();
    while let Some(first) = ready.next() {
        let at = place(&first);
        group.push(first);
        if let Some((to, len)) = at {
            let alike = |outcome: &Outcome| place(outcome) == at;
            while let Some(next) = ready.next_if(|next| group.len() < most(len) && alike(next)) {
                group.push(next);
            }
            if group.len() > 1 {
                together.clear();
                group.iter().filter_map(Outcome::message).for_each(|message| together.extend_from_slice(message));
                if sockets.send_cut(from, &together, len, to) {
                    group.drain(..).for_each(|outcome| engine.ended(outcome, Ok(())));
                    continue;
                }
            }
        }
        for mut outcome in group.drain(..) {
            let sent = match outcome.reply.take() {
                Some((message, to)) => sockets.send(from, &message, to).await,
                None => Ok(()),
            };
            engine.ended(outcome, sent);
        }
    }
}

/// What answers must have in common to be one buffer; `None` for those that cannot be part of one.
fn place(outcome: &Outcome) -> Option<(SocketAddrV4, usize)> {
    let (message, to) = outcome.reply.as_ref()?;
    match to {
        Destination::Address(to) => Some((*to, message.len())),
        Destination::Broadcast => Some((super::socket::EVERYBODY, message.len())),
        Destination::Hardware(..) => None,
    }
}
