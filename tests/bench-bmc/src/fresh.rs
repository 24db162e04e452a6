//! One read from nothing, as a command for each call does it: log in, read, log out.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use bessemer_bmc::Bmc;
use futures::{StreamExt as _, TryStreamExt as _};

/// Reads a second, over clients that have no session yet.
pub(crate) async fn reads_per_second(bmcs: &[Arc<dyn Bmc>], at_once: usize) -> Result<f64> {
    let begun = Instant::now();
    let reads = bmcs.iter().map(|bmc| async {
        bmc.power_state().await?;
        bmc.close().await;
        anyhow::Ok(())
    });
    futures::stream::iter(reads).buffer_unordered(at_once).try_collect::<()>().await?;
    Ok(bmcs.len() as f64 / begun.elapsed().as_secs_f64())
}
