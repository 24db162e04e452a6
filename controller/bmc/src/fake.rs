//! An in-memory rack of BMCs for tests: it remembers what was asked, and lies on request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use crate::{
    Address, Bmc, BmcConnector, BmcError, BootOverride, Credentials, Identity, InsertedMedia, MediaKind, Medium,
    PowerAction, PowerState, ReadBack, Trust,
};

/// Something that was asked of a [`FakeBmc`] and reached it with the right credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// [`Bmc::identify`].
    Identify,
    /// [`Bmc::power`].
    Power(PowerAction),
    /// [`Bmc::set_boot_override`].
    BootOverride(BootOverride),
    /// [`Bmc::insert_media`], by its URL.
    Insert(String),
    /// [`Bmc::eject_media`].
    Eject,
}

/// One pretended BMC. Reading the power state is not recorded: it is polled.
pub struct FakeBmc {
    address: Address,
    state: Mutex<State>,
}

struct State {
    credentials: Credentials,
    reachable: bool,
    power: PowerState,
    boot: Option<BootOverride>,
    medium: Option<String>,
    verifies: bool,
    obeys: bool,
    acts: Vec<Act>,
}

impl FakeBmc {
    /// A BMC whose server is off and which lets `credentials` in.
    #[must_use]
    pub fn new(address: Address, credentials: Credentials) -> Arc<Self> {
        let state = State {
            credentials,
            reachable: true,
            power: PowerState::Off,
            boot: None,
            medium: None,
            verifies: false,
            obeys: true,
            acts: Vec::new(),
        };
        Arc::new(Self { address, state: Mutex::new(state) })
    }

    /// Everything asked so far, in order.
    #[must_use]
    pub fn acts(&self) -> Vec<Act> {
        self.lock().acts.clone()
    }

    /// The power state now.
    #[must_use]
    pub fn power_now(&self) -> PowerState {
        self.lock().power
    }

    /// The last boot override, if any.
    #[must_use]
    pub fn boot_now(&self) -> Option<BootOverride> {
        self.lock().boot.clone()
    }

    /// URL of what is in its virtual CD drive.
    #[must_use]
    pub fn medium_now(&self) -> Option<String> {
        self.lock().medium.clone()
    }

    /// Whether it says that it verifies the servers that media come from.
    pub fn set_verifies(&self, verifies: bool) {
        self.lock().verifies = verifies;
    }

    /// Sets the power state behind the caller's back.
    pub fn set_power_state(&self, power: PowerState) {
        self.lock().power = power;
    }

    /// Whether it answers at all.
    pub fn set_reachable(&self, reachable: bool) {
        self.lock().reachable = reachable;
    }

    /// Whether a power act changes anything.
    pub fn set_obeys(&self, obeys: bool) {
        self.lock().obeys = obeys;
    }

    /// Changes whom it lets in.
    pub fn set_credentials(&self, credentials: Credentials) {
        self.lock().credentials = credentials;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connector over [`FakeBmc`]s; an address nobody added is unreachable.
#[derive(Default)]
pub struct FakeConnector {
    bmcs: Mutex<HashMap<Address, Arc<FakeBmc>>>,
    trusted: Mutex<HashMap<Address, Trust>>,
}

impl FakeConnector {
    /// An empty rack.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a BMC into the rack.
    pub fn add(&self, bmc: Arc<FakeBmc>) {
        self.bmcs.lock().unwrap_or_else(PoisonError::into_inner).insert(bmc.address.clone(), bmc);
    }

    /// How the BMC at `address` was to be believed when it was last connected to; none if it never was.
    #[must_use]
    pub fn trusted(&self, address: &Address) -> Option<Trust> {
        self.trusted.lock().unwrap_or_else(PoisonError::into_inner).get(address).cloned()
    }
}

impl BmcConnector for FakeConnector {
    fn connect(&self, address: &Address, credentials: Credentials, trust: Trust) -> Result<Arc<dyn Bmc>, BmcError> {
        self.trusted.lock().unwrap_or_else(PoisonError::into_inner).insert(address.clone(), trust);
        let bmc = self.bmcs.lock().unwrap_or_else(PoisonError::into_inner).get(address).cloned();
        Ok(Arc::new(FakeClient { address: address.clone(), bmc, credentials }))
    }

    fn forget(&self, _address: &Address) {}
}

struct FakeClient {
    address: Address,
    bmc: Option<Arc<FakeBmc>>,
    credentials: Credentials,
}

impl FakeClient {
    fn enter(&self) -> Result<MutexGuard<'_, State>, BmcError> {
        let unreachable = || BmcError::Unreachable {
            address: self.address.to_string(),
            deadline: Duration::from_secs(1),
            why: "the fake does not answer".to_owned(),
        };
        let state = self.bmc.as_ref().ok_or_else(unreachable)?.lock();
        if !state.reachable {
            return Err(unreachable());
        }
        if state.credentials != self.credentials {
            return Err(BmcError::BadCredentials {
                address: self.address.to_string(),
                user: self.credentials.username().to_owned(),
                why: "wrong user name or password".to_owned(),
            });
        }
        Ok(state)
    }
}

#[async_trait]
impl Bmc for FakeClient {
    async fn identify(&self) -> Result<Identity, BmcError> {
        self.enter()?.acts.push(Act::Identify);
        Ok(Identity { vendor: Some("fake".to_owned()), ..Identity::default() })
    }

    async fn power_state(&self) -> Result<PowerState, BmcError> {
        Ok(self.enter()?.power)
    }

    async fn power(&self, action: PowerAction) -> Result<(), BmcError> {
        let mut state = self.enter()?;
        state.acts.push(Act::Power(action));
        if !state.obeys {
            return Err(BmcError::NotApplied {
                address: self.address.to_string(),
                wrote: action.to_string(),
                read: state.power.to_string(),
                deadline: Duration::from_secs(1),
            });
        }
        state.power = match action {
            PowerAction::On | PowerAction::Reset | PowerAction::Cycle => PowerState::On,
            PowerAction::ForceOff | PowerAction::GracefulOff => PowerState::Off,
        };
        Ok(())
    }

    async fn set_boot_override(&self, wanted: &BootOverride) -> Result<ReadBack, BmcError> {
        let mut state = self.enter()?;
        state.acts.push(Act::BootOverride(wanted.clone()));
        state.boot = Some(wanted.clone());
        Ok(ReadBack::Confirmed)
    }

    async fn insert_media(&self, medium: &Medium) -> Result<InsertedMedia, BmcError> {
        let mut state = self.enter()?;
        state.acts.push(Act::Insert(medium.url.clone()));
        state.medium = Some(medium.url.clone());
        Ok(InsertedMedia { slot: "cd".to_owned(), read_back: ReadBack::Confirmed, verified: state.verifies })
    }

    async fn eject_media(&self, _kind: MediaKind) -> Result<ReadBack, BmcError> {
        let mut state = self.enter()?;
        state.acts.push(Act::Eject);
        state.medium = None;
        Ok(ReadBack::Confirmed)
    }
}
