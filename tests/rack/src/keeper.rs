//! The process that carries a rack. It runs inside the rack's namespace, starts the network, the BMCs and, when they
//! say so, the machines; it ends everything when its owner ends (its standard input closes), on SIGTERM, or when
//! told. It prints one line, `ready` or `error: …`, and nothing after.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::bmc::IpmiSim;
use crate::chassis::{self, Chassis};
use crate::machine::{Action, End, Input, Machine};
use crate::network;
use crate::place::Place;
use crate::process::Process;
use crate::protocol::{Answer, Hosts, Request};
use crate::qemu::{Hardware, Order};
use crate::spec::{Slot, Spec};

/// An emulator that was killed is gone in milliseconds, unless the machine's disk is stuck.
const CUT_ENDS: Duration = Duration::from_secs(10);

/// The longest request.
const REQUEST_BYTES: u64 = 4096;

enum Message {
    Ask(Request, oneshot::Sender<Answer>),
    Ended(String, u32, End),
    OwnerGone,
}

struct Host {
    hardware: Hardware,
    machine: Machine,
    run: Option<Run>,
    _bmc: Child,
}

struct Run {
    orders: mpsc::Sender<Order>,
    follower: JoinHandle<()>,
}

struct Keeper {
    place: Place,
    hosts: BTreeMap<String, Host>,
    states: watch::Sender<Hosts>,
    messages: mpsc::Sender<Message>,
    since: Instant,
    kept: bool,
}

pub(crate) fn main(id: &str) -> Result<()> {
    let place = Place::of_rack(id)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(carry(&place));
    // ends the monitors' and BMCs' processes with their handles
    drop(runtime);
    if let Err(error) = &result {
        println!("error: {}", format!("{error:#}").replace('\n', " "));
    }
    place.clear()?;
    result
}

async fn carry(place: &Place) -> Result<()> {
    let spec: Spec = serde_json::from_slice(&fs::read(place.spec())?).context("cannot read the rack's spec")?;
    let mut holders = place.holders();
    holders.keeper = Some(Process::current()?);
    place.write_holders(&holders)?;
    let mut terminated = signal(SignalKind::terminate())?;
    let slots = || (1..).map(Slot);
    network::raise(slots().take(spec.hosts.len()))?;
    let listener = UnixListener::bind(place.socket()).context("cannot bind the keeper's socket")?;

    let mut hosts = BTreeMap::new();
    for (host, slot) in spec.hosts.iter().zip(slots()) {
        let hardware = Hardware { spec: host.clone(), slot, dir: place.host(&host.name) };
        hardware.build().with_context(|| format!("host {}", host.name))?;
        let hook =
            format!("{} {} hook {} {}", place.helper().display(), crate::HELPER, place.socket().display(), host.name);
        let guid = slot.uuid().replace('-', "");
        let (port, dir) = (slot.bmc_port(), hardware.dir.as_path());
        let bmc = IpmiSim { name: &host.name, port, guid: &guid, dir, hook: &hook }.start().await?;
        hosts.insert(host.name.clone(), Host { hardware, machine: Machine::new(), run: None, _bmc: bmc });
    }
    let (messages, mut inbox) = mpsc::channel(16);
    let (states, _) = watch::channel(Hosts::new());
    let (since, kept) = (Instant::now(), false);
    let mut keeper = Keeper { place: place.clone(), hosts, states, messages: messages.clone(), since, kept };
    keeper.publish();
    tokio::spawn(serve(listener, messages.clone(), keeper.states.subscribe()));
    tell_when_owner_is_gone(messages);
    println!("ready");

    loop {
        tokio::select! {
            _ = terminated.recv() => break,
            message = inbox.recv() => match message {
                Some(Message::Ask(request, reply)) => {
                    let answer = keeper.answer(request).await;
                    // the asker may have hung up; what it asked for is done
                    reply.send(answer).ok();
                }
                Some(Message::Ended(host, run, end)) => keeper.apply(&host, Input::Ended(run, end)).await,
                Some(Message::OwnerGone) if keeper.kept => {}
                Some(Message::OwnerGone) | None => break,
            },
        }
    }
    keeper.log("", "ending");
    Ok(())
}

