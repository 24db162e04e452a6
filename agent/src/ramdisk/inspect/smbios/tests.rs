//! Tables of real machines, with `dmidecode` reading the same bytes beside us.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use proptest::prelude::*;

use super::super::fixture::data;
use super::*;

const TABLES: [&str; 8] = [
    "siderolabs-ASRock-Single-Ryzen.dmi",
    "siderolabs-Beelink-EQ12.dmi",
    "siderolabs-Dell-PowerEdge-R630-Dual-Xeon.dmi",
    "siderolabs-HyperV.dmi",
    "siderolabs-SuperMicro-Dual-Xeon.dmi",
    "siderolabs-SuperMicro-Quad-Opteron.dmi",
    "u-root-satellite_pro_l70_testdata.bin",
    "u-root-smbios_table.bin",
];

/// Entry point and table of a dump, in which the table begins at 32; without an entry point the table is all there is.
fn cut(dump: &[u8]) -> (Vec<u8>, Vec<u8>) {
    if dump.starts_with(b"_SM") {
        return (dump[..32].to_vec(), dump[32..].to_vec());
    }
    let mut entry = b"_SM3_\0\x18\x03\x00\0\x01\0".to_vec();
    entry.extend(u32::try_from(dump.len()).unwrap().to_le_bytes());
    entry.extend(32_u64.to_le_bytes());
    entry[5] = 0_u8.wrapping_sub(entry.iter().fold(0, |sum, byte| sum.wrapping_add(*byte)));
    entry.resize(32, 0);
    (entry, dump.to_vec())
}

/// One structure as `dmidecode` prints it: its kind and its fields.
type Said = Vec<(u8, BTreeMap<String, String>)>;

fn dmidecode(entry: &[u8], table: &[u8]) -> Said {
    let dump = tempfile::NamedTempFile::new().unwrap();
    fs::write(dump.path(), [entry, table].concat()).unwrap();
    let output = Command::new("/usr/sbin/dmidecode").arg("--from-dump").arg(dump.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut said = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.split_once("DMI type ").map(|(_, rest)| rest).filter(|_| line.starts_with("Handle")) {
            said.push((rest.split(',').next().unwrap().parse().unwrap(), BTreeMap::new()));
        } else if let Some((name, value)) = line.strip_prefix('\t').and_then(|line| line.split_once(':'))
            && let Some((_, fields)) = said.last_mut()
        {
            fields.entry(name.to_owned()).or_insert_with(|| value.trim().to_owned());
        }
    }
    said
}

/// `dmidecode` says in words that a string is not there.
fn as_said(text: &str) -> &str {
    if text.is_empty() { "Not Specified" } else { text }
}

fn normal(said: Option<&String>) -> &str {
    match said.map(|said| said.trim()).unwrap_or_default() {
        "" => "Not Specified",
        said => said,
    }
}

#[test]
fn tables_are_read_as_dmidecode_reads_them() {
    if !Path::new("/usr/sbin/dmidecode").exists() {
        println!("SKIP dmidecode is not installed");
        return;
    }
    let mut dimms = 0;
    for name in TABLES {
        let Some(dump) = data(&format!("smbios/{name}")) else { return };
        let (entry, table) = cut(&dump);
        let found = read(&Table::new(&table), table::version(&entry));
        let said = dmidecode(&entry, &table);
        let of = |kind: u8| said.iter().filter(move |(other, _)| *other == kind).map(|(_, fields)| fields);
        let compare = |kind: u8, field: &str, ours: &str| {
            if let Some(fields) = of(kind).next() {
                assert_eq!(as_said(ours), normal(fields.get(field)), "{name}, type {kind}, {field}");
            }
        };
        compare(0, "Vendor", &found.bios.vendor);
        compare(0, "Version", &found.bios.version);
        compare(0, "Release Date", &found.bios.date);
        compare(1, "Manufacturer", &found.system.manufacturer);
        compare(1, "Product Name", &found.system.product_name);
        compare(1, "Serial Number", &found.system.serial_number);
        compare(1, "UUID", &found.system.uuid);
        compare(2, "Manufacturer", &found.enclosure.board_manufacturer);
        compare(2, "Product Name", &found.enclosure.board_product);
        compare(2, "Serial Number", &found.enclosure.board_serial_number);
        compare(3, "Manufacturer", &found.enclosure.chassis_manufacturer);
        compare(3, "Serial Number", &found.enclosure.chassis_serial_number);
        compare(3, "Asset Tag", &found.enclosure.asset_tag);

        let populated: Vec<_> =
            of(4).filter(|cpu| cpu.get("Status").is_some_and(|s| s.starts_with("Populated"))).collect();
        assert_eq!(found.sockets as usize, populated.len(), "{name}");
        let cores: u32 = populated.iter().filter_map(|cpu| cpu.get("Core Count")?.parse::<u32>().ok()).sum();
        assert_eq!(found.cores, cores, "{name}");
        if let Some(cpu) = populated.first() {
            assert_eq!(as_said(&found.processor), normal(cpu.get("Version")), "{name}");
        }

        assert_eq!(found.dimm_slots as usize, of(17).count(), "{name}");
        let plugged: Vec<_> =
            of(17).filter(|dimm| dimm.get("Size").is_some_and(|size| !size.starts_with("No Module"))).collect();
        assert_eq!(found.dimms.len(), plugged.len(), "{name}");
        for (ours, said) in found.dimms.iter().zip(plugged) {
            dimms += 1;
            let size: Vec<&str> = said["Size"].split_whitespace().collect();
            let mebibytes = match size.as_slice() {
                [number, "GB"] => number.parse::<u64>().unwrap() * 1024,
                [number, "MB"] => number.parse().unwrap(),
                other => panic!("{other:?}"),
            };
            assert_eq!(ours.size_mebibytes, mebibytes, "{name}");
            assert_eq!(as_said(&ours.locator), normal(said.get("Locator")), "{name}");
            assert_eq!(as_said(&ours.bank), normal(said.get("Bank Locator")), "{name}");
            assert_eq!(ours.kind.to_lowercase(), said["Type"].to_lowercase(), "{name}");
            assert_eq!(as_said(&ours.serial_number), normal(said.get("Serial Number")), "{name}");
            assert_eq!(as_said(&ours.part_number), normal(said.get("Part Number")), "{name}");
            let speed = |field: &str| {
                let first = said.get(field).and_then(|speed| speed.split_whitespace().next()?.parse().ok());
                first.unwrap_or(0_u32)
            };
            assert_eq!(ours.speed_megatransfers, speed("Speed"), "{name}");
            assert_eq!(ours.configured_megatransfers, speed("Configured Memory Speed"), "{name}");
        }
        let ipmi = of(38).next().and_then(|ipmi| ipmi.get("Interface Type")).map(String::as_str);
        let ours = found.host_interface.as_ref().map_or("", |interface| interface.ipmi);
        assert!(ipmi.is_none_or(|ipmi| ipmi.starts_with(ours)), "{name}: {ipmi:?}");
    }
    assert!(dimms >= 20, "only {dimms} modules were compared");
}

