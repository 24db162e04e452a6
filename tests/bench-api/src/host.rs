//! BareMetalHosts: their definition, and objects as a rack of servers gives them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::client::Access;

const DEFINITION: &str = include_str!("../../../manifests/crds/metal3.io_baremetalhosts.yaml");
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SERVED_WITHIN: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);
/// Clients that fill a server.
const FILLERS: usize = 16;

/// Where hosts are.
pub(crate) const HOSTS: &str = "/apis/metal3.io/v1alpha1/namespaces/default/baremetalhosts";

/// Stores the definition and waits until hosts can be listed.
pub(crate) async fn install(access: &Access) -> Result<()> {
    let definition: Value = serde_saphyr::from_str(DEFINITION).context("the definition")?;
    let mut connection = access.connect().await?;
    connection.post(DEFINITIONS, &definition).await?;
    let end = Instant::now() + SERVED_WITHIN;
    while !connection.get(HOSTS).await?.is_success() {
        ensure!(Instant::now() < end, "hosts are not served in time");
        tokio::time::sleep(PAUSE).await;
    }
    // The namespace of the objects is made by the server itself, but not before it is ready.
    while !connection.get("/api/v1/namespaces/default").await?.is_success() {
        ensure!(Instant::now() < end, "there is no default namespace");
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// A new host.
pub(crate) fn host(name: &str) -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": name, "namespace": "default", "labels": {"rack": "r17", "example.com/role": "worker"}},
        "spec": {
            "online": true, "bootMACAddress": "52:54:00:aa:bb:01", "bootMode": "UEFI",
            "bmc": {
                "address": "redfish-virtualmedia+https://10.17.4.21/redfish/v1/Systems/System.Embedded.1",
                "credentialsName": format!("{name}-bmc"), "disableCertificateVerification": true,
            },
            "rootDeviceHints": {"deviceName": "/dev/disk/by-path/pci-0000:c1:00.0-nvme-1"},
            "description": "rack 17, unit 21",
        },
    })
}

/// What inspection finds on a server.
fn status() -> Value {
    let disk = |n: usize| {
        json!({
            "name": format!("/dev/disk/by-path/pci-0000:c{n}:00.0-nvme-1"), "rotational": false, "type": "NVME",
            "sizeBytes": 3_840_755_982_336_u64, "vendor": "SAMSUNG", "model": "MZQL23T8HCLS-00B7C",
            "serialNumber": format!("S64HNE0T50{n:04}"), "wwn": format!("eui.36344830525{n:05}"),
        })
    };
    let card = |n: usize| {
        json!({
            "name": format!("enp{n}s0f0np0"), "model": "0x15b3 0x101d", "mac": format!("b8:3f:d2:1a:2b:{n:02x}"),
            "ip": format!("10.17.8.{n}"), "speedGbps": 25, "vlanId": 0, "pxe": n == 0,
        })
    };
    json!({
        "operationalStatus": "OK", "errorMessage": "", "errorCount": 0, "poweredOn": true,
        "provisioning": {"state": "available", "ID": "5e0a4f7c-4f0a-4ef6-8e0d-8d1b1f1d0c11", "bootMode": "UEFI",
            "image": {"url": ""}},
        "hardware": {
            "hostname": "rack17-u21", "ramMebibytes": 1_048_576,
            "systemVendor": {"manufacturer": "Dell Inc.", "productName": "PowerEdge R7625", "serialNumber": "7XK2P04"},
            "firmware": {"bios": {"vendor": "Dell Inc.", "version": "1.8.3", "date": "04/02/2024"}},
            "cpu": {"arch": "x86_64", "model": "AMD EPYC 9554 64-Core Processor", "clockMegahertz": 3762, "count": 256,
                "flags": (0..120).map(|n| format!("flag_{n}")).collect::<Vec<_>>()},
            "storage": (0..8).map(disk).collect::<Vec<_>>(),
            "nics": (0..6).map(card).collect::<Vec<_>>(),
        },
    })
}

/// Stores `hosts` hosts with their status.
pub(crate) async fn fill(access: &Access, hosts: usize) -> Result<()> {
    let clients = (0..FILLERS).map(|filler| {
        let access = access.clone();
        tokio::spawn(async move {
            let mut connection = access.connect().await?;
            for n in (filler..hosts).step_by(FILLERS) {
                let name = format!("host-{n:05}");
                let mut object = connection.post(HOSTS, &host(&name)).await?;
                if let Some(fields) = object.as_object_mut() {
                    fields.insert("status".to_owned(), status());
                }
                connection.put(&format!("{HOSTS}/{name}/status"), &object).await?;
            }
            Ok::<_, anyhow::Error>(())
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await??;
    }
    Ok(())
}
