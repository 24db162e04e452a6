//! The iPXE programs, looked at before any firmware does: the right file for each kind of machine, whole, and no web
//! page in its place.

use crate::config::{Config, Ipxe};
use crate::pe::{self, EFI_APPLICATION, MACHINE_ARM64, MACHINE_X64, Pe, PeError};

/// No iPXE build is larger; a live system's image is.
const MOST: usize = 16 * 1024 * 1024;
/// What a BIOS can load below 640 KiB.
const MOST_BIOS: usize = 600 * 1024;
/// No build is smaller.
const LEAST: usize = 16 * 1024;

/// Why a program cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProgram {
    /// Not for that.
    #[error("iPXE for {0} is {1}")]
    Pe(&'static str, #[source] PeError),
    /// For other machines.
    #[error("iPXE for {0} is a program for machine type {1:#06x} instead of {2:#06x}")]
    Machine(&'static str, u16, u16),
    /// A driver.
    #[error("iPXE for {0} has subsystem {1}: an EFI driver or ROM, where an application (10) is needed")]
    Subsystem(&'static str, u16),
    /// An EFI program for BIOS.
    #[error("iPXE for BIOS is an EFI program: give `undionly.kpxe`")]
    EfiForBios,
    /// Not the size of any iPXE.
    #[error("iPXE for {0} has {1} bytes: between {2} and {3} are expected")]
    Size(&'static str, usize, usize, usize),
    /// TLS that iPXE cannot follow.
    #[error(
        "iPXE for {0} was built without HTTPS: build it with DOWNLOAD_PROTO_HTTPS and your authority's certificate, or let \
         it use plain HTTP (Debian's build has none)"
    )]
    NoHttps(&'static str),
}

/// Each program that is not what it should be.
pub(crate) fn findings(config: &Config) -> Vec<InvalidProgram> {
    let Ipxe { x64, bios, arm64 } = &config.ipxe;
    let https = config.http.tls.as_ref().is_some_and(|tls| tls.ipxe);
    let checked = [
        Some(check_efi("x64 UEFI", x64, MACHINE_X64, https)),
        arm64.as_ref().map(|program| check_efi("arm64 UEFI", program, MACHINE_ARM64, https)),
        bios.as_deref().map(check_bios),
    ];
    checked.into_iter().flatten().filter_map(Result::err).collect()
}

fn check_efi(what: &'static str, program: &[u8], machine: u16, https: bool) -> Result<(), InvalidProgram> {
    let pe = Pe::parse(program).map_err(|error| InvalidProgram::Pe(what, error))?;
    if pe.machine != machine {
        return Err(InvalidProgram::Machine(what, pe.machine, machine));
    }
    if pe.subsystem != EFI_APPLICATION {
        return Err(InvalidProgram::Subsystem(what, pe.subsystem));
    }
    check_size(what, program, MOST)?;
    // The scheme's name, which stands in every build that has it and in no other.
    if https && !program.windows(6).any(|window| window == b"https\0") {
        return Err(InvalidProgram::NoHttps(what));
    }
    Ok(())
}

fn check_bios(program: &[u8]) -> Result<(), InvalidProgram> {
    if let Some(start) = pe::web_page(program) {
        return Err(InvalidProgram::Pe("BIOS", PeError::WebPage(start)));
    }
    if Pe::parse(program).is_ok() {
        return Err(InvalidProgram::EfiForBios);
    }
    check_size("BIOS", program, MOST_BIOS)
}

fn check_size(what: &'static str, program: &[u8], most: usize) -> Result<(), InvalidProgram> {
    match program.len() {
        fits if (LEAST..=most).contains(&fits) => Ok(()),
        other => Err(InvalidProgram::Size(what, other, LEAST, most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pe::tests::program;

    fn verdict(what: &str, octets: &[u8]) -> Result<(), InvalidProgram> {
        match what {
            "bios" => check_bios(octets),
            "arm64" => check_efi("arm64 UEFI", octets, MACHINE_ARM64, false),
            "https" => check_efi("x64 UEFI", octets, MACHINE_X64, true),
            _ => check_efi("x64 UEFI", octets, MACHINE_X64, false),
        }
    }

    #[test]
    fn each_kind_of_machine_gets_its_own_program() {
        let x64 = program(MACHINE_X64, EFI_APPLICATION, LEAST);
        let arm64 = program(MACHINE_ARM64, EFI_APPLICATION, LEAST);
        let mut https = x64.clone();
        https.extend(b"https\0");
        let cases: [(&str, &[u8], &str); 14] = [
            ("x64", &x64, ""),
            ("arm64", &arm64, ""),
            ("https", &https, ""),
            ("bios", &[0xea; 70_000], ""),
            ("x64", &arm64, "iPXE for x64 UEFI is a program for machine type 0xaa64 instead of 0x8664"),
            ("arm64", &x64, "iPXE for arm64 UEFI is a program for machine type 0x8664 instead of 0xaa64"),
            ("x64", b"", "iPXE for x64 UEFI is not an EFI program (no PE header)"),
            (
                "x64",
                b"\n<!DOCTYPE html><title>404</title>",
                "iPXE for x64 UEFI is a web page (it begins with `<!DOCTYPE html><`): the download met a proxy or an error page",
            ),
            (
                "bios",
                b"<html>",
                "iPXE for BIOS is a web page (it begins with `<html>`): the download met a proxy or an error page",
            ),
            ("bios", &x64, "iPXE for BIOS is an EFI program: give `undionly.kpxe`"),
            ("bios", &[0; 100], "iPXE for BIOS has 100 bytes: between 16384 and 614400 are expected"),
            (
                "x64",
                &program(MACHINE_X64, 11, LEAST),
                "iPXE for x64 UEFI has subsystem 11: an EFI driver or ROM, where an application (10) is needed",
            ),
            (
                "x64",
                &program(MACHINE_X64, EFI_APPLICATION, 0)[..600],
                "iPXE for x64 UEFI has 600 bytes: between 16384 and 16777216 are expected",
            ),
            (
                "https",
                &x64,
                "iPXE for x64 UEFI was built without HTTPS: build it with DOWNLOAD_PROTO_HTTPS and your authority's \
                 certificate, or let it use plain HTTP (Debian's build has none)",
            ),
        ];
        for (what, octets, expected) in cases {
            let said = verdict(what, octets).err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(said, expected, "{what}");
        }
    }

    #[test]
    fn debians_programs_are_fit() {
        for (path, what) in [("snponly.efi", "x64"), ("ipxe.efi", "x64"), ("undionly.kpxe", "bios")] {
            match std::fs::read(format!("/usr/lib/ipxe/{path}")) {
                Ok(octets) => assert_eq!(verdict(what, &octets), Ok(()), "{path}"),
                Err(error) => println!("SKIP {path}: {error}"),
            }
        }
    }
}