#[test]
fn both_orders_of_a_uuid_are_told() {
    let Some(dump) = data("smbios/siderolabs-Dell-PowerEdge-R630-Dual-Xeon.dmi") else { return };
    let (_, table) = cut(&dump);
    let table = Table::new(&table);
    let (new, old) = (read(&table, (3, 0)).system, read(&table, (2, 5)).system);
    assert_eq!(new.uuid_as_stored, old.uuid);
    assert_ne!(new.uuid, old.uuid);
    assert_eq!(new.uuid[19..], old.uuid[19..], "only the first three fields are turned round");
    assert!(!new.uuid_is_junk && !new.serial_number_is_junk);
}

/// One structure of `fields` after the header, then strings.
fn structure(kind: u8, fields: &[u8], strings: &[&str]) -> Vec<u8> {
    let mut bytes = vec![kind, u8::try_from(fields.len() + 4).unwrap(), 0, 0];
    bytes.extend(fields);
    strings.iter().for_each(|text| bytes.extend([text.as_bytes(), b"\0"].concat()));
    bytes.extend(if strings.is_empty() { &[0, 0][..] } else { &[0][..] });
    bytes
}

#[test]
fn what_many_machines_share_is_junk() {
    let of = |uuid: [u8; 16], serial: &str| {
        let mut fields = vec![1, 2, 0, 3];
        fields.extend(uuid);
        read(&Table::new(&structure(1, &fields, &["Maker", "Model", serial])), (3, 0)).system
    };
    assert!(of([0; 16], "SN1").uuid_is_junk && of([0xff; 16], "SN1").uuid_is_junk);
    let default = [0x00, 0x02, 0x00, 0x03, 0x00, 0x04, 0x00, 0x05, 0x00, 0x06, 0x00, 0x07, 0x00, 0x08, 0x00, 0x09];
    assert!(of(default, "SN1").uuid_is_junk, "in either order");
    assert!(!of(*b"0123456789abcdef", "SN1").uuid_is_junk);
    for junk in ["", " ", "0", "0000000", "Default string", "To Be Filled By O.E.M.", "N/A", "..........", "XXXXXXXX"] {
        assert!(of(*b"0123456789abcdef", junk).serial_number_is_junk, "{junk:?}");
    }
    for good in ["7CVHT3J", "S1", "CN7475163F0123"] {
        assert!(!of(*b"0123456789abcdef", good).serial_number_is_junk, "{good:?}");
    }
}

/// Laid out by DSP0270 and DSP0134, as no dump at hand has them.
#[test]
fn ways_to_the_management_controller_and_the_tpm_are_found() {
    let mut record = vec![0; 91];
    record[51] = 1;
    record[52..56].copy_from_slice(&[169, 254, 0, 17]);
    let mut host = vec![0x40, 5, 2, 0, 0, 0, 0, 1, 4, 91];
    host.extend(&record);
    let mut table = structure(42, &host, &[]);
    table.extend(structure(38, &[1, 0x20, 0x20, 0, 0xa2, 0xc, 0, 0, 0, 0, 0, 0], &[]));
    table.extend(structure(43, &[b'I', b'F', b'X', 0, 2, 0, 62, 0, 7, 0, 0, 0, 0, 0, 1], &["INFINEON"]));
    let found = read(&Table::new(&table), (3, 2));
    let interface = found.host_interface.unwrap();
    assert_eq!((interface.ipmi, interface.ipmi_version.as_str()), ("KCS", "2.0"));
    assert_eq!(interface.redfish, Some("169.254.0.17".parse().unwrap()));
    let tpm = found.tpm.unwrap();
    assert_eq!((tpm.version.as_str(), tpm.vendor.as_str(), tpm.firmware.as_str()), ("2.0", "IFX", "7.62"));
}

proptest! {
    #[test]
    fn no_table_breaks_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..600), kind in prop::sample::select(vec![0_u8, 1, 2, 3, 4, 17, 38, 42, 43]), cut in 0_usize..80) {
        read(&Table::new(&bytes), (3, 0));
        let mut shaped = structure(kind, &bytes[..bytes.len().min(100)], &["a", "b"]);
        read(&Table::new(&shaped), (3, 0));
        shaped.truncate(cut);
        read(&Table::new(&shaped), (3, 0));
    }
}
