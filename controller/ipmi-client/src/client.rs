//! The tokio driver: one session, one command at a time, everything within a deadline. What is not here: the session
//! itself ([`open`](crate::open)) and the socket ([`wire`](crate::wire)).

use std::fmt;
use std::time::Duration;

use rand::RngExt;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, sleep_until};

use crate::command::{ActivateSol, Command, DeactivateSol, GetDeviceId, SetSessionPrivilege};
use crate::handshake::{Handshake, Progress, Randomness};
use crate::open::{Open, Unanswered};
use crate::session::Session;
use crate::sol::Console;
use crate::wire::{Exchange, NoAnswer, Wire};
use crate::{CipherSuite, CompletionCode, Downgrade, IpmiError, Login, Options, SetupStatus};

/// BMCs end a session after 60 ± 3 s of silence (§6.12.15); past this we do not wait to find out.
const SESSION_IDLE_MAX: Duration = Duration::from_secs(50);

/// Pause after the first "busy"; later ones are twice as long, up to the ceiling.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);
const ASK_AGAIN_MAX: Duration = Duration::from_secs(2);
/// How often a handshake begins anew because its messages crossed; a BMC may count each as a wrong password.
const CROSSINGS: u32 = 2;

/// A BMC, with at most one session to it. Share it behind an `Arc`; commands queue up.
///
/// Dropping it sends a Close Session without waiting for the answer.
pub struct Client {
    host: String,
    port: u16,
    login: Login,
    options: Options,
    line: Mutex<Line>,
}

#[derive(Default)]
struct Line {
    open: Option<Open>,
    /// The suite the BMC accepted last time.
    suite: Option<&'static CipherSuite>,
    downgrade: Option<Downgrade>,
    opened: u64,
    /// Not before this instant does the next command go out.
    rests_until: Option<Instant>,
}

impl Client {
    /// A client that has done nothing yet: the first command opens the session.
    #[must_use]
    pub fn new(host: impl Into<String>, port: u16, login: Login, options: Options) -> Self {
        let line = Line { suite: options.known_suite, ..Line::default() };
        Self { host: host.into(), port, login, options, line: Mutex::new(line) }
    }

