//! Network data of any form, written by every renderer: no panic, paths in their folders, and what netplan gets is YAML again.
#![no_main]

use bessemer_cloud_config::network::{self, Nic, detect::Renderer};
use bessemer_cloud_config::yaml;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(network) = network::parse(text) else { return };
    for renderer in [Renderer::Netplan, Renderer::NetworkManager, Renderer::Networkd] {
        for file in renderer.files(&network) {
            assert!(file.path.starts_with("/etc/") && file.path.split('/').all(|part| part != ".."), "{}", file.path);
            if renderer == Renderer::Netplan {
                assert!(yaml::parse(&file.content).is_ok(), "{}", file.content);
            }
        }
    }
    let _ = network.on_host(&[Nic { name: "eth0".to_owned(), mac: "52:54:00:00:00:01".to_owned() }]);
});