impl Keeper {
    async fn answer(&mut self, request: Request) -> Answer {
        match request {
            Request::Chassis { host, words } => {
                let Some(state) = self.hosts.get(&host).map(|host| host.machine.state()) else {
                    return Answer::Refused(format!("no host {host} in this rack"));
                };
                match chassis::parse(&words) {
                    Ok(Chassis::Get(names)) => Answer::Done(chassis::show(&names, state)),
                    Ok(Chassis::Check) => Answer::Done(String::new()),
                    Ok(Chassis::Set(inputs)) => {
                        for input in inputs {
                            self.apply(&host, input).await;
                        }
                        Answer::Done(String::new())
                    }
                    Err(why) => Answer::Refused(why),
                }
            }
            Request::Cut { host } => {
                self.apply(&host, Input::PowerOff).await;
                Answer::Done(String::new())
            }
            Request::Keep => {
                self.kept = true;
                let mut holders = self.place.holders();
                holders.kept = true;
                match self.place.write_holders(&holders) {
                    Ok(()) => Answer::Done(String::new()),
                    Err(error) => Answer::Refused(format!("{error:#}")),
                }
            }
            Request::Watch => Answer::Hosts(self.states.borrow().clone()),
        }
    }

    async fn apply(&mut self, name: &str, input: Input) {
        let Some(host) = self.hosts.get_mut(name) else { return };
        let said = format!("{input:?}");
        let actions = host.machine.on(input);
        self.log(name, &format!("{said} -> {actions:?}"));
        for action in actions {
            if let Err(why) = self.act(name, action).await {
                self.log(name, &why);
                if let Some(host) = self.hosts.get_mut(name) {
                    let run = host.machine.state().starts;
                    // nothing follows from a run that broke
                    host.machine.on(Input::Ended(run, End::Broken(why)));
                }
                break;
            }
        }
        self.publish();
    }

    async fn act(&mut self, name: &str, action: Action) -> Result<(), String> {
        let Some(host) = self.hosts.get_mut(name) else { return Ok(()) };
        match action {
            Action::PressButton => {
                if let Some(run) = &host.run {
                    run.orders.send(Order::PressButton).await.ok();
                }
                Ok(())
            }
            Action::Cut => {
                let Some(run) = host.run.take() else { return Ok(()) };
                run.orders.send(Order::Kill).await.ok();
                match timeout(CUT_ENDS, run.follower).await {
                    Ok(_) => Ok(()),
                    Err(_) => Err(format!("the emulator is still there {CUT_ENDS:?} after it was killed")),
                }
            }
            Action::Start(number, boot) => {
                let run = host.hardware.start(boot).map_err(|error| format!("{error:#}"))?;
                let (orders, received) = mpsc::channel(4);
                let (messages, name) = (self.messages.clone(), name.to_owned());
                let follower = tokio::spawn(async move {
                    let end = run.until_end(received).await;
                    // with a full inbox the loop may wait for this task: it reads on after its deadline
                    tokio::spawn(async move { messages.send(Message::Ended(name, number, end)).await });
                });
                host.run = Some(Run { orders, follower });
                Ok(())
            }
        }
    }

    fn publish(&self) {
        let states = self.hosts.iter().map(|(name, host)| (name.clone(), host.machine.state().clone())).collect();
        self.states.send_if_modified(|now| {
            let changed = *now != states;
            *now = states;
            changed
        });
    }

    fn log(&self, host: &str, what: &str) {
        eprintln!("{:8.2} {host} {what}", self.since.elapsed().as_secs_f64());
    }
}

/// On a thread of its own, which may outlive the runtime.
fn tell_when_owner_is_gone(messages: mpsc::Sender<Message>) {
    std::thread::spawn(move || {
        // nothing is ever written to it
        std::io::stdin().read_exact(&mut [0; 1]).ok();
        messages.blocking_send(Message::OwnerGone).ok();
    });
}

async fn serve(listener: UnixListener, messages: mpsc::Sender<Message>, states: watch::Receiver<Hosts>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (messages, states) = (messages.clone(), states.clone());
        // one connection's trouble is its own
        tokio::spawn(async move { connection(stream, messages, states).await.ok() });
    }
}

async fn connection(
    mut stream: UnixStream,
    messages: mpsc::Sender<Message>,
    mut states: watch::Receiver<Hosts>,
) -> Result<()> {
    let mut line = String::new();
    BufReader::new((&mut stream).take(REQUEST_BYTES)).read_line(&mut line).await?;
    let request = serde_json::from_str(&line)?;
    if request == Request::Watch {
        states.mark_changed();
        while states.changed().await.is_ok() {
            let hosts = states.borrow_and_update().clone();
            send(&mut stream, &Answer::Hosts(hosts)).await?;
        }
        return Ok(());
    }
    let (reply, answer) = oneshot::channel();
    messages.send(Message::Ask(request, reply)).await?;
    send(&mut stream, &answer.await?).await
}

async fn send(stream: &mut UnixStream, answer: &Answer) -> Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    Ok(stream.write_all(&line).await?)
}
