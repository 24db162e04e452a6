//! The words that `ipmi_sim` calls its chassis program with (OpenIPMI, `ipmi_sim_cmd(5)`, `chassis_control`).

use crate::machine::{Boot, HostState, Input, Power};

/// What it wants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chassis {
    /// Lines of `name:value`.
    Get(Vec<String>),
    Set(Vec<Input>),
    /// Whether the names can be set.
    Check,
}

pub(crate) fn parse(words: &[String]) -> Result<Chassis, String> {
    let (verb, rest) = words.split_first().ok_or("chassis hook: no verb")?;
    match verb.as_str() {
        "get" => Ok(Chassis::Get(rest.to_vec())),
        "check" => match rest.iter().find(|name| !["power", "reset", "boot", "shutdown"].contains(&name.as_str())) {
            Some(name) => Err(format!("chassis hook: {name} cannot be set")),
            None => Ok(Chassis::Check),
        },
        "set" => rest.chunks(2).map(setting).collect::<Result<_, _>>().map(Chassis::Set),
        _ => Err(format!("chassis hook: {verb:?} is not get, set or check")),
    }
}

fn setting(pair: &[String]) -> Result<Input, String> {
    let words: Vec<&str> = pair.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["power", "1"] => Ok(Input::PowerOn),
        ["power", "0"] => Ok(Input::PowerOff),
        ["reset", _] => Ok(Input::Reset),
        ["shutdown", _] => Ok(Input::Button),
        ["boot", "pxe"] => Ok(Input::NextBoot(Boot::Pxe)),
        ["boot", "none" | "default"] => Ok(Input::NextBoot(Boot::Default)),
        _ => Err(format!("chassis hook: cannot set {}", words.join(" "))),
    }
}

/// The answer to `get`.
pub(crate) fn show(names: &[String], state: &HostState) -> String {
    let value = |name: &str| match (name, state.power, state.next_boot) {
        ("power", Power::On, _) => "1",
        ("boot", _, Boot::Pxe) => "pxe",
        ("boot", _, Boot::Default) => "none",
        _ => "0",
    };
    names.iter().map(|name| format!("{name}:{}\n", value(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn words_become_inputs() {
        for (text, expected) in [
            ("get power boot", Ok(Chassis::Get(words("power boot")))),
            ("set power 1", Ok(Chassis::Set(vec![Input::PowerOn]))),
            ("set boot pxe power 1", Ok(Chassis::Set(vec![Input::NextBoot(Boot::Pxe), Input::PowerOn]))),
            ("set boot cdrom", Err("chassis hook: cannot set boot cdrom".to_owned())),
            ("set power", Err("chassis hook: cannot set power".to_owned())),
            ("check power reset", Ok(Chassis::Check)),
            ("check identify", Err("chassis hook: identify cannot be set".to_owned())),
            ("", Err("chassis hook: no verb".to_owned())),
        ] {
            assert_eq!(parse(&words(text)), expected, "{text}");
        }
    }
}
