//! Who has an address, by the API's own word. In a storm hundreds ask at once: one list answers all who were waiting when
//! it began.

use std::collections::HashMap;
use std::mem;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bessemer_api::bessemer::{BootLease, BootLeaseSpec};
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::parse;
use crate::boot::api_trouble;
use crate::outside::DirectoryError;

/// Addresses in one list: their labels must fit into a URL.
const AT_ONCE: usize = 100;

type Holders = Vec<Arc<BootLease>>;

struct Question {
    address: IpAddr,
    answer: oneshot::Sender<Holders>,
}

/// Questions of this process that wait for a list.
#[derive(Default)]
pub(crate) struct Looks {
    waiting: Mutex<Vec<Question>>,
    turn: tokio::sync::Mutex<()>,
}

impl Looks {
    /// The leases with this address, listed after this was called.
    pub(super) async fn holders(&self, client: &Client, address: IpAddr) -> Result<Holders, DirectoryError> {
        let mut told = self.ask(address);
        loop {
            let _turn = self.turn.lock().await;
            match told.try_recv() {
                Ok(holders) => return Ok(holders),
                Err(TryRecvError::Empty) => {}
                // Whoever listed for us was dropped in the middle of it, or failed.
                Err(TryRecvError::Closed) => told = self.ask(address),
            }
            answer(client, self.batch()).await?;
        }
    }

    fn ask(&self, address: IpAddr) -> oneshot::Receiver<Holders> {
        let (answer, told) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(Question { address, answer });
        told
    }

    /// Those that have waited longest.
    fn batch(&self) -> Vec<Question> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|question| !question.answer.is_closed());
        let now = waiting.len().min(AT_ONCE);
        let later = waiting.split_off(now);
        mem::replace(&mut waiting, later)
    }
}

async fn answer(client: &Client, questions: Vec<Question>) -> Result<(), DirectoryError> {
    let labels: Vec<String> = questions.iter().map(|question| BootLeaseSpec::label_of(question.address)).collect();
    let selector = format!("{} in ({})", BootLeaseSpec::ADDRESS_LABEL, labels.join(","));
    let all: Api<BootLease> = Api::all(client.clone());
    let listed = all.list(&ListParams::default().labels(&selector)).await;
    let mut holders: HashMap<IpAddr, Holders> = HashMap::new();
    for lease in listed.map_err(|error| api_trouble("who has an address", error))? {
        if let Some(address) = parse(&lease.spec.address) {
            holders.entry(address).or_default().push(Arc::new(lease));
        }
    }
    for Question { address, answer } in questions {
        // Whoever asked may have gone since.
        drop(answer.send(holders.get(&address).cloned().unwrap_or_default()));
    }
    Ok(())
}
