//! The processors, as one summary.

use std::collections::HashMap;
use std::path::Path;

use bessemer_protocol::Cpu;

use crate::files;

/// Reads `/proc/cpuinfo` and the highest clock that the kernel knows of.
pub(super) fn read(sys: &Path, proc: &Path) -> Cpu {
    let kilohertz: Option<f64> = files::number(sys.join("devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"));
    let mut cpu = parse(&files::line(proc.join("cpuinfo")).unwrap_or_default());
    cpu.arch = rustix::system::uname().machine().to_string_lossy().into_owned();
    if let Some(kilohertz) = kilohertz {
        cpu.clock_megahertz = kilohertz / 1000.0;
    }
    cpu
}

fn parse(cpuinfo: &str) -> Cpu {
    let field =
        |line: &str| line.split_once(':').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    let first: HashMap<String, String> =
        cpuinfo.lines().take_while(|line| !line.is_empty()).filter_map(field).collect();
    let get = |name: &str| first.get(name).cloned().unwrap_or_default();
    let count = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    Cpu {
        arch: String::new(),
        model: get("model name"),
        clock_megahertz: get("cpu MHz").parse().unwrap_or(0.0),
        flags: get("flags").split_whitespace().map(str::to_owned).collect(),
        count: u32::try_from(count).unwrap_or(u32::MAX),
        ..Cpu::default()
    }
}

#[cfg(test)]
mod tests {
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
}
