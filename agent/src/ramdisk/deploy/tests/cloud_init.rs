//! Debian's own cloud-init takes our seeds. The FAT is probed by the real blkid and told to the real ds-identify; what mtools reads of it becomes the
//! folder that the data source reads in place of a mount, which this kernel may not have.

#[path = "../../../../tests/support/debian.rs"]
mod debian;

use bessemer_protocol::{BootstrapDelivery, SeedLayout};
use serde_json::json;

use super::*;
use crate::ramdisk::deploy::seed as seed_partition;

const SIZE: u64 = 64 << 20;

/// For the NIC that the copy has: cloud-init refuses a network of one that is not there.
fn network() -> String {
    let link = json!({"id": "a", "type": "phy", "ethernet_mac_address": debian::NIC});
    let address = json!({"link": "a", "type": "ipv4", "ip_address": "192.0.2.7", "netmask": "255.255.255.0"});
    json!({"links": [link], "networks": [address], "services": []}).to_string()
}

fn whole_seed(layout: SeedLayout) -> Seed {
    let mut seed = Seed {
        hostname: "r1-u1".into(),
        instance_id: "i-77".into(),
        delivery: BootstrapDelivery::CloudInit,
        layout,
        user_data: Some("## template: jinja\n#cloud-config\nwrite_files:\n- {path: /etc/from-user, content: '{{ ds.meta_data.rack }}'}\nruncmd: ['echo ran > /etc/ran']\n".into()),
        network_data: Some(network()),
        vendor_data: Some("#cloud-config\nbootcmd: ['echo v > /etc/from-vendor']\n".into()),
        ..Seed::default()
    };
    seed.meta_data.insert("rack".into(), json!("r1"));
    seed
}

/// Probes as `blkid` does at boot, with the device's name that a disk would have.
const BLKID: &str = "#!/bin/sh\n/usr/sbin/blkid -p -o export /seed.img | sed 's,^DEVNAME=.*,DEVNAME=/dev/vda3,'\n";

const SCRIPT: &str = "/usr/lib/cloud-init/ds-identify --force; echo identified $?; cat /run/cloud-init/cloud.cfg; rm /usr/local/sbin/blkid\n\
    cloud-init init --local > /dev/null; cloud-init init > /dev/null; cloud-init modules --mode config > /dev/null; cloud-init modules --mode final > /dev/null\n\
    cat /run/cloud-init/result.json; cloud-init query instance_id; python3 /network.py";

const CONFIG: &str = "network: {config: disabled}\nusers: []\nssh_deletekeys: false\nssh_genkeytypes: []\n\
    cloud_init_modules: [bootcmd, write-files, set_hostname]\ncloud_config_modules: [runcmd]\ncloud_final_modules: [scripts-user]\n";

const CONFIG_DRIVE: &str = "from cloudinit.sources import DataSourceConfigDrive as d\n\
    r = d.read_config_drive('/var/lib/cloud/seed/config_drive')\nprint('network', r['networkdata']['links'][0]['id'], 'version', r['version'])\n";

const NO_CLOUD: &str = "from cloudinit import util\n\
    r = util.pathprefix2dict('/var/lib/cloud/seed/nocloud', required=['user-data', 'meta-data'], optional=['network-config', 'vendor-data'])\n\
    from cloudinit.net import network_state\nn = network_state.parse_net_config_data(util.load_yaml(r['network-config'])['network'])\n\
    print('network', [i['name'] for i in n.iter_interfaces()], 'version', n.version)\n";

#[test]
fn real_cloud_init_accepts_our_seeds() {
    if let Some(reason) = debian::missing() {
        println!("SKIP {reason}");
        return;
    }
    let (root, identity) = (debian::root(), identity());
    let table = [
        (SeedLayout::ConfigDrive, 512, "config-2", "ConfigDrive", "config_drive", CONFIG_DRIVE, "network a version 2"),
        (SeedLayout::ConfigDrive, 4096, "config-2", "ConfigDrive", "config_drive", CONFIG_DRIVE, "network a version 2"),
        (SeedLayout::NoCloud, 512, "cidata", "NoCloud", "nocloud", NO_CLOUD, "network ['a'] version 2"),
    ];
    for (layout, sector, label, source, place, script, network) in table {
        let copy = debian::Copy::of(&[&root]);
        let image = copy.upper().join("seed.img");
        File::create(&image).unwrap().set_len(SIZE).unwrap();
        let disk = OpenOptions::new().read(true).write(true).open(&image).unwrap();
        let seed = whole_seed(layout);
        seed_partition::write(&disk, (0, SIZE, sector), &seed, Some(&identity)).unwrap();
        seed_partition::verify(&disk, (0, SIZE), &seed, Some(&identity)).unwrap();
        let folder = copy.upper().join("var/lib/cloud/seed").join(place);
        fs::create_dir_all(&folder).unwrap();
        let copied = Command::new("mcopy").args(["-s", "-n", "-i"]).arg(&image).arg("::/*").arg(&folder).output();
        match copied {
            Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
            Err(_) => {
                println!("SKIP mcopy is missing");
                return;
            }
        }
        copy.put("/usr/local/sbin/blkid", BLKID.as_bytes(), 0o755);
        copy.put("/network.py", script.as_bytes(), 0o644);
        copy.put("/etc/cloud/cloud.cfg.d/99_test.cfg", CONFIG.as_bytes(), 0o644);
        copy.put("/run/systemd/system/.there", b"", 0o644);
        let probed = Command::new("blkid").args(["-p", "-o", "export"]).arg(&image).output().unwrap();
        let probed = String::from_utf8_lossy(&probed.stdout).into_owned();
        assert!(probed.contains(&format!("LABEL={label}\n")) && probed.contains("TYPE=vfat"), "{sector}: {probed}");
        let output = copy.run(SCRIPT);
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("identified 0") && said.contains(&format!("datasource_list: [ {source}, None ]")),
            "{said}"
        );
        assert!(said.contains(&format!("DataSource{source}")) && said.contains("\"errors\": []"), "{said}");
        assert!(said.contains(network), "{said}");
        let left =
            |path: &str| fs::read_to_string(copy.upper().join(path)).unwrap_or_else(|_| panic!("{path}: {said}"));
        assert_eq!(left("etc/from-user"), "r1");
        assert_eq!(left("etc/from-vendor"), "v\n");
        assert_eq!(left("etc/ran"), "ran\n");
        assert_eq!(left("etc/hostname"), "r1-u1\n");
        assert!(said.contains("i-77"), "{said}");
    }
}
