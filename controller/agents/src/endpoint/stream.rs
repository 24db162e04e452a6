//! `POST /v1/stream`: lines up in the request's body while lines go down in the answer's.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Version, header};
use axum::response::{IntoResponse, Response};
use bessemer_protocol::{Down, HEARTBEAT_SECONDS, Refusal, Role, Up, encode_line, negotiate};
use bytes::Bytes;
use futures::Stream;
use tokio::sync::oneshot;
use tokio_util::sync::DropGuard;

use super::lines::Lines;
use super::peer::{self, Agent};
use super::refusal::Refuse;
use super::{Shared, inbound};
use crate::hub::{Attached, Hello, NotTaken, Outgoing};
use crate::identity::RoleIdentity;

/// One heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(HEARTBEAT_SECONDS);

/// How often the objects are asked whether they still stand behind an open stream.
const AUTHORISED_FOR: Duration = Duration::from_secs(3 * HEARTBEAT_SECONDS);

/// A stream that says nothing for this long is dead.
const SILENCE: Duration = Duration::from_secs(3 * HEARTBEAT_SECONDS);

const NOT_THE_LEADER: &str = "this controller is not the leader: the stream goes to another one, or here later";

pub(super) async fn open(agent: Agent, State(shared): State<Shared>, request: Request) -> Result<Response, Refuse> {
    if !shared.hub.is_leading() {
        return Err(Refuse::later(NOT_THE_LEADER));
    }
    if request.version() != Version::HTTP_2 {
        return Err(Refuse::bad_request("the stream runs both ways at once, which needs HTTP/2"));
    }
    let farewells = shared.hub.farewells(agent.who.host);
    let lines = Lines::new(request.into_body().into_data_stream());
    // The answer's head goes out at once, as the client may wait for it before it says hello.
    let (ready, attached) = oneshot::channel();
    tokio::spawn(async move {
        let host = agent.who.host;
        let role = match agent.who.role {
            RoleIdentity::Ramdisk { .. } => "ramdisk",
            RoleIdentity::Node { .. } => "node",
        };
        tracing::info!(peer = %agent.address, %host, role, "an agent's stream begins");
        let why = up(agent, shared, lines, farewells, ready).await;
        tracing::info!(%host, role, why, "an agent's stream ends");
    });
    let body = Body::from_stream(down(attached));
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

/// How the controller answers hello.
#[expect(clippy::large_enum_variant, reason = "one is in memory at a time, and a box would be in the reader's way")]
enum Greeting {
    /// With this message, and then with what the hub has for the agent.
    Welcome(Down, Outgoing),
    /// With a reason, and nothing more.
    Refused(Refusal),
}

/// The first version in which a refusal has a message of its own.
const REFUSALS_SINCE: u32 = 2;

/// Reads the agent's lines until something ends the stream; says what. `farewells` are the hub's of when the request came.
async fn up<S, E>(
    agent: Agent,
    shared: Shared,
    mut lines: Lines<S>,
    farewells: u64,
    ready: oneshot::Sender<Greeting>,
) -> String
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: std::fmt::Display,
{
    let hello = match next(&mut lines).await {
        Ok(Up::Hello { role, agent_version, identity: _, items, protocol }) => {
            (Hello { role, agent_version, items }, protocol)
        }
        Ok(_) => return "its first message is not hello".into(),
        Err(why) => return why,
    };
    let (hello, theirs) = hello;
    let refuse = |ready: oneshot::Sender<Greeting>, refusal: Refusal| {
        let why = refusal.message.clone();
        if theirs >= REFUSALS_SINCE {
            // Gone if the agent has closed it meanwhile.
            let _ = ready.send(Greeting::Refused(refusal));
        }
        why
    };
    let protocol = match negotiate("agent", theirs) {
        Ok(protocol) => protocol,
        Err(refusal) => return refuse(ready, refusal),
    };
    let certified = match agent.who.role {
        RoleIdentity::Ramdisk { .. } => Role::Ramdisk,
        RoleIdentity::Node { .. } => Role::Node,
    };
    if hello.role != certified {
        let why = format!("it says that it is a {:?}, its certificate {certified:?}", hello.role);
        return refuse(ready, Refusal::new(why, false));
    }
    // Hello may have come long after the request. What was said to the host in between counts for this stream, too.
    if let Err(refused) = peer::authorise(&shared, &agent.who, agent.key).await {
        return refuse(ready, refused.into_refusal());
    }
    let (attached, outgoing) = match shared.hub.attach(&agent.who, agent.key, hello, farewells) {
        Ok(taken) => taken,
        Err(NotTaken::Ended) => return refuse(ready, Refusal::new("its certificate was ended", false)),
        Err(NotTaken::ToldToGo) => {
            return refuse(ready, Refusal::new("the host's agent was told to go meanwhile", true));
        }
        Err(NotTaken::NotLeading) => return refuse(ready, Refusal::new(NOT_THE_LEADER, true)),
    };
    if let RoleIdentity::Ramdisk { boot } = agent.who.role {
        shared.enrolments.used(boot, agent.who.host, agent.key);
    }
    let end = outgoing.end.clone();
    // Whatever ends this half ends the other.
    let _ends = end.clone().drop_guard();
    let first = match protocol {
        1 => Down::Heartbeat,
        _ => Down::Welcome {
            protocol,
            ca: shared.site.trusted_pem(),
            controllers: shared.controllers.to_vec(),
            now: Some(time::OffsetDateTime::now_utc().unix_timestamp()),
        },
    };
    if ready.send(Greeting::Welcome(first, outgoing)).is_err() {
        return "the agent closed it".into();
    }
    tokio::select! {
        () = end.cancelled() => "the controller or the agent closed it".into(),
        why = listen(&mut lines, &attached) => why,
        why = disowned(&shared, &agent) => why,
    }
}

/// Asks the objects every now and then; ends when they no longer stand behind the agent. That they cannot be asked ends
/// nothing: the agent would only come again.
async fn disowned(shared: &Shared, agent: &Agent) -> String {
    loop {
        tokio::time::sleep(AUTHORISED_FOR).await;
        if let Err(refused) = peer::authorise(shared, &agent.who, agent.key).await {
            let refusal = refused.into_refusal();
            if !refusal.retry {
                return format!("it is no longer authorised: {}", refusal.message);
            }
        }
    }
}

async fn listen<S, E>(lines: &mut Lines<S>, attached: &Attached) -> String
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: std::fmt::Display,
{
    loop {
        match next(lines).await {
            Ok(Up::Hello { .. }) => return "it says hello a second time".into(),
            Ok(message) => attached.receive(message),
            Err(why) => return why,
        }
    }
}

async fn next<S, E>(lines: &mut Lines<S>) -> Result<Up, String>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: std::fmt::Display,
{
    let line = tokio::time::timeout(SILENCE, lines.next())
        .await
        .map_err(|_| format!("nothing was heard for {} s", SILENCE.as_secs()))?
        .map_err(|error| error.to_string())?;
    inbound::read(&line).map_err(|error| error.to_string())
}

/// What goes down: nothing before the agent's hello, then messages as they come and heartbeats in between.
fn down(attached: oneshot::Receiver<Greeting>) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> {
    enum State {
        Greeting(oneshot::Receiver<Greeting>),
        Open(Outgoing, DropGuard),
        Over,
    }
    futures::stream::unfold(State::Greeting(attached), |state| async move {
        let (mut outgoing, guard) = match state {
            State::Greeting(attached) => {
                return match attached.await.ok()? {
                    Greeting::Welcome(first, outgoing) => {
                        let guard = outgoing.end.clone().drop_guard();
                        Some((Ok(line(&first)?), State::Open(outgoing, guard)))
                    }
                    Greeting::Refused(refusal) => Some((Ok(line(&Down::Refused(refusal))?), State::Over)),
                };
            }
            State::Over => return None,
            State::Open(outgoing, guard) => (outgoing, guard),
        };
        let message = tokio::select! {
            () = outgoing.end.cancelled() => return None,
            message = tokio::time::timeout(HEARTBEAT, outgoing.queue.recv()) => message,
        };
        let message = message.unwrap_or(Some(Down::Heartbeat))?;
        Some((Ok(line(&message)?), State::Open(outgoing, guard)))
    })
}

fn line(message: &Down) -> Option<Bytes> {
    match encode_line(message) {
        Ok(line) => Some(line.into()),
        Err(error) => {
            tracing::error!(%error, "a message to an agent cannot be sent; its stream ends");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use bessemer_protocol::{BootId, Bootstrap, HardwareIdentity, HostId, PROTOCOL_VERSION, WorkId};
    use bessemer_reconcilers::outside::{AgentHub, AgentIdentity, HostAuthority, Refused};
    use futures::StreamExt;

    use super::*;
    use crate::identity::KeyDigest;
    use crate::{Hub, SiteAuthority, SiteSecret};

    /// Objects that stand behind every agent, until they do not.
    #[derive(Default)]
    struct Objects {
        refusing: Mutex<Option<Refused>>,
    }

    #[async_trait::async_trait]
    impl HostAuthority for Objects {
        async fn admit(&self, _: BootId, _: &HardwareIdentity, _: &str) -> Result<HostId, Refused> {
            Err(Refused::for_good("no"))
        }
        async fn authorise(&self, _: &AgentIdentity) -> Result<(), Refused> {
            self.refusing.lock().unwrap().clone().map_or(Ok(()), Err)
        }
        async fn deploying(&self, _: HostId, _: WorkId) -> Result<String, Refused> {
            Err(Refused::for_good("no"))
        }
        async fn certified(&self, _: HostId, _: &str, _: &str) -> Result<(), Refused> {
            Err(Refused::for_good("no"))
        }
        async fn holds_key(&self, _: HostId, _: &str, _: &str) -> Result<(), Refused> {
            Err(Refused::for_good("no"))
        }
        async fn bootstrap(&self, _: HostId, _: &str) -> Result<Bootstrap, Refused> {
            Err(Refused::for_good("no"))
        }
        async fn contested(&self, _: HostId, _: BootId) {}
    }

    fn hello() -> Bytes {
        let hello = Up::Hello {
            role: Role::Ramdisk,
            agent_version: "0.1.0".into(),
            identity: HardwareIdentity::default(),
            items: vec![],
            protocol: PROTOCOL_VERSION,
        };
        encode_line(&hello).unwrap().into()
    }

    fn parts() -> (Agent, Shared, Arc<Objects>) {
        let objects = Arc::<Objects>::default();
        let secret = SiteSecret::generate(time::OffsetDateTime::now_utc()).unwrap();
        let shared = Shared {
            site: Arc::new(SiteAuthority::open(&secret).unwrap()),
            hosts: objects.clone(),
            hub: Hub::new(),
            enrolments: Arc::default(),
            discovery: Arc::default(),
            controllers: Arc::default(),
        };
        let who = AgentIdentity { host: HostId::random(), role: RoleIdentity::Ramdisk { boot: BootId::random() } };
        (Agent { who, key: KeyDigest::of(b"key"), address: ([192, 0, 2, 1], 1).into() }, shared, objects)
    }

    /// The lines that an agent sends, one every `pause`, and then nothing for ever.
    fn body(lines: Vec<Bytes>, pause: Duration) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Unpin {
        futures::stream::iter(lines)
            .then(move |line| async move {
                tokio::time::sleep(pause).await;
                Ok(line)
            })
            .chain(futures::stream::pending())
            .boxed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_is_dead_after_three_heartbeats() {
        let (agent, shared, _) = parts();
        let (host, hub) = (agent.who.host, shared.hub.clone());
        let (ready, attached) = oneshot::channel();
        let began = tokio::time::Instant::now();
        let reader = tokio::spawn(up(agent, shared, Lines::new(body(vec![hello()], Duration::ZERO)), 0, ready));
        let _outgoing = attached.await.unwrap();
        assert!(hub.view(&host).connected);
        assert_eq!(reader.await.unwrap(), "nothing was heard for 60 s");
        assert!(began.elapsed() >= SILENCE);
        assert!(!hub.view(&host).connected);
        assert!(hub.view(&host).lost_since.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn heartbeats_keep_a_stream_alive_and_are_answered() {
        let (agent, shared, _) = parts();
        let heartbeat: Bytes = encode_line(&Up::Heartbeat).unwrap().into();
        let lines = std::iter::once(hello()).chain(std::iter::repeat_n(heartbeat, 30)).collect();
        let (ready, attached) = oneshot::channel();
        let began = tokio::time::Instant::now();
        let reader = tokio::spawn(up(agent, shared, Lines::new(body(lines, HEARTBEAT)), 0, ready));
        let heard = down(attached).collect::<Vec<_>>().await.len();
        assert_eq!(reader.await.unwrap(), "nothing was heard for 60 s");
        assert!(began.elapsed() >= HEARTBEAT * 30 + SILENCE);
        assert!(heard >= 30, "{heard}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_connects_and_says_nothing_is_dropped() {
        let (agent, shared, _) = parts();
        let (ready, attached) = oneshot::channel();
        let reader = tokio::spawn(up(agent, shared, Lines::new(body(vec![], Duration::ZERO)), 0, ready));
        assert_eq!(down(attached).collect::<Vec<_>>().await.len(), 0);
        assert_eq!(reader.await.unwrap(), "nothing was heard for 60 s");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_when_the_objects_no_longer_stand_behind_it_and_outlives_their_silence() {
        let (agent, shared, objects) = parts();
        let (host, hub) = (agent.who.host, shared.hub.clone());
        let heartbeat: Bytes = encode_line(&Up::Heartbeat).unwrap().into();
        let lines = std::iter::once(hello()).chain(std::iter::repeat_n(heartbeat, 1000)).collect();
        let (ready, attached) = oneshot::channel();
        let reader = tokio::spawn(up(agent, shared, Lines::new(body(lines, HEARTBEAT)), 0, ready));
        let _outgoing = attached.await.unwrap();
        *objects.refusing.lock().unwrap() = Some(Refused::for_now("the API is away"));
        tokio::time::sleep(AUTHORISED_FOR * 10).await;
        assert!(hub.view(&host).connected);
        *objects.refusing.lock().unwrap() = Some(Refused::for_good("released"));
        let why = tokio::time::timeout(AUTHORISED_FOR * 2, reader).await.unwrap().unwrap();
        assert!(why.contains("no longer authorised") && why.contains("released"), "{why}");
        assert!(!hub.view(&host).connected);
    }
}
