//! `bessemer host trace`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use bessemer_api::bessemer::{BootExchange, BootTrace};
use bessemer_api::metal3::BareMetalHost;
use futures::TryStreamExt as _;
use kube::api::ListParams;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt};

use super::TraceOptions;
use super::conversation::{has_several_servers, heading, line, news, verdict};
use crate::connect::connect;
use crate::signals::Signals;

/// What is looked for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    /// The name as it was given; none if a MAC address was.
    name: Option<String>,
    namespace: Option<String>,
    /// MAC addresses that belong to it, lower case with colons.
    machines: Vec<String>,
}

impl Wanted {
    fn new(server: &str, namespace: Option<&str>) -> Self {
        let namespace = namespace.map(str::to_owned);
        if let Ok(mac) = server.parse::<bessemer_pxe::MacAddr>() {
            return Self { name: None, namespace: None, machines: vec![mac.to_string()] };
        }
        match server.split_once('/') {
            Some((namespace, name)) => {
                Self { name: Some(name.to_owned()), namespace: Some(namespace.to_owned()), machines: vec![] }
            }
            None => Self { name: Some(server.to_owned()), namespace, machines: vec![] },
        }
    }

    fn is(&self, trace: &BootTrace) -> bool {
        let Some(status) = &trace.status else { return false };
        let by_name = self.name.is_some()
            && status.host == self.name
            && self.namespace.as_ref().is_none_or(|namespace| trace.namespace().as_ref() == Some(namespace));
        by_name || self.machines.contains(&status.machine)
    }

    /// Adds the boot MAC addresses of the hosts of that name: what they said before they were known is theirs too.
    async fn learn(&mut self, client: &Client) -> anyhow::Result<Vec<String>> {
        let Some(name) = &self.name else { return Ok(Vec::new()) };
        let hosts: Api<BareMetalHost> = match &self.namespace {
            Some(namespace) => Api::namespaced(client.clone(), namespace),
            None => Api::all(client.clone()),
        };
        let named = ListParams::default().fields(&format!("metadata.name={name}"));
        let mut found = Vec::new();
        for host in hosts.list(&named).await.context("cannot list BareMetalHosts")? {
            let mac = host.spec.boot_mac_address.as_deref().map(str::to_ascii_lowercase);
            let shown = mac.as_deref().map_or("has no boot MAC address".to_owned(), |mac| format!("boots by {mac}"));
            found.push(format!("host {}/{name} {shown}", host.namespace().unwrap_or_default()));
            self.machines.extend(mac);
        }
        Ok(found)
    }
}

pub(super) async fn run(options: TraceOptions) -> anyhow::Result<ExitCode> {
    let client = connect(options.kubeconfig.as_deref(), options.context.as_deref()).await?;
    let mut wanted = Wanted::new(&options.server, options.namespace.as_deref());
    let hosts = wanted.learn(&client).await?;
    let traces: Api<BootTrace> = Api::all(client);
    let all = traces.list(&ListParams::default()).await.context("cannot list BootTraces")?;
    let mut shown = BTreeMap::new();
    for trace in all.items.into_iter().filter(|trace| wanted.is(trace)) {
        show_whole(&trace)?;
        shown.insert(key(&trace), said(trace));
    }
    if shown.is_empty() {
        explain(&options.server, &wanted, &hosts);
    }
    if options.follow {
        let mut signals = Signals::listen()?;
        tokio::select! {
            ended = follow(traces, &wanted, &mut shown) => ended?,
            _ = signals.next() => {}
        }
    }
    Ok(if shown.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn key(trace: &BootTrace) -> (Option<String>, String) {
    (trace.namespace(), trace.name_any())
}

fn said(trace: BootTrace) -> Vec<BootExchange> {
    trace.status.map(|status| status.exchanges).unwrap_or_default()
}

fn show_whole(trace: &BootTrace) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let said = said(trace.clone());
    writeln!(out, "{}", heading(trace))?;
    for exchange in &said {
        writeln!(out, "{}", line(exchange, has_several_servers(&said)))?;
    }
    if let Some(verdict) = verdict(&said) {
        writeln!(out, "so far: {verdict}")?;
    }
    Ok(())
}

/// Why there is nothing to show.
fn explain(server: &str, wanted: &Wanted, hosts: &[String]) {
    if hosts.is_empty() && wanted.name.is_some() {
        eprintln!("no BareMetalHost is called {server} and none ever spoke to a boot server; see kubectl get bmh -A");
        return;
    }
    for host in hosts {
        eprintln!("{host}");
    }
    eprintln!(
        "nothing was heard of {server} lately: is it on, does it boot from that network card, and is there a boot server \
         (or a DHCP relay that names one) on its VLAN? See kubectl get boottraces -A for what was heard"
    );
}

/// Shows what is said from now on; ends only with an error.
async fn follow(
    traces: Api<BootTrace>,
    wanted: &Wanted,
    shown: &mut BTreeMap<(Option<String>, String), Vec<BootExchange>>,
) -> anyhow::Result<()> {
    let changes = watcher(traces, watcher::Config::default()).default_backoff().touched_objects();
    let mut changes = std::pin::pin!(changes);
    while let Some(trace) = changes.try_next().await.context("the watch of BootTraces ended")? {
        if !wanted.is(&trace) {
            continue;
        }
        let (key, now) = (key(&trace), said(trace));
        let before = shown.insert(key, now.clone()).unwrap_or_default();
        let mut out = std::io::stdout().lock();
        for exchange in news(&before, &now) {
            writeln!(out, "{}", line(exchange, has_several_servers(&now)))?;
        }
        out.flush()?;
    }
    anyhow::bail!("the watch of BootTraces ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_or_a_name_is_understood() {
        let wanted = |server: &str, namespace| Wanted::new(server, namespace);
        let by_mac = Wanted { name: None, namespace: None, machines: vec!["52:54:00:aa:bb:cc".to_owned()] };
        assert_eq!(wanted("52:54:00:AA:BB:CC", None), by_mac);
        let named = |namespace: Option<&str>| Wanted {
            name: Some("r7".to_owned()),
            namespace: namespace.map(str::to_owned),
            machines: vec![],
        };
        assert_eq!(wanted("r7", None), named(None));
        assert_eq!(wanted("r7", Some("metal")), named(Some("metal")));
        assert_eq!(wanted("rack/r7", Some("metal")), named(Some("rack")));
    }
}
