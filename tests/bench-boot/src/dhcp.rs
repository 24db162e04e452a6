//! DISCOVER, OFFER, REQUEST, ACK: how many such exchanges a second a server keeps up with, by `perfdhcp`.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bessemer_bench::Row;

use crate::SUITE;
use crate::daemon::Daemon;
use crate::lab::{CLIENT_SIDE, Lab, SERVER};

/// Machines, which come again and again.
const CLIENTS: u32 = 4000;
const PERIOD: Duration = Duration::from_secs(3);
/// A rate is kept up with if no more of a hundred messages that arrive stay unanswered.
const LOST: f64 = 1.0;
const FIRST_RATE: u32 = 100;
/// Steps between the last rate that was kept up with and the first that was not.
const STEPS: u32 = 3;

pub(crate) fn measure(lab: &Lab) -> Result<()> {
    let no_files = tempfile::tempdir()?;
    let mut measured = Vec::new();
    let starts: [&dyn Fn() -> Result<Daemon>; 3] =
        [&|| Daemon::ours(lab), &|| Daemon::dnsmasq(lab, no_files.path()), &|| Daemon::kea(lab)];
    for start in starts {
        let daemon = start()?;
        let rate = highest(lab)?;
        println!("{}: {rate:.0} exchanges/s; a lease is {}", daemon.name, daemon.durability);
        measured.push((daemon.name.clone(), rate));
    }
    let [(_, ours), peers @ ..] = measured.as_slice() else { return Ok(()) };
    for (peer, rate) in peers {
        let name = format!("dhcp exchanges (DORA), {CLIENTS} clients, at most {LOST} % unanswered");
        Row::new(SUITE, name, *ours, "/s").beside(peer, *rate).at_least_times(3.0).print()?;
    }
    Ok(())
}

/// Doubles the rate until it is too much, then looks in between.
fn highest(lab: &Lab) -> Result<f64> {
    let (mut best, mut rate) = (0.0_f64, FIRST_RATE);
    loop {
        match at(lab, rate)? {
            Load::KeptUp(kept) => best = best.max(kept),
            // More than can be asked for on this machine.
            Load::NotAsked(kept) => return Ok(best.max(kept)),
            Load::TooMuch => break,
        }
        rate *= 2;
    }
    let (mut low, mut high) = (rate / 2, rate);
    for _ in 0..STEPS {
        let middle = low.midpoint(high);
        if let Load::KeptUp(kept) | Load::NotAsked(kept) = at(lab, middle)? {
            best = best.max(kept);
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(best)
}

/// How a server bore a rate; the numbers are exchanges a second, two answers each.
enum Load {
    KeptUp(f64),
    /// It answered all, and `perfdhcp` could not ask as often as it should.
    NotAsked(f64),
    TooMuch,
}

/// Answers are counted where the server is: on a busy machine `perfdhcp` loses more of them than any server, and asks
/// less for it.
fn at(lab: &Lab, rate: u32) -> Result<Load> {
    let before = Datagrams::now(lab)?;
    let mut command = lab.client("perfdhcp");
    command.args(["-4", "-l", CLIENT_SIDE, "-r", &rate.to_string(), "-R", &CLIENTS.to_string()]);
    // A seed: the same machines each time. Late answers have 0.3 s.
    command.args(["-p", &PERIOD.as_secs().to_string(), "-s", "7", "-W", "300000", SERVER]);
    let output = command.output().context("cannot run perfdhcp (kea-admin)")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let discovers = discovers(&text)
        .with_context(|| format!("perfdhcp said: {text}{}", String::from_utf8_lossy(&output.stderr)))?;
    let (asked, answered) = Datagrams::now(lab)?.since(&before);
    ensure!(asked > 0.0, "perfdhcp asked nothing: {text}");
    let kept = answered / 2.0 / PERIOD.as_secs_f64();
    Ok(if answered < asked * (1.0 - LOST / 100.0) {
        Load::TooMuch
    } else if discovers < f64::from(rate) * PERIOD.as_secs_f64() * 0.9 {
        Load::NotAsked(kept)
    } else {
        Load::KeptUp(kept)
    })
}

/// Counters of the servers' namespace.
struct Datagrams {
    received: f64,
    sent: f64,
}

impl Datagrams {
    fn now(lab: &Lab) -> Result<Self> {
        let output = lab.server("cat").arg("/proc/net/snmp").output()?;
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
        // What did not fit the server's buffer was asked, too.
        Some(Self { received: value("InDatagrams")? + value("RcvbufErrors")?, sent: value("OutDatagrams")? })
    }

    fn since(&self, before: &Self) -> (f64, f64) {
        (self.received - before.received, self.sent - before.sent)
    }
}

/// DISCOVERs that `perfdhcp` says it sent.
fn discovers(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("sent packets:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_perfdhcp_and_the_kernel_print_is_read() {
        let text = "***Statistics for: DISCOVER-OFFER***\nsent packets: 100\nreceived packets: 98\n\
                    ***Statistics for: REQUEST-ACK***\nsent packets: 98\nreceived packets: 98\n";
        assert_eq!(discovers(text), Some(100.0));
        assert_eq!(discovers(""), None);
        let snmp = "Tcp: A B\nTcp: 1 2\nUdp: InDatagrams NoPorts OutDatagrams RcvbufErrors\nUdp: 10 1 8 2\n";
        let counters = Datagrams::read(snmp).unwrap();
        assert_eq!((counters.received, counters.sent), (12.0, 8.0));
        assert!(Datagrams::read("Tcp: A\n").is_none());
    }
}
