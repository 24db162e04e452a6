//! Our server as a process of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use bessemer_pxe::{BootServer, Config, Http, HttpLimits, Interface, Ipxe, Pool, Reach, Subnet};
use tokio_util::sync::CancellationToken;

use crate::directory::Leases;
use crate::lab::{FIRST, LAST, PREFIX, SERVER, SERVER_SIDE};
use crate::{http, tftp};

/// Serves until killed; a file `listens` in `folder` says when it does.
pub(crate) fn serve(folder: &Path, images: Option<&Path>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let config = config(images)?;
        let directory = Arc::new(Leases::in_file(&folder.join("leases"))?);
        let server = BootServer::start(config, directory, CancellationToken::new()).await?;
        std::fs::write(folder.join("listens"), "")?;
        server.stopped().await;
        Ok(())
    })
}

fn config(images: Option<&Path>) -> Result<Config> {
    let pool = Pool::new(FIRST.parse()?, LAST.parse()?)?;
    let subnet = Subnet {
        pool: Some(pool),
        lease_time: Duration::from_secs(3600),
        ..Subnet::new(PREFIX.parse()?, Reach::OnLink(SERVER_SIDE.to_owned()))
    };
    // All clients have one address here.
    let limits = HttpLimits { connections_each: 4096, ..HttpLimits::default() };
    Ok(Config {
        interfaces: vec![Interface::new(SERVER_SIDE, SERVER.parse()?)],
        subnets: vec![subnet],
        ipxe: Ipxe { x64: tftp::program()?, ..Ipxe::default() },
        http_port: http::PORT,
        images_dir: images.map(Path::to_owned),
        http: Http { limits, ..Http::default() },
        ..Config::default()
    })
}
