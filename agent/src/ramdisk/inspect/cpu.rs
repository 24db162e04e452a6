//! The processors, as one summary.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use bessemer_protocol::Cpu;

use super::smbios::Smbios;
use crate::files;

/// Flags that are kept; an x86 processor has about two hundred.
const MOST_FLAGS: usize = 512;

/// What the kernel says, and where it says nothing what the firmware does: `/proc/cpuinfo` of ARM names no model.
pub(super) fn read(sys: &Path, proc: &Path, smbios: &Smbios) -> Cpu {
    let text = fs::read_to_string(proc.join("cpuinfo")).unwrap_or_default();
    let mut cpu = parse(&text);
    cpu.arch = rustix::system::uname().machine().to_string_lossy().into_owned();
    let kilohertz: Option<f64> = files::number(sys.join("devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"));
    if let Some(kilohertz) = kilohertz {
        cpu.clock_megahertz = kilohertz / 1000.0;
    }
    let topology = topology(sys);
    if let Some((sockets, cores)) = topology {
        (cpu.sockets, cpu.cores) = (sockets, cores);
    }
    if cpu.model.is_empty() {
        cpu.model.clone_from(&smbios.processor);
    }
    if cpu.sockets == 0 {
        (cpu.sockets, cpu.cores) = (smbios.sockets, smbios.cores);
    }
    cpu
}

/// Whether the first processor says that a hypervisor stands between it and the machine.
pub(super) fn is_virtual(proc: &Path) -> bool {
    parse(&fs::read_to_string(proc.join("cpuinfo")).unwrap_or_default()).flags.iter().any(|flag| flag == "hypervisor")
}

/// Packages and cores by where the kernel puts each logical processor.
fn topology(sys: &Path) -> Option<(u32, u32)> {
    let (mut packages, mut cores) = (BTreeSet::new(), BTreeSet::new());
    for path in files::entries(sys.join("devices/system/cpu")) {
        let place = |name: &str| files::number::<i64>(path.join("topology").join(name));
        if let (Some(package), Some(core)) = (place("physical_package_id"), place("core_id")) {
            packages.insert(package);
            // Cores of different dies may share a number.
            cores.insert((package, place("die_id").unwrap_or(0), core));
        }
    }
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    (!packages.is_empty()).then(|| (count(packages.len()), count(cores.len())))
}

fn parse(cpuinfo: &str) -> Cpu {
    let field =
        |line: &str| line.split_once(':').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    let lines = || cpuinfo.lines().skip_while(|line| line.is_empty());
    let first: HashMap<String, String> = lines().take_while(|line| !line.is_empty()).filter_map(field).collect();
    let get = |name: &str| first.get(name).cloned().unwrap_or_default();
    let count = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let flags = match get("flags") {
        flags if flags.is_empty() => get("Features"),
        flags => flags,
    };
    let mut sockets: BTreeSet<String> = BTreeSet::new();
    let mut cores: BTreeSet<(String, String)> = BTreeSet::new();
    let mut socket = String::new();
    for (name, value) in cpuinfo.lines().filter_map(field) {
        match name.as_str() {
            "physical id" => {
                sockets.insert(value.clone());
                socket = value;
            }
            "core id" => drop(cores.insert((socket.clone(), value))),
            _ => {}
        }
    }
    let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    Cpu {
        arch: String::new(),
        model: get("model name"),
        clock_megahertz: get("cpu MHz").parse().unwrap_or(0.0),
        flags: flags.split_whitespace().take(MOST_FLAGS).map(str::to_owned).collect(),
        count: length(count),
        sockets: length(sockets.len()),
        cores: length(cores.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Sys, data};
    use super::*;

    #[test]
    fn processors_are_summed_up() {
        let one = "processor\t: 0\nmodel name\t: QEMU TCG CPU version 2.5+\ncpu MHz\t\t: 2399.996\nflags\t\t: fpu de\n";
        let two = one.replace("processor\t: 0", "processor\t: 1");
        let cpu = parse(&format!("{one}\n{two}\n"));
        assert_eq!((cpu.count, cpu.model.as_str()), (2, "QEMU TCG CPU version 2.5+"));
        assert_eq!(cpu.flags, ["fpu", "de"]);
        assert_eq!(cpu.clock_megahertz, 2399.996);
    }

    /// `/proc/cpuinfo` and `lscpu` of the same machine.
    #[test]
    fn what_lscpu_says_is_what_we_say() {
        let Some(cpuinfo) = data("host-tools/ipa/proc_cpuinfo_output.txt") else { return };
        let Some(said) = data("host-tools/ipa/lscpu_output.txt") else { return };
        let said = String::from_utf8(said).unwrap();
        let of = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
        let cpu = parse(&String::from_utf8(cpuinfo).unwrap());
        assert_eq!(cpu.model, of("Model name:"));
        assert_eq!(cpu.clock_megahertz.to_string(), of("CPU MHz:"));
        assert!(of("Flags:").starts_with(&cpu.flags.join(" ")), "{:?}", cpu.flags);
        assert_eq!(cpu.sockets.to_string(), of("Socket(s):"));
    }

    #[test]
    fn cores_are_counted_by_package_and_die() {
        let sys = Sys::new();
        // Two packages of two cores with two threads; the first has two dies with a core each.
        let places = [(0, 0, 0), (0, 1, 0), (0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 0, 0), (1, 0, 1)];
        for (number, (package, die, core)) in places.iter().enumerate() {
            let folder = format!("devices/system/cpu/cpu{number}/topology");
            for (name, value) in [("physical_package_id", package), ("die_id", die), ("core_id", core)] {
                sys.file(&format!("{folder}/{name}"), format!("{value}\n"));
            }
        }
        sys.file("devices/system/cpu/cpufreq/x", "");
        sys.file("devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3350000\n");
        let arm = Smbios { processor: "Ampere Altra".into(), ..Smbios::default() };
        let cpu = read(sys.path(), sys.path(), &arm);
        assert_eq!((cpu.sockets, cpu.cores, cpu.clock_megahertz), (2, 4, 3350.0));
        assert_eq!(cpu.model, "Ampere Altra", "the kernel said nothing");
        let empty = Sys::new();
        let firmware = Smbios { sockets: 1, cores: 80, ..arm };
        assert_eq!(read(empty.path(), empty.path(), &firmware).cores, 80);
    }
}
