//! User data of any kind, up to the point where something would be written: no panic, and no end of time or memory.
#![no_main]

use bessemer_cloud_config::{CloudConfig, user_data};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|data: &[u8]| {
    let meta_data = json!({"local-hostname": "n1", "instance-id": "i-1", "a-b": {"c": [1, "x"]}, "public-keys": ["k"]});
    let Some(meta_data) = meta_data.as_object() else { return };
    if let Ok(read) = user_data::read(data, meta_data)
        && let Ok(config) = CloudConfig::new(read, meta_data)
    {
        let _ = config.modules();
    }
});
