//! DISCOVER, OFFER, REQUEST, ACK: how many such exchanges a second a server keeps up with, by `perfdhcp`, and what each
//! costs it.
//!
//! A server has one processor. `perfdhcp` needs more processor time for an exchange than a fast server does, and is one
//! thread: two of them ask. Where these cannot ask for more, the rate is theirs, and only the server's processor time tells
//! how many it could do.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bessemer_bench::{Rounds, Row};

use crate::SUITE;
use crate::daemon::Daemon;
use crate::lab::{self, Lab, SERVER};

/// Machines, which come again and again.
const CLIENTS: u32 = 4000;
const PERIOD: Duration = Duration::from_secs(2);
/// A rate is kept up with if no more of a hundred messages that arrive stay unanswered.
const LOST: f64 = 1.0;
const FIRST_RATE: u32 = 100;
/// Steps between the last rate that was kept up with and the first that was not.
const STEPS: u32 = 2;
/// At its highest rate, in turns with the others.
const ROUNDS: usize = 5;

/// A server, whatever it is called.
type Start<'a> = &'a dyn Fn() -> Result<Daemon>;

struct Found {
    name: String,
    /// Exchanges a second.
    rate: f64,
    /// `perfdhcp` could not ask for more.
    all_that_was_asked: bool,
    /// To ask for again: as much as was answered, so that there is one REQUEST for each DISCOVER.
    asked: u32,
    /// Exchanges for each second of the server's processor time.
    worth: Rounds,
}

pub(crate) fn measure(lab: &Lab) -> Result<()> {
    let no_files = tempfile::tempdir()?;
    let starts: [Start<'_>; 4] = [
        &|| Daemon::ours_apart(lab),
        &|| Daemon::dnsmasq_apart(lab, no_files.path()),
        &|| Daemon::kea_apart(lab, false),
        &|| Daemon::kea_apart(lab, true),
    ];
    let mut found = Vec::new();
    for start in starts {
        let daemon = start()?;
        let one = highest(lab, &daemon)?;
        let limit = if one.all_that_was_asked { ", all that perfdhcp can ask" } else { "" };
        println!("{}: {:.0} exchanges/s{limit}; a lease is {}", one.name, one.rate, daemon.durability);
        found.push(one);
    }
    for _ in 0..ROUNDS {
        for (start, one) in starts.iter().zip(&mut found) {
            let daemon = start()?;
            // The machines get their leases, which are new only once.
            at(lab, &daemon, one.asked)?;
            one.worth.push(at(lab, &daemon, one.asked)?.worth);
        }
    }
    for one in &found {
        println!(
            "{}: {} exchanges for a second of processor time, asked for {} a second",
            one.name, one.worth, one.asked
        );
    }
    let [ours, peers @ ..] = found.as_slice() else { return Ok(()) };
    for peer in peers {
        let name = "dhcp exchanges (DORA) for a second of the server's processor time";
        Row::new(SUITE, name, ours.worth.median(), "")
            .beside(&peer.name, peer.worth.median())
            .at_least_times(3.0)
            .print()?;
    }
    for peer in peers {
        let limit = if ours.all_that_was_asked { " (ours: all that perfdhcp can ask)" } else { "" };
        let name = format!("dhcp exchanges (DORA), {CLIENTS} clients, at most {LOST} % unanswered{limit}");
        Row::new(SUITE, name, ours.rate, "/s").beside(&peer.name, peer.rate).at_least_times(3.0).print()?;
    }
    Ok(())
}

/// Doubles the rate until it is too much, then looks in between.
fn highest(lab: &Lab, daemon: &Daemon) -> Result<Found> {
    let worth = Rounds::default();
    let mut best = Found { name: daemon.name.clone(), rate: 0.0, all_that_was_asked: false, asked: FIRST_RATE, worth };
    let mut rate = FIRST_RATE;
    while let Some(load) = kept_up(lab, daemon, rate)? {
        best.take(rate, &load);
        if load.asked_less {
            best.all_that_was_asked = true;
            return Ok(best);
        }
        rate *= 2;
    }
    let (mut low, mut high) = (rate / 2, rate);
    for _ in 0..STEPS {
        let middle = low.midpoint(high);
        match kept_up(lab, daemon, middle)? {
            Some(load) => {
                best.take(middle, &load);
                low = middle;
            }
            None => high = middle,
        }
    }
    Ok(best)
}

/// Twice, before a rate is called too much: another program's turn on the processor is not the server's fault.
fn kept_up(lab: &Lab, daemon: &Daemon, rate: u32) -> Result<Option<Load>> {
    for _ in 0..2 {
        let load = at(lab, daemon, rate)?;
        if load.unanswered <= LOST / 100.0 {
            return Ok(Some(load));
        }
    }
    Ok(None)
}

