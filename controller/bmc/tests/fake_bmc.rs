//! Identity, inventory and virtual media by the trait alone, against the fake BMC: it is not made of our client's ideas,
//! and it behaves in the ways that real ones were seen to.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should panic")]

use std::sync::Arc;
use std::time::Duration;

use bessemer_bmc::{Bmc, BmcError, Credentials, MediaKind, Medium, ReadBack, Trust, connect};
use bessemer_fake_bmc::fleet::start_one;
use bessemer_fake_bmc::redfish::Behaviour;
use bessemer_fake_bmc::redfish::behaviour::Reply;
use bessemer_fake_bmc::redfish::tls::Tls;
use bessemer_fake_bmc::{FakeBmc, HostOptions, seed};

const URL: &str = "http://192.0.2.1/boot/host.iso";

/// The seeds there are: our own, and captured servers that have virtual media. Not Supermicro's: what it shows when there
/// is something to eject was not captured, so that a fake made of it has no way to eject.
fn seeds() -> Vec<&'static str> {
    let mut seeds = vec![""];
    if std::env::var_os("BESSEMER_TEST_DATA").is_some() {
        seeds.extend([
            "dell-r630-idrac8-2.81",
            "dell-r750-idrac9-6.00",
            "hpe-dl325gen10plus-ilo5-2.46",
            "hpe-dl385gen10plusv2-ilo5-2.72",
            "lenovo-sr670v2-xcc-2.83",
        ]);
    } else {
        println!("SKIP no test data: set BESSEMER_TEST_DATA");
    }
    seeds
}

/// A fake made of `seed`, and our side of it, over TLS that is really checked.
async fn start(seed: &str) -> (FakeBmc, Arc<dyn Bmc>) {
    let tree = if seed.is_empty() { seed::minimal() } else { seed::dump(seed) };
    let fake = start_one(&tree.unwrap(), HostOptions::numbered(7), Tls::Authority).await.unwrap();
    let address = format!("redfish://{}", fake.address()).parse().unwrap();
    let trust = Trust::Authorities(fake.trusted().unwrap().to_owned());
    let bmc = connect(&address, Credentials::new("admin", "password"), trust).unwrap();
    (fake, bmc)
}

async fn changed(change: impl FnOnce(&mut Behaviour)) -> (FakeBmc, Arc<dyn Bmc>) {
    let (fake, bmc) = start("").await;
    fake.redfish().change(change);
    (fake, bmc)
}

#[tokio::test]
async fn the_host_is_who_it_is_and_boots_what_is_inserted() {
    for seed in seeds() {
        let (fake, bmc) = start(seed).await;
        let identity = bmc.identify().await.unwrap();
        let host = fake.host().identity();
        println!("{seed:?}: {identity}, {:?}", identity.macs);
        assert_eq!(identity.uuid.as_deref(), Some(host.uuid.to_string().as_str()), "{seed}");
        // Made-up addresses identify only where there are no others, as with our own seed.
        let nics = bmc.inventory().await.unwrap().nics;
        let shown: Vec<[u8; 6]> = nics.iter().filter_map(|nic| nic.mac).map(|mac| mac.bytes()).collect();
        let own: Vec<[u8; 6]> = host.macs.iter().map(|mac| mac.0).collect();
        assert!(own.iter().all(|mac| shown.contains(mac)), "{seed}: {shown:02x?} without {own:02x?}");
        if seed.is_empty() {
            let macs: Vec<[u8; 6]> = identity.macs.iter().map(|mac| mac.bytes()).collect();
            assert_eq!(macs, own);
        }
        assert_eq!(bmc.eject_media(MediaKind::Cd).await.unwrap(), ReadBack::Confirmed, "{seed}");
        for url in [URL, "http://192.0.2.1/boot/other.iso"] {
            let inserted = bmc.insert_media(&Medium::cd(url)).await.unwrap();
            assert_eq!(inserted.read_back, ReadBack::Confirmed, "{seed}");
            assert_eq!(fake.host().media().image("CD").as_deref(), Some(url), "{seed}");
            let slots = bmc.media().await.unwrap();
            let slot = slots.iter().find(|slot| slot.id == inserted.slot).unwrap();
            assert!(slot.inserted && slot.image.as_deref() == Some(url), "{seed}: {slot:?}");
        }
        assert_eq!(bmc.eject_media(MediaKind::Cd).await.unwrap(), ReadBack::Confirmed, "{seed}");
        assert_eq!(fake.host().media().image("CD"), None, "{seed}");
    }
}

#[tokio::test]
async fn media_in_the_ways_of_vendors() {
    type Change = fn(&mut Behaviour);
    let ways: [(&str, Change); 6] = [
        ("image only", |behaviour| behaviour.media_image_only = true),
        ("refuses a second", |behaviour| behaviour.media_refuses_second = true),
        ("keeps the address", |behaviour| behaviour.media_keeps_image = true),
        ("slow to empty", |behaviour| behaviour.media_eject_lag = Duration::from_secs(1)),
        ("answers with tasks", |behaviour| behaviour.action_reply = Reply::Task),
        ("refuses if-match on actions", |behaviour| behaviour.action_refuses_if_match = true),
    ];
    for (way, change) in ways {
        let (fake, bmc) = changed(change).await;
        for url in [URL, "http://192.0.2.1/boot/other.iso", URL] {
            let inserted = bmc.insert_media(&Medium::cd(url)).await;
            let inserted = inserted.unwrap_or_else(|error| panic!("{way}: {error}"));
            assert_eq!(inserted.read_back, ReadBack::Confirmed, "{way}");
            assert_eq!(fake.host().media().image("CD").as_deref(), Some(url), "{way}");
        }
        assert_eq!(bmc.eject_media(MediaKind::Cd).await.unwrap(), ReadBack::Confirmed, "{way}");
        assert_eq!(fake.host().media().image("CD"), None, "{way}");
    }
}

#[tokio::test]
async fn an_address_that_is_refused_is_explained() {
    let (_fake, bmc) = changed(|behaviour| behaviour.media_needs_iso = true).await;
    let error = bmc.insert_media(&Medium::cd("http://192.0.2.1/boot/host?token=s3cr3t")).await.unwrap_err();
    assert!(matches!(&error, BmcError::Refused { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("end in .iso") && !text.contains("s3cr3t"), "{text}");
}

#[tokio::test]
async fn an_inventory_is_the_same_in_pages_and_with_other_links() {
    for seed in seeds() {
        let (fake, bmc) = start(seed).await;
        let whole = bmc.inventory().await.unwrap();
        assert!(whole.gaps.is_empty(), "{seed}: {:?}", whole.gaps);
        assert!(!whole.processors.is_empty() && !whole.nics.is_empty(), "{seed}: {whole:?}");
        fake.redfish().change(|behaviour| {
            behaviour.page = Some(1);
            behaviour.trailing_slashes = true;
        });
        assert_eq!(bmc.inventory().await.unwrap(), whole, "{seed}");
    }
}
