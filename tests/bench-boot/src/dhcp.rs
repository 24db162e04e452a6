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
/// A rate is kept up with if no more of a hundred requests stay unanswered.
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
        let name = format!("dhcp exchanges (DORA), {CLIENTS} clients, at most {LOST} % lost");
        Row::new(SUITE, name, *ours, "/s").beside(peer, *rate).at_least_times(3.0).print()?;
    }
    Ok(())
}

/// Doubles the rate until it is too much, then looks in between.
fn highest(lab: &Lab) -> Result<f64> {
    let (mut best, mut rate) = (0.0_f64, FIRST_RATE);
    while let Some(kept) = at(lab, rate)? {
        best = best.max(kept);
        rate *= 2;
    }
    let (mut low, mut high) = (rate / 2, rate);
    for _ in 0..STEPS {
        let middle = low.midpoint(high);
        match at(lab, middle)? {
            Some(kept) => {
                best = best.max(kept);
                low = middle;
            }
            None => high = middle,
        }
    }
    Ok(best)
}

/// Exchanges a second that were completed at this rate; `None` if it was too much, for the server or for `perfdhcp`.
fn at(lab: &Lab, rate: u32) -> Result<Option<f64>> {
    let mut command = lab.client("perfdhcp");
    command.args(["-4", "-l", CLIENT_SIDE, "-r", &rate.to_string(), "-R", &CLIENTS.to_string()]);
    // A seed: the same machines each time. Late answers have 0.3 s.
    command.args(["-p", &PERIOD.as_secs().to_string(), "-s", "7", "-W", "300000", SERVER]);
    let output = command.output().context("cannot run perfdhcp (kea-admin)")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let [offered, acknowledged] = exchanges(&text)
        .with_context(|| format!("perfdhcp said: {text}{}", String::from_utf8_lossy(&output.stderr)))?;
    ensure!(offered.sent > 0, "perfdhcp sent nothing: {text}");
    let seconds = PERIOD.as_secs_f64();
    let asked = f64::from(rate) * seconds;
    let kept = offered.lost() <= LOST && acknowledged.lost() <= LOST && offered.sent as f64 >= asked * 0.97;
    Ok(kept.then(|| acknowledged.received as f64 / seconds))
}

struct Exchange {
    sent: u64,
    received: u64,
}

impl Exchange {
    fn lost(&self) -> f64 {
        100.0 * (self.sent.saturating_sub(self.received)) as f64 / self.sent.max(1) as f64
    }
}

/// DISCOVER to OFFER, REQUEST to ACK.
fn exchanges(text: &str) -> Option<[Exchange; 2]> {
    let numbers =
        |label: &'static str| text.lines().filter_map(move |line| line.strip_prefix(label)?.trim().parse::<u64>().ok());
    let (mut sent, mut received) = (numbers("sent packets:"), numbers("received packets:"));
    let mut next = || Some(Exchange { sent: sent.next()?, received: received.next()? });
    Some([next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_perfdhcp_prints_is_read() {
        let text = "***Statistics for: DISCOVER-OFFER***\nsent packets: 100\nreceived packets: 98\ndrops: 2\n\
                    ***Statistics for: REQUEST-ACK***\nsent packets: 98\nreceived packets: 98\n";
        let [offered, acknowledged] = exchanges(text).unwrap();
        assert_eq!((offered.lost(), acknowledged.lost(), acknowledged.received), (2.0, 0.0, 98));
        assert!(exchanges("").is_none());
    }
}
