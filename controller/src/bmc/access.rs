//! From options to a BMC. Nothing is sent yet.

use std::fs;
use std::sync::Arc;

use bessemer_bmc::{Address, Bmc, Credentials, Protocol, Trust};

use super::exit::Failure;
use super::options::AccessOptions;
use super::password;

pub(super) async fn connect(options: &AccessOptions) -> Result<Arc<dyn Bmc>, Failure> {
    let address = options.address.as_deref();
    let address: Address = address
        .ok_or_else(|| Failure::usage("which bmc? name it with --address redfish://HOST or ipmi://HOST"))?
        .parse()?;
    let user = options.username.as_deref();
    let user = user.ok_or_else(|| Failure::usage("who asks? name the bmc's user with --username"))?;
    if address.scheme().protocol() == Protocol::Ipmi {
        let tls = [
            ("--insecure", options.insecure),
            ("--ca-file", options.ca_file.is_some()),
            ("--pin", options.pin.is_some()),
        ];
        if let Some((option, _)) = tls.into_iter().find(|(_, given)| *given) {
            return Err(Failure::usage(format!("{option} means nothing to {address}: ipmi knows no certificates")));
        }
    }
    let trust = trust(options)?;
    // last of all: nobody wants to type it for nothing
    let password = password::of_bmc(options.password_file.as_deref(), user, &address).await?;
    Ok(bessemer_bmc::connect(&address, Credentials::new(user, password.as_str()), trust)?)
}

fn trust(options: &AccessOptions) -> Result<Trust, Failure> {
    if options.insecure {
        return Ok(Trust::Anyone);
    }
    if let Some(file) = &options.ca_file {
        let pem = fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("--ca-file {}: {error}", file.display())))?;
        return Ok(Trust::Authorities(pem));
    }
    match options.pin.as_deref() {
        Some(pin) => fingerprint(pin)
            .map(Trust::Pin)
            .ok_or_else(|| Failure::usage(format!("--pin {pin}: is no SHA-256 fingerprint of 64 hexadecimal digits"))),
        None => Ok(Trust::System),
    }
}

/// As `openssl x509 -fingerprint -sha256` writes it, with or without colons.
fn fingerprint(text: &str) -> Option<[u8; 32]> {
    let digits: Option<Vec<u32>> = text.chars().filter(|sign| *sign != ':').map(|sign| sign.to_digit(16)).collect();
    let bytes: Vec<u8> = digits?
        .chunks(2)
        .filter_map(|pair| match pair {
            [high, low] => u8::try_from(high << 4 | low).ok(),
            _ => None,
        })
        .collect();
    // an odd digit is none of theirs
    (text.chars().filter(|sign| *sign != ':').count() == 64).then_some(())?;
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_read_as_openssl_writes_them() {
        let plain = "00ff".repeat(16);
        let colons = ["00", "FF"].repeat(16).join(":");
        assert_eq!(fingerprint(&plain), fingerprint(&colons));
        assert_eq!(fingerprint(&plain).unwrap()[..2], [0, 255]);
        for wrong in ["", "00", &plain[1..], "zz", &format!("{plain}0")] {
            assert_eq!(fingerprint(wrong), None, "{wrong}");
        }
    }
}
