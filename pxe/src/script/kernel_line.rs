//! The kernel's command line, from a site's arguments and a boot's own, merged by key.

use super::value::{InvalidValue, check_words};

/// Arguments that may stand more than once: a boot's own come in addition to the site's.
const REPEATABLE: [&str; 7] = ["console", "earlycon", "ip", "nameserver", "vlan", "bond", "module_blacklist"];
/// What the script itself says to the kernel.
const OWN: [&str; 2] = ["initrd", "BOOTIF"];
/// Fields of `ip=client:server:gateway:netmask:host:device:method` up to the device.
const IP_DEVICE: usize = 6;
const WHAT: &str = "the kernel arguments";

/// A command line that was checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KernelLine(Vec<String>);

impl KernelLine {
    /// Words apart by spaces; double quotes hold one together, as for the kernel.
    pub(crate) fn parse(text: &str) -> Result<Self, InvalidValue> {
        check_words(WHAT, text)?;
        let mut words: Vec<String> = Vec::new();
        let (mut quoted, mut inside) = (false, false);
        for character in text.chars() {
            if character == '"' {
                quoted = !quoted;
            }
            if character.is_whitespace() && !quoted {
                inside = false;
                continue;
            }
            if !inside {
                words.push(String::new());
                inside = true;
            }
            if let Some(word) = words.last_mut() {
                word.push(character);
            }
        }
        for word in &words {
            check(word)?;
        }
        Ok(Self(words))
    }

    /// The arguments with `more` laid over them: of one key, the later wins, unless it may be repeated.
    pub(crate) fn with(&self, more: &Self) -> Self {
        let replaced = |word: &&String| {
            let key = key(word);
            REPEATABLE.contains(&key) || !more.0.iter().any(|other| self::key(other) == key)
        };
        Self(self.0.iter().filter(replaced).chain(&more.0).cloned().collect())
    }
}

impl std::fmt::Display for KernelLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

fn key(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

fn check(word: &str) -> Result<(), InvalidValue> {
    let shown = || word.chars().take(80).collect();
    if OWN.contains(&key(word)) {
        return Err(InvalidValue::OwnArgument(shown()));
    }
    // dracut and others refuse a device without a method, hours after it was typed.
    if let Some(value) = word.strip_prefix("ip=") {
        let fields = fields(value);
        if fields.len() >= IP_DEVICE && fields.get(IP_DEVICE).is_none_or(|method| method.is_empty()) {
            return Err(InvalidValue::IpWithoutMethod(shown()));
        }
    }
    Ok(())
}

/// Apart by colons, except those of IPv6 addresses in brackets.
fn fields(value: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    value
        .split(move |character| {
            match character {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            character == ':' && depth == 0
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> KernelLine {
        KernelLine::parse(text).unwrap()
    }

    #[test]
    fn c119_arguments_are_merged_by_key() {
        for (site, boot, expected) in [
            ("a=1 b=2", "b=3 c=4", "a=1 b=3 c=4"),
            ("console=tty0 console=ttyS0", "console=ttyS1 quiet", "console=tty0 console=ttyS0 console=ttyS1 quiet"),
            ("quiet  x", "quiet", "x quiet"),
            ("a=\"1 2\" b", "", "a=\"1 2\" b"),
            ("", "", ""),
        ] {
            assert_eq!(line(site).with(&line(boot)).to_string(), expected, "{site} + {boot}");
        }
    }

    #[test]
    fn c161_a_key_is_the_whole_word_before_its_value() {
        assert_eq!(line("highmem=1G").with(&line("mem=2G")).to_string(), "highmem=1G mem=2G");
        assert_eq!(line("mem=1G highmem=2G").with(&line("mem=3G")).to_string(), "highmem=2G mem=3G");
    }

    #[test]
    fn c164_a_device_needs_a_method() {
        for bad in ["ip=::::host:BOOTIF", "ip=::::host:BOOTIF:", "quiet ip=[fd00::5]::[fd00::1]:64:host:eth0"] {
            assert!(matches!(KernelLine::parse(bad), Err(InvalidValue::IpWithoutMethod(_))), "{bad}");
        }
        for good in ["ip=::::host:BOOTIF:dhcp", "ip=dhcp", "ip=[fd00::5]::[fd00::1]:64:host:eth0:none", "ip=eth0:dhcp"]
        {
            assert_eq!(line(good).to_string(), good);
        }
    }

    #[test]
    fn the_scripts_own_arguments_are_refused() {
        for bad in ["initrd=x", "quiet BOOTIF=01-aa"] {
            assert!(matches!(KernelLine::parse(bad), Err(InvalidValue::OwnArgument(_))), "{bad}");
        }
        assert!(KernelLine::parse("a || exit").is_err());
        assert!(KernelLine::parse("a=\"b\nc\"").is_err());
    }
}
