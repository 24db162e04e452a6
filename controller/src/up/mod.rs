//! `bessemer up`: everything on one machine. Starts the rooms in the order in which they need each other, says that it is
//! ready, and ends them together.

mod kubeconfig;
mod lock;
mod preflight;
mod subnet;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use bessemer_agents::{Endpoint, Hub};
use bessemer_apiserver::{ApiServer, Serving};
use bessemer_bmc::Connector;
use bessemer_pxe::{Ipxe, Media, Prefix, Ramdisk, Reach};
use bessemer_reconcilers::{BootSettings, KubeWorkloadClusters, Outside, Site};
use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::boot::{self, site};
use crate::cli::UpOptions;
use crate::signals::Signals;
use crate::{metrics, parts};
use preflight::{BootReady, Ready};
pub(crate) use subnet::Subnet;

/// How long a host may use its address before it asks again. Long, as an installed host keeps asking and an address is
/// never taken away while its host exists.
const LEASE_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs until a signal, or until a part of it ends by itself.
pub(crate) async fn run(options: UpOptions) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let ready = preflight::check(&options).await?;
    let stop = CancellationToken::new();
    let mut running = JoinSet::new();
    let started = tokio::select! {
        started = Box::pin(start(&options, ready, &stop, &mut running)) => started,
        signal = signals.next() => bail!("{signal} before everything had started"),
    };
    let result = match started {
        Ok(line) => {
            // On stdout: whoever waits for its first line may go on.
            println!("{line}");
            parts::wait(&mut running, &mut signals).await
        }
        Err(error) => Err(error),
    };
    parts::end(&mut running, &mut signals, &stop).await;
    result
}

/// Starts every part as a task that returns its name at its end; gives the lines that say where everything is.
async fn start(
    options: &UpOptions,
    ready: Ready,
    stop: &CancellationToken,
    parts: &mut JoinSet<&'static str>,
) -> anyhow::Result<String> {
    let Ready { lock, boot } = ready;
    let api = ApiServer::open(&options.state).await?;
    let crds = bessemer_api::crds().iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
    api.install_crds(&crds).await?;
    let client = Client::new(api.router(), "default");

    let hub = Hub::new();
    let controllers = match (&boot, options.controllers.is_empty()) {
        (None, true) => None,
        _ => Some(Site::start(client.clone(), stop.clone()).await?),
    };
    let subnet = boot.as_ref().map(|boot| boot.subnet);
    let (mut places, mut counted, mut booted) = (String::new(), None, BootSettings::default());
    booted.require_trusted_boot = options.require_trusted_boot;
    if let (Some(boot), Some(site)) = (boot, &controllers) {
        let (where_it_is, running) =
            Box::pin(start_boot(options, boot, site, hub.clone(), &client, stop, parts)).await?;
        if options.iso.is_some() {
            booted.media_url = options.media_url.clone().or_else(|| running.urls.first().cloned());
        }
        (places, counted) = (where_it_is, Some(running.metrics));
    }
    let serving = serve_api(&api, options, subnet, stop).await?;
    let kubeconfig = kubeconfig::link(&options.state, &serving.kubeconfig_path)?;
    if let Some(path) = &options.kubeconfig {
        kubeconfig::copy(&serving.kubeconfig_path, path)?;
    }
    let api_address = serving.local_addr;
    if let Some(address) = options.metrics {
        let sources = metrics::Sources { api: Some(api.clone()), boot: counted };
        metrics::serve(address, sources, stop.clone()).await?;
    }
    parts.spawn(async move {
        serving.finished().await;
        "the Kubernetes API"
    });

    let outside = Outside {
        bmc: Arc::new(Connector::new()),
        agents: hub,
        workload: Arc::new(KubeWorkloadClusters::new(client)),
        boot: booted,
    };
    let (groups, stopped) = (options.controllers.groups().clone(), stop.clone());
    parts.spawn(async move {
        match controllers {
            Some(controllers) => controllers.run(outside, groups).await,
            None => stopped.cancelled().await,
        }
        // Last words of controllers are stored; now let go of the store, and then of its directory.
        api.close();
        drop(lock);
        "the controllers"
    });
    let kubeconfig = options.kubeconfig.as_deref().unwrap_or(&kubeconfig).display();
    Ok(format!(
        "ready: kubeconfig {kubeconfig}, API https://{api_address}{places}\n\n  export KUBECONFIG={kubeconfig}\n  \
         kubectl get bmh --all-namespaces\n"
    ))
}

/// Starts what hosts talk to; says where it is.
async fn start_boot(
    options: &UpOptions,
    boot: BootReady,
    site: &Site,
    hub: Arc<Hub>,
    client: &Client,
    stop: &CancellationToken,
    parts: &mut JoinSet<&'static str>,
) -> anyhow::Result<(String, boot::Running)> {
    let BootReady { interface, subnet, pool, kernel, ramdisk, ipxe, bios } = boot;
    let authority = Arc::new(site::open(client).await?);
    let agents = SocketAddr::from((subnet.address, options.agent_port));
    let controllers = vec![format!("https://{agents}")];
    let mut hosts = site.hosts();
    if options.discovery {
        hosts = hosts.discovering(site::NAMESPACE);
    }
    if options.require_trusted_boot {
        hosts = hosts.requiring_trusted_boot();
    }
    let endpoint = Endpoint::bind(agents, authority.clone(), Arc::new(hosts.clone()), hub, &controllers).await?;
    let served = bessemer_pxe::Subnet {
        pool: Some(pool),
        router: options.router,
        dns: options.dns.clone(),
        lease_time: LEASE_TIME,
        ..bessemer_pxe::Subnet::new(Prefix::of(subnet.address, subnet.prefix)?, Reach::OnLink(interface.clone()))
    };
    let mut interface = bessemer_pxe::Interface::new(interface, subnet.address);
    interface.v6.answer_router_solicitations = true;
    let config = bessemer_pxe::Config {
        interfaces: vec![interface],
        subnets: vec![served],
        http_port: options.http_port,
        ipxe: Ipxe { x64: ipxe, bios, arm64: None },
        ramdisk: Ramdisk { kernel, initrd: ramdisk, kernel_args: options.kernel_args.clone() },
        images_dir: options.images_dir.clone(),
        media: Media { iso: options.iso.clone(), ..Media::default() },
        ..bessemer_pxe::Config::default()
    };
    let running = boot::start(config, hosts, authority.boot().clone(), controllers, stop, parts).await?;
    let ended = stop.clone();
    parts.spawn(async move {
        endpoint.run(ended).await;
        "the agents' endpoint"
    });
    let urls = running.urls.join(", ");
    Ok((format!(", boot {urls}, agents https://{agents}"), running))
}

async fn serve_api(
    api: &ApiServer,
    options: &UpOptions,
    subnet: Option<Subnet>,
    stop: &CancellationToken,
) -> anyhow::Result<Serving> {
    // On all addresses, the kubeconfig is for this machine and the certificate also good from the hosts' network.
    let mut names = Vec::new();
    if options.api.ip().is_unspecified() {
        names.push("127.0.0.1".to_owned());
        names.extend(subnet.map(|subnet| subnet.address.to_string()));
    }
    Ok(api.serve_https(options.api, &names, stop.clone().cancelled_owned()).await?)
}
