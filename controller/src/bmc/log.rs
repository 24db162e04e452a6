//! `bmc log`.

use bessemer_bmc::Bmc;

use super::exit::Failure;
use super::output::{Format, show as output};
use super::table::Table;

pub(super) async fn show(bmc: &dyn Bmc, limit: usize, format: Format) -> Result<(), Failure> {
    output(format, &bmc.log_entries(limit).await?, |entries| {
        let mut table = Table::new(["TIME", "SEVERITY", "LOG", "MESSAGE"]);
        for entry in entries {
            table.row([
                entry.time.clone(),
                entry.severity.map(|severity| severity.to_string()),
                Some(entry.log.clone()),
                Some(entry.message.clone()),
            ]);
        }
        table.render()
    })
}