    /// How long a command may take.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        self.options.deadline
    }

    /// How many sessions this client has set up since it was made.
    pub async fn sessions_opened(&self) -> u64 {
        self.line.lock().await.opened
    }

    /// The cipher suite the BMC accepted last, for whoever remembers it between runs.
    pub async fn suite(&self) -> Option<&'static CipherSuite> {
        self.line.lock().await.suite
    }

    /// Whether the BMC has fallen back to a weaker cipher suite since this client was made.
    pub async fn downgrade(&self) -> Option<Downgrade> {
        self.line.lock().await.downgrade
    }

    /// Keeps an open session from ending for want of use: to be called at least once a minute by who wants that. Without
    /// an open session nothing happens.
    ///
    /// # Errors
    /// Any of [`IpmiError`].
    pub async fn keep_alive(&self) -> Result<(), IpmiError> {
        if self.line.lock().await.open.is_none() {
            return Ok(());
        }
        self.execute(&GetDeviceId).await.map(drop)
    }

    /// Opens the server's serial console, in a session of its own. When somebody else has it, `take_over` ends theirs.
    ///
    /// # Errors
    /// Any of [`IpmiError`]; a completion code says why the BMC gives no console: 0x80 when somebody has it, 0x81 when it
    /// is switched off, 0x83 when it cannot be encrypted.
    pub async fn console(&self, take_over: bool) -> Result<Console, IpmiError> {
        const TAKEN: CompletionCode = CompletionCode(0x80);
        let end = Instant::now() + self.options.deadline;
        let mut line = Line { suite: self.suite().await, ..Line::default() };
        let mut open = self.open(&mut line, end).await?;
        let mut activated = self.once(&mut open, &ActivateSol, end).await;
        if take_over && matches!(activated, Err(IpmiError::Completion { code: TAKEN, .. })) {
            activated = match self.once(&mut open, &DeactivateSol, end).await {
                Ok(()) => self.once(&mut open, &ActivateSol, end).await,
                Err(error) => Err(error),
            };
        }
        let activated = activated?;
        if !activated.is_at(self.port) {
            return Err(IpmiError::ConsoleElsewhere { port: activated.port });
        }
        Ok(Console::start(open, activated.to_bmc_max))
    }

    async fn once<C: Command>(&self, open: &mut Open, command: &C, end: Instant) -> Result<C::Answer, IpmiError> {
        open.execute(command, self.pause::<C>(), end).await.map_err(|unanswered| match unanswered {
            Unanswered::Silence(silence) => self.timeout(C::NAME, silence),
            Unanswered::Error(error) => error,
        })
    }

    /// Carries out a command. A lost datagram is sent again, a lost session opened again; so a command may reach the
    /// BMC twice when its answer was lost. One that is not [repeatable](Command::REPEATABLE) is sent once, and its
    /// timeout says nothing about whether it was carried out: the caller has to look. A BMC that says it is busy or
    /// starting is asked again for a while.
    ///
    /// # Errors
    /// Any of [`IpmiError`]; the session survives those that are about the command only.
    pub async fn execute<C: Command>(&self, command: &C) -> Result<C::Answer, IpmiError> {
        let mut line = self.line.lock().await;
        let end = Instant::now() + self.options.deadline;
        let patience = end.min(Instant::now() + self.options.ask_again_for);
        let mut pause = ASK_AGAIN_AFTER;
        loop {
            match self.attempt(&mut line, command, end).await {
                Err(IpmiError::Completion { code, .. })
                    if Instant::now() + pause < patience
                        && if C::REPEATABLE { code.is_transient() } else { code.is_before_the_act() } =>
                {
                    tracing::debug!(host = self.host, command = C::NAME, %code, "asking again");
                    sleep(pause).await;
                    pause = ASK_AGAIN_MAX.min(pause * 2);
                }
                result => return result,
            }
        }
    }

    async fn attempt<C: Command>(&self, line: &mut Line, command: &C, end: Instant) -> Result<C::Answer, IpmiError> {
        if let Some(rested) = line.rests_until.replace(Instant::now() + self.options.pace) {
            sleep_until(rested.min(end)).await;
            line.rests_until = Some(Instant::now() + self.options.pace);
        }
        if line.open.as_ref().is_some_and(|open| open.silent_for() > SESSION_IDLE_MAX) {
            line.open = None;
        }
        if let Some(open) = &mut line.open {
            let patience = if C::REPEATABLE { Instant::now() + self.options.give_up_session_after } else { end };
            match open.execute(command, self.pause::<C>(), end.min(patience)).await {
                Err(Unanswered::Silence(silence)) if !C::REPEATABLE => {
                    line.open = None;
                    return Err(self.timeout(C::NAME, silence));
                }
                Err(Unanswered::Silence(_)) => {
                    tracing::debug!(host = self.host, "session lost, opening another");
                    line.open = None;
                }
                Err(Unanswered::Error(error)) => return Err(error),
                Ok(answer) => return Ok(answer),
            }
        }
        let open = self.open(line, end).await?;
        let open = line.open.insert(open);
        match open.execute(command, self.pause::<C>(), end).await {
            Err(Unanswered::Silence(silence)) => {
                line.open = None;
                Err(self.timeout(C::NAME, silence))
            }
            Err(Unanswered::Error(error)) => Err(error),
            Ok(answer) => Ok(answer),
        }
    }

    /// Ends the session, if there is one. The next command opens another.
    pub async fn close(&self) {
        self.line.lock().await.open = None;
    }

    async fn open(&self, line: &mut Line, end: Instant) -> Result<Open, IpmiError> {
        let wire = Wire::connect(&self.host, self.port, end).await?;
        let session = self.set_up(line, &wire, end).await?;
        line.suite = Some(session.suite());
        line.opened += 1;
        let mut open = Open::new(wire, session);
        // A session starts with user privilege whatever was asked for while opening it (§13.17).
        let wanted = self.login.privilege();
        match open.execute(&SetSessionPrivilege(wanted), self.options.retransmit_after, end).await {
            Ok(()) => Ok(open),
            Err(Unanswered::Silence(silence)) => Err(self.timeout(SetSessionPrivilege::NAME, silence)),
            Err(Unanswered::Error(IpmiError::Completion { code, .. })) if !code.is_transient() => {
                Err(IpmiError::PrivilegeRefused { wanted, why: code.to_string() })
            }
            Err(Unanswered::Error(error)) => Err(error),
        }
    }

    async fn set_up(&self, line: &mut Line, wire: &Wire, end: Instant) -> Result<Session, IpmiError> {
        // The suite that worked before comes first, so that a BMC without the better one is not asked each time.
        let known = line.suite.into_iter().filter(|suite| self.options.suites.contains(suite));
        let others = self.options.suites.iter().copied().filter(|suite| Some(*suite) != line.suite);
        let mut suites: Vec<_> = known.chain(others).collect();
        // Some BMCs drop a proposal that they do not know. One that has used a suite before is restarting instead, and
        // silence must not talk us into a weaker one.
        let passes_over = line.suite.is_none() && suites.len() > 1;
        while !suites.is_empty() {
            let mut silent = Vec::new();
            for suite in suites {
                match self.set_up_with(suite, wire, end, passes_over).await? {
                    Offer::Accepted(session) => {
                        line.downgrade = line.downgrade.or(self.weaker(line.suite, suite));
                        return Ok(*session);
                    }
                    // A BMC does not unlearn a suite: it was reset, replaced, or someone answers in its stead.
                    Offer::Refused if line.suite == Some(suite) => {
                        tracing::warn!(host = self.host, suite = suite.id, "the bmc refuses a suite it used before");
                    }
                    Offer::Refused => {
                        tracing::debug!(host = self.host, suite = suite.id, "the bmc does not do this cipher suite");
                    }
                    Offer::Silence => silent.push(suite),
                }
            }
            suites = silent;
        }
        let allowed = self.options.suites.iter().map(|suite| suite.id.to_string()).collect::<Vec<_>>().join(", ");
        Err(IpmiError::NoCommonCipherSuite { allowed })
    }

    /// What `accepted` means after `known`: suites are listed from the best on.
    fn weaker(&self, known: Option<&'static CipherSuite>, accepted: &'static CipherSuite) -> Option<Downgrade> {
        let rank = |suite| self.options.suites.iter().position(|allowed| *allowed == suite);
        let from = known?;
        (rank(from)? < rank(accepted)?).then_some(Downgrade { from, to: accepted })
    }

    /// Goes on until `end`, or with `passes_over` until the BMC has said nothing at all to the suite for a while.
    async fn set_up_with(
        &self,
        suite: &'static CipherSuite,
        wire: &Wire,
        end: Instant,
        passes_over: bool,
    ) -> Result<Offer, IpmiError> {
        let mut crossed = 0;
        loop {
            let mut handshake = Handshake::new(self.login.clone(), suite, draw());
            // A BMC that restarts in between forgets the half-open session: begin anew after a while.
            let mut patience = end.min(Instant::now() + self.options.give_up_session_after);
            loop {
                match wire.ask(&mut handshake, self.options.retransmit_after, patience).await {
                    Ok(Progress::Established(session)) => return Ok(Offer::Accepted(session)),
                    Ok(Progress::SuiteRefused) => return Ok(Offer::Refused),
                    Ok(Progress::Crossed) if crossed < CROSSINGS => {
                        crossed += 1;
                        break;
                    }
                    Ok(Progress::Crossed) => {
                        let (stage, status) = (handshake.stage(), SetupStatus::INVALID_INTEGRITY_CHECK);
                        return Err(IpmiError::SessionRefused { stage, status });
                    }
                    Ok(Progress::Failed { error, farewell }) => {
                        if let Some(farewell) = farewell {
                            wire.tell(&farewell);
                        }
                        return Err(error);
                    }
                    Ok(Progress::Next | Progress::Ignored) => {
                        patience = end.min(Instant::now() + self.options.give_up_session_after);
                    }
                    Err(_) if Instant::now() < end && passes_over && handshake.is_unheard() => {
                        return Ok(Offer::Silence);
                    }
                    Err(_) if Instant::now() < end => break,
                    Err(silence) => return Err(self.timeout(handshake.stage(), silence)),
                }
            }
        }
    }

    /// Until `C` is sent a second time; no command waits longer than the deadline.
    fn pause<C: Command>(&self) -> Duration {
        if C::REPEATABLE { self.options.retransmit_after } else { self.options.deadline }
    }

    fn timeout(&self, doing: &'static str, silence: NoAnswer) -> IpmiError {
        IpmiError::Timeout { doing, after: self.options.deadline, last_error: silence.last_error }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

/// What came of proposing a cipher suite.
enum Offer {
    Accepted(Box<Session>),
    Refused,
    /// As a BMC does that is restarting, and one that drops what it does not know.
    Silence,
}

impl Exchange for Handshake {
    type Outcome = Progress;

    fn datagram(&mut self) -> Vec<u8> {
        Handshake::datagram(self).to_vec()
    }

    fn receive(&mut self, datagram: &[u8]) -> Option<Progress> {
        match Handshake::receive(self, datagram) {
            Progress::Ignored => None,
            progress => Some(progress),
        }
    }
}

fn draw() -> Randomness {
    let mut random = rand::rng();
    Randomness { session_id: random.random_range(1..=u32::MAX), nonce: random.random(), tag: random.random() }
}
