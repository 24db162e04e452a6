//! How power changes. An action is accepted or refused at once; what follows is steps with a delay before each, and a
//! newer action ends an older one's steps.

use std::sync::Arc;
use std::time::Duration;

use super::Host;
use super::power::{NotNow, PowerAction, PowerState, Repeats};
use crate::machine::Shutdown;

/// What happens when a delay is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Show(PowerState),
    Start,
    Stop,
    Reset,
}

type Steps = Vec<(Duration, Step)>;

impl Host {
    /// Asks for a change of power.
    ///
    /// # Errors
    /// When the state does not allow it.
    pub fn power_action(self: &Arc<Self>, action: PowerAction) -> Result<(), NotNow> {
        let state = self.power();
        let Some(steps) = self.plan(action, state)? else { return Ok(()) };
        let generation = {
            let mut state = self.state();
            state.generation += 1;
            state.generation
        };
        self.note("OK", format!("power action {}", action.name()));
        self.run(generation, steps);
        Ok(())
    }

    /// The machine went off by itself: its operating system halted, or its process ended.
    pub fn went_off(self: &Arc<Self>) {
        self.state().generation += 1;
        self.show(PowerState::Off);
    }

    /// The machine restarted by itself: gives what it boots from now, and uses up an override for once.
    pub fn restarted_by_itself(&self) -> crate::machine::Boot {
        self.begin_boot()
    }

    fn plan(self: &Arc<Self>, action: PowerAction, state: PowerState) -> Result<Option<Steps>, NotNow> {
        use PowerAction as A;
        use PowerState::{Off, On, Paused, PoweringOff, PoweringOn};
        let timing = self.state().timing;
        let zero = Duration::ZERO;
        let up = || vec![(timing.lag, Step::Show(PoweringOn)), (timing.on, Step::Start)];
        let down = || vec![(timing.lag, Step::Show(PoweringOff)), (timing.off, Step::Stop)];
        let cycle = || [down(), vec![(zero, Step::Show(PoweringOn)), (timing.on, Step::Start)]].concat();
        let refused = NotNow { action, state };
        let repeated = || match self.repeats {
            Repeats::Accepted => Ok(None),
            Repeats::Refused => Err(refused),
        };
        match (action, state) {
            (A::On | A::ForceOn, On | PoweringOn) | (A::ForceOff | A::GracefulShutdown, Off) => repeated(),
            (A::On | A::ForceOn | A::PushPowerButton, Off | PoweringOff) => Ok(Some(up())),
            (A::ForceOff, _) => Ok(Some(down())),
            (A::PowerCycle | A::FullPowerCycle, _) if state != Off => Ok(Some(cycle())),
            (A::ForceRestart, On | PoweringOn | Paused) => Ok(Some(vec![(timing.reset, Step::Reset)])),
            (A::GracefulShutdown | A::PushPowerButton, On | PoweringOn) => match self.machine.shut_down(self) {
                Shutdown::Obeyed => {
                    Ok(Some(vec![(timing.lag, Step::Show(PoweringOff)), (timing.graceful, Step::Stop)]))
                }
                Shutdown::WillReport | Shutdown::Ignored => Ok(None),
            },
            (A::GracefulShutdown, PoweringOff) => Ok(None),
            (A::GracefulRestart, On | PoweringOn) => match self.machine.shut_down(self) {
                Shutdown::Obeyed => Ok(Some(vec![(timing.graceful + timing.reset, Step::Reset)])),
                Shutdown::WillReport | Shutdown::Ignored => Ok(None),
            },
            (A::Nmi, On | PoweringOn) => {
                self.machine.interrupt(self);
                Ok(None)
            }
            (A::Suspend | A::Pause, On) => Ok(Some(vec![(timing.lag, Step::Show(Paused))])),
            (A::Resume | A::On | A::ForceOn, Paused) => Ok(Some(vec![(timing.lag, Step::Show(On))])),
            _ => Err(refused),
        }
    }

    /// Runs the steps that need no waiting at once, and the others in a task.
    fn run(self: &Arc<Self>, generation: u64, steps: Steps) {
        let mut steps = steps.into_iter();
        while let Some((delay, step)) = steps.next() {
            if delay.is_zero() {
                self.step(generation, step);
                continue;
            }
            let host = Arc::downgrade(self);
            tokio::spawn(async move {
                let mut next = Some((delay, step));
                while let Some((delay, step)) = next {
                    tokio::time::sleep(delay).await;
                    let Some(host) = host.upgrade() else { return };
                    host.step(generation, step);
                    next = steps.next();
                }
            });
            return;
        }
    }