impl Found {
    fn take(&mut self, asked: u32, load: &Load) {
        if load.kept > self.rate {
            (self.rate, self.asked) = (load.kept, asked.min(load.kept as u32));
        }
    }
}

/// How a server bore a rate.
struct Load {
    /// Exchanges a second, two answers each.
    kept: f64,
    /// The part of all messages that had no answer.
    unanswered: f64,
    /// `perfdhcp` could not ask as often as it should.
    asked_less: bool,
    /// Exchanges for each second of the server's processor time.
    worth: f64,
}

/// What is asked is counted where the server is, and answers where they arrive: on a busy machine `perfdhcp` loses more
/// of them than any server, and asks less for it.
fn at(lab: &Lab, daemon: &Daemon, rate: u32) -> Result<Load> {
    let (servers, clients, time) = (Datagrams::servers(lab)?, Datagrams::clients(lab)?, daemon.processor_time()?);
    let askers = lab::CLIENTS.into_iter().enumerate().map(|(number, address)| asker(lab, number, address, rate));
    let askers = askers.collect::<Result<Vec<_>>>()?;
    let mut discovers = 0.0;
    for asker in askers {
        let output = asker.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        discovers +=
            sent(&text).with_context(|| format!("perfdhcp said: {text}{}", String::from_utf8_lossy(&output.stderr)))?;
    }
    let time = daemon.processor_time()? - time;
    let (asked, answered) = (Datagrams::servers(lab)?.since(&servers), Datagrams::clients(lab)?.since(&clients));
    ensure!(asked > 0.0, "nothing that perfdhcp asked has arrived");
    Ok(Load {
        kept: answered / 2.0 / PERIOD.as_secs_f64(),
        unanswered: 1.0 - answered / asked,
        asked_less: discovers < f64::from(rate) * PERIOD.as_secs_f64() * 0.9,
        worth: answered / 2.0 / time.as_secs_f64().max(0.001),
    })
}

/// One `perfdhcp` with its part of the rate and machines of its own, the same each time: a relay's.
fn asker(lab: &Lab, number: usize, address: &str, rate: u32) -> Result<Child> {
    let number_of = lab::CLIENTS.len() as u32;
    let mut command = lab.client("perfdhcp");
    command.args(["-4", "-g", "single", "-l", address, "-b", &format!("mac=00:0c:{number:02x}:00:00:00")]);
    command.args(["-r", &(rate / number_of).to_string(), "-R", &(CLIENTS / number_of).to_string()]);
    // Late answers have 0.3 s.
    command.args(["-p", &PERIOD.as_secs().to_string(), "-s", "7", "-W", "300000", SERVER]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot run perfdhcp (kea-admin)")
}

/// What has arrived in a namespace.
struct Datagrams(f64);

impl Datagrams {
    fn servers(lab: &Lab) -> Result<Self> {
        Self::of(lab.server("cat"))
    }

    fn clients(lab: &Lab) -> Result<Self> {
        Self::of(lab.client("cat"))
    }

    fn of(mut cat: Command) -> Result<Self> {
        let output = cat.arg("/proc/net/snmp").output()?;
        Self::read(&String::from_utf8_lossy(&output.stdout)).context("no counters of UDP in /proc/net/snmp")
    }

    /// Two lines, names and values.
    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
        let (names, values) = (lines.next()?, lines.next()?);
        let value = |wanted: &str| {
            let mut pairs = names.split_whitespace().zip(values.split_whitespace());
            pairs.find(|(name, _)| *name == wanted).and_then(|(_, value)| value.parse::<f64>().ok())
        };
        // What did not fit a buffer has arrived, too.
        Some(Self(value("InDatagrams")? + value("RcvbufErrors")?))
    }

    fn since(&self, before: &Self) -> f64 {
        self.0 - before.0
    }
}

/// DISCOVERs that `perfdhcp` says it sent.
fn sent(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("sent packets:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_perfdhcp_and_the_kernel_print_is_read() {
        let text = "***Statistics for: DISCOVER-OFFER***\nsent packets: 100\nreceived packets: 98\n\
                    ***Statistics for: REQUEST-ACK***\nsent packets: 98\nreceived packets: 98\n";
        assert_eq!(sent(text), Some(100.0));
        assert_eq!(sent(""), None);
        let snmp = "Tcp: A B\nTcp: 1 2\nUdp: InDatagrams NoPorts OutDatagrams RcvbufErrors\nUdp: 10 1 8 2\n";
        assert_eq!(Datagrams::read(snmp).unwrap().0, 12.0);
        assert!(Datagrams::read("Tcp: A\n").is_none());
    }
}
