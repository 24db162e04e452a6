//! All BMCs at once, round after round, with the clients kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use bessemer_bmc::{Bmc, BmcError};
use tokio::task::JoinSet;

use crate::fleet::Fleet;
use crate::memory;
use crate::quantile::Spread;

pub(crate) struct Reached {
    pub(crate) calls_per_second: f64,
    pub(crate) identify: Spread,
    pub(crate) power: Spread,
    pub(crate) failures: usize,
    pub(crate) most_sessions: u64,
    pub(crate) log_ins: u64,
    pub(crate) left_open: u64,
    pub(crate) memory_early: f64,
    pub(crate) memory_late: f64,
}

pub(crate) async fn all(fleet: &mut Fleet, rounds: usize) -> Result<Reached> {
    let mut bmcs = fleet.redfish(usize::MAX)?;
    bmcs.extend(fleet.ipmi(usize::MAX)?);
    let (mut identify, mut power) = (Vec::new(), Vec::new());
    let (mut calls, mut failures, mut memory_early, mut spent) = (0_usize, 0, 0.0, Duration::ZERO);
    for number in 1..=rounds {
        let begun = Instant::now();
        let round = round(&bmcs).await;
        let took = begun.elapsed();
        println!("round {number}: {took:.2?}, {:.1} MiB, {} failed", memory::resident()?, round.failures.len());
        round.failures.iter().take(3).for_each(|failure| println!("  {failure}"));
        failures += round.failures.len();
        // the first has the log ins in it
        if number > 1 {
            calls += round.identify.len() + round.power.len();
            spent += took;
            identify.extend(round.identify);
            power.extend(round.power);
        }
        if number == 2 {
            memory_early = memory::resident()?;
        }
    }
    let memory_late = memory::resident()?;
    let during = fleet.sessions().await?;
    futures::future::join_all(bmcs.iter().map(|bmc| bmc.close())).await;
    let left_open = fleet.sessions().await?.open;
    Ok(Reached {
        calls_per_second: calls as f64 / spent.as_secs_f64(),
        identify: Spread::of(identify),
        power: Spread::of(power),
        failures,
        most_sessions: during.most,
        log_ins: during.log_ins,
        left_open,
        memory_early,
        memory_late,
    })
}

#[derive(Default)]
struct Round {
    identify: Vec<Duration>,
    power: Vec<Duration>,
    failures: Vec<String>,
}

async fn round(bmcs: &[Arc<dyn Bmc>]) -> Round {
    let mut asking = JoinSet::new();
    for bmc in bmcs {
        asking.spawn(ask(Arc::clone(bmc)));
    }
    let mut round = Round::default();
    while let Some(asked) = asking.join_next().await {
        match asked {
            Ok(Ok((identify, power))) => {
                round.identify.push(identify);
                round.power.push(power);
            }
            Ok(Err(error)) => round.failures.push(error.to_string()),
            Err(error) => round.failures.push(error.to_string()),
        }
    }
    round
}

async fn ask(bmc: Arc<dyn Bmc>) -> Result<(Duration, Duration), BmcError> {
    let begun = Instant::now();
    bmc.identify().await?;
    let identified = begun.elapsed();
    bmc.power_state().await?;
    Ok((identified, begun.elapsed() - identified))
}