    fn step(self: &Arc<Self>, generation: u64, step: Step) {
        if self.state().generation != generation {
            return;
        }
        match step {
            Step::Show(power) => self.show(power),
            Step::Start => {
                let boot = self.begin_boot();
                self.show(PowerState::On);
                self.machine.power_on(self, &boot);
            }
            Step::Reset => {
                let boot = self.begin_boot();
                self.show(PowerState::On);
                self.machine.reset(self, &boot);
            }
            Step::Stop => {
                self.show(PowerState::Off);
                self.machine.power_off(self);
            }
        }
    }

    fn begin_boot(&self) -> crate::machine::Boot {
        let media = self.media().clone();
        let mut state = self.state();
        let boot = state.boot.take(&media);
        state.boots += 1;
        state.last_boot = Some(boot.clone());
        boot
    }

    fn show(&self, power: PowerState) {
        self.state().power = power;
        self.note("OK", format!("power state {}", power.name()));
        self.power_changes.send_replace(power);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostOptions;
    use crate::host::boot::{BootMode, BootOverride, Persistence};
    use crate::host::power::Timing;
    use crate::machine::BootSource;

    #[test]
    fn every_action_from_every_state() {
        use PowerAction as A;
        use PowerState::{Off, On, Paused};
        let table = [
            (On, A::On, Ok(On)),
            (Off, A::On, Ok(On)),
            (Off, A::ForceOn, Ok(On)),
            (Off, A::PushPowerButton, Ok(On)),
            (On, A::PushPowerButton, Ok(Off)),
            (On, A::ForceOff, Ok(Off)),
            (Off, A::ForceOff, Ok(Off)),
            (On, A::GracefulShutdown, Ok(Off)),
            (On, A::GracefulRestart, Ok(On)),
            (Off, A::GracefulRestart, Err(())),
            (On, A::ForceRestart, Ok(On)),
            (Off, A::ForceRestart, Err(())),
            (On, A::PowerCycle, Ok(On)),
            (Off, A::PowerCycle, Err(())),
            (On, A::FullPowerCycle, Ok(On)),
            (On, A::Nmi, Ok(On)),
            (Off, A::Nmi, Err(())),
            (On, A::Pause, Ok(Paused)),
            (On, A::Suspend, Ok(Paused)),
            (Paused, A::Resume, Ok(On)),
            (Off, A::Resume, Err(())),
            (Paused, A::ForceOff, Ok(Off)),
        ];
        for (from, action, expected) in table {
            let host = Host::new(HostOptions { power: from, ..HostOptions::numbered(0) });
            let result = host.power_action(action).map(|()| host.power()).map_err(|_| ());
            assert_eq!(result, expected, "{action:?} from {from:?}");
        }
    }

    #[test]
    fn repeats_can_be_refused() {
        let options = HostOptions { repeats: Repeats::Refused, ..HostOptions::numbered(0) };
        let host = Host::new(options);
        let error = host.power_action(PowerAction::ForceOff).unwrap_err();
        assert_eq!(error.to_string(), "ForceOff is not possible while the host is Off");
        assert!(host.power_action(PowerAction::On).is_ok());
    }

    #[test]
    fn each_start_takes_the_override_of_that_moment() {
        let host = Host::new(HostOptions::numbered(0));
        host.set_boot_override(BootOverride::new(Persistence::Once, "Pxe", BootMode::Uefi));
        host.power_action(PowerAction::On).unwrap();
        assert_eq!(host.last_boot().unwrap().source, BootSource::Pxe);
        host.power_action(PowerAction::ForceRestart).unwrap();
        assert_eq!(host.last_boot().unwrap().source, BootSource::Disk);
        assert_eq!(host.boots(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn transitions_take_their_time_and_a_newer_action_wins() {
        let second = Duration::from_secs(1);
        let timing = Timing { on: 10 * second, off: second, lag: second, ..Timing::default() };
        let host = Host::new(HostOptions { timing, ..HostOptions::numbered(0) });
        host.power_action(PowerAction::On).unwrap();
        assert_eq!(host.power(), PowerState::Off, "nothing shows yet");
        let mut power = host.watch_power();
        power.wait_for(|power| *power == PowerState::PoweringOn).await.unwrap();
        host.power_action(PowerAction::ForceOff).unwrap();
        power.wait_for(|power| *power == PowerState::Off).await.unwrap();
        tokio::time::sleep(20 * second).await;
        assert_eq!((host.power(), host.boots()), (PowerState::Off, 0), "the first action has ended");
    }
}
