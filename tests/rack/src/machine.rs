//! One server's power switch, as data: what is asked of it and what happens to it go in, what to do comes out. No
//! process is started here.

use serde::{Deserialize, Serialize};

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Power {
    /// Running.
    On,
    /// Not running.
    Off,
}

/// Where the firmware looks first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Boot {
    /// The firmware's own order: disk, then network.
    Default,
    /// The network, once.
    Pxe,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The BMC or a test cut the power.
    Cut,
    /// The guest, or the ACPI button, turned it off.
    GuestOff,
    /// The guest asked for a reset.
    GuestReset,
    /// The emulator ended by itself; what it said last.
    Broken(String),
}

/// What can be seen of a host from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostState {
    /// Now.
    pub power: Power,
    /// What the next start looks at first.
    pub next_boot: Boot,
    /// Starts so far: by power on, by reset, or by the guest's own reset.
    pub starts: u32,
    /// What the latest start looked at first.
    pub last_boot: Option<Boot>,
    /// How the run before ended.
    pub last_end: Option<End>,
}

/// What is asked of a machine, or happens to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    PowerOn,
    PowerOff,
    Reset,
    /// The ACPI power button.
    Button,
    NextBoot(Boot),
    /// The run numbered so (by `starts`) ended by itself.
    Ended(u32, End),
}

/// What to do about it, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// End the running emulator and wait until it is gone.
    Cut,
    /// Start run number `.0`.
    Start(u32, Boot),
    PressButton,
}

/// A machine and its one-shot override.
#[derive(Debug)]
pub(crate) struct Machine {
    state: HostState,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let (power, next_boot) = (Power::Off, Boot::Default);
        Self { state: HostState { power, next_boot, starts: 0, last_boot: None, last_end: None } }
    }

    pub(crate) fn state(&self) -> &HostState {
        &self.state
    }

    pub(crate) fn on(&mut self, input: Input) -> Vec<Action> {
        let running = self.state.power == Power::On;
        match input {
            Input::PowerOn if running => vec![],
            Input::PowerOn => vec![self.start()],
            Input::PowerOff | Input::Reset if !running => vec![],
            Input::PowerOff => {
                self.end(End::Cut);
                vec![Action::Cut]
            }
            Input::Reset => {
                self.end(End::Cut);
                vec![Action::Cut, self.start()]
            }
            Input::Button if running => vec![Action::PressButton],
            Input::Button => vec![],
            Input::NextBoot(boot) => {
                self.state.next_boot = boot;
                vec![]
            }
            Input::Ended(run, _) if !running || run != self.state.starts => vec![],
            Input::Ended(_, End::GuestReset) => {
                self.end(End::GuestReset);
                vec![self.start()]
            }
            Input::Ended(_, end) => {
                self.end(end);
                vec![]
            }
        }
    }

    fn start(&mut self) -> Action {
        let boot = std::mem::replace(&mut self.state.next_boot, Boot::Default);
        self.state.power = Power::On;
        self.state.starts += 1;
        self.state.last_boot = Some(boot);
        Action::Start(self.state.starts, boot)
    }

    fn end(&mut self, end: End) {
        self.state.power = Power::Off;
        self.state.last_end = Some(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_lead_to_actions() {
        use Action::{Cut, PressButton, Start};
        let broken = || End::Broken("no tap".into());
        let steps: Vec<(Input, Vec<Action>, Power)> = vec![
            (Input::PowerOff, vec![], Power::Off),
            (Input::Reset, vec![], Power::Off),
            (Input::Button, vec![], Power::Off),
            (Input::NextBoot(Boot::Pxe), vec![], Power::Off),
            (Input::PowerOn, vec![Start(1, Boot::Pxe)], Power::On),
            (Input::PowerOn, vec![], Power::On),
            // the override was for one start
            (Input::Ended(1, End::GuestReset), vec![Start(2, Boot::Default)], Power::On),
            (Input::Ended(1, End::GuestOff), vec![], Power::On),
            (Input::NextBoot(Boot::Pxe), vec![], Power::On),
            (Input::Reset, vec![Cut, Start(3, Boot::Pxe)], Power::On),
            (Input::Button, vec![PressButton], Power::On),
            (Input::Ended(3, End::GuestOff), vec![], Power::Off),
            (Input::Ended(3, End::GuestOff), vec![], Power::Off),
            (Input::PowerOn, vec![Start(4, Boot::Default)], Power::On),
            (Input::PowerOff, vec![Cut], Power::Off),
            // its end is told after it was cut
            (Input::Ended(4, broken()), vec![], Power::Off),
            (Input::PowerOn, vec![Start(5, Boot::Default)], Power::On),
            (Input::Ended(5, broken()), vec![], Power::Off),
        ];
        let mut machine = Machine::new();
        for (at, (input, actions, power)) in steps.into_iter().enumerate() {
            assert_eq!(machine.on(input), actions, "step {at}");
            assert_eq!(machine.state().power, power, "step {at}");
        }
        assert_eq!(machine.state().last_end, Some(broken()));
    }
}
