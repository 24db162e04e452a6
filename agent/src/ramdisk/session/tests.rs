//! The ramdisk's side of a stream, with controllers that are busy, gone and back.

use std::convert::Infallible;
use std::sync::Mutex;

use bessemer_protocol::{
    BootReport, DeployReport, Digest, DigestAlgorithm, Disk, HostId, Lines, Report, decode_line, encode_line,
};
use bytes::Bytes;

use super::*;
use crate::link::LinkError;
use crate::link::stream::{Downwards, Peers, Upwards, keep_open};

#[test]
fn a_surplus_item_is_refused_with_the_reason_and_never_queued() {
    let items = Arc::new(Items::default());
    let (work, mut queue) = mpsc::channel(MOST_OPEN);
    let time = ControllerTime::starting_at(0);
    let mut session = RamdiskSession::new(HardwareIdentity::default(), items, work, time);
    session.open();
    let mut last = WorkId::random();
    for _ in 0..=MOST_OPEN {
        last = WorkId::random();
        let host_id = HostId::random();
        session.hear(Down::Work(WorkItem { id: last, host_id, claim: None, deadline: 0, work: Work::Inspect }));
    }
    let said = session.pending();
    let [Up::Result { work_id, outcome: Outcome::Failed(failure) }] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!((*work_id, failure.code), (last, FailureCode::Refused));
    assert!(failure.message.contains("items wait"), "{}", failure.message);
    let mut queued = 0;
    while queue.try_recv().is_ok() {
        queued += 1;
    }
    assert_eq!(queued, MOST_OPEN);
    assert!(session.pending().is_empty(), "a refusal is said once");
}

#[test]
fn logs_are_told_while_the_worker_is_busy_and_the_time_is_the_controllers() {
    let items = Arc::new(Items::default());
    let (work, _never_worked_on) = mpsc::channel(MOST_OPEN);
    let time = ControllerTime::starting_at(1000);
    let mut session = RamdiskSession::new(HardwareIdentity::default(), items, work, time.clone());
    session.open();
    let welcome = |now| Down::Welcome { protocol: 2, ca: String::new(), controllers: vec![], now };
    session.hear(welcome(None));
    assert!((1000..1010).contains(&time.now()), "an older controller does not say");
    session.hear(welcome(Some(1_360)));
    assert!((1360..1370).contains(&time.now()), "the server took six minutes to start");
    let mut send = |work| {
        let id = WorkId::random();
        session.hear(Down::Work(WorkItem { id, host_id: HostId::random(), claim: None, deadline: 0, work }));
        (id, session.pending())
    };
    assert_eq!(send(Work::Inspect).1, []);
    crate::console::keep(b"[3] bessemer: a line for Collect\n");
    let (id, said) = send(Work::Collect);
    let [Up::Result { work_id, outcome: Outcome::Done { report: Report::Collected { agent, .. } } }] = &said[..] else {
        panic!("{said:?}")
    };
    assert_eq!(*work_id, id);
    assert!(agent.iter().any(|line| line.ends_with("a line for Collect")), "{agent:?}");
}

/// A controller that answers nobody before a time.
struct Gone {
    until: Instant,
    /// When it was asked.
    asked: Mutex<Vec<Instant>>,
    /// Both halves of each stream, for the test to be the controller.
    streams: mpsc::Sender<(Upwards, mpsc::Sender<Bytes>)>,
}

struct Heard(mpsc::Receiver<Bytes>);

impl Downwards for Heard {
    async fn next(&mut self) -> Result<Option<Bytes>, String> {
        Ok(self.0.recv().await)
    }
}

impl Peers for Gone {
    type Downwards = Heard;

    async fn open(&self, up: Upwards) -> Result<Heard, LinkError> {
        let now = Instant::now();
        let mut asked = self.asked.lock().unwrap();
        asked.push(now);
        if asked.len() > 1 && now < self.until {
            return Err(LinkError::Unreachable { url: "https://controller".into(), cause: "no route to host".into() });
        }
        let (down, heard) = mpsc::channel(8);
        self.streams.try_send((up, down)).unwrap();
        Ok(Heard(heard))
    }
}

/// What the agent says within `time`, heartbeats left out.
async fn said(up: &mut Upwards, time: Duration) -> Vec<Up> {
    let (mut lines, mut said) = (Lines::default(), Vec::new());
    let end = Instant::now() + time;
    while let Ok(Some(bytes)) = tokio::time::timeout_at(end, up.recv()).await {
        lines.feed(&bytes.unwrap_or_else(|never: Infallible| match never {}));
        while let Some(line) = lines.next_line().unwrap() {
            said.push(decode_line::<Up>(line).unwrap());
        }
    }
    said.retain(|message| *message != Up::Heartbeat);
    said
}

fn deployed() -> Outcome {
    let digest = Digest { algorithm: DigestAlgorithm::Sha256, hex: "0".repeat(64) };
    let report = DeployReport {
        disk: Box::new(Disk::default()),
        fetched_bytes: 1,
        image_bytes: 1,
        digest,
        format: "raw".into(),
        partitions: vec![],
        boot: BootReport::default(),
        notes: vec![],
    };
    Outcome::Done { report: Report::Deployed(report) }
}

/// The controller dies without a word in the middle of a deployment and comes back an hour later.
#[tokio::test(start_paused = true)]
async fn an_item_outlives_an_hour_without_a_controller_and_its_result_is_told_once() {
    let hour = Duration::from_secs(3600);
    let (items, time) = (Arc::new(Items::default()), ControllerTime::starting_at(1000));
    let (work, mut queue) = mpsc::channel(MOST_OPEN);
    let (streams, mut opened) = mpsc::channel(8);
    let start = Instant::now();
    let gone = Arc::new(Gone { until: start + hour, asked: Mutex::default(), streams });
    let mut session = RamdiskSession::new(HardwareIdentity::default(), Arc::clone(&items), work, time.clone());
    let peers = Arc::clone(&gone);
    let agent = async move { match keep_open(&*peers, &mut session).await {} };
    // A worker whose item takes ten minutes.
    let working = async {
        while let Some(item) = queue.recv().await {
            for done in 0..60 {
                items.progress(item.id, Progress { phase: "writing".into(), done, total: Some(60) });
                tokio::time::sleep(Duration::from_secs(10)).await;
            }
            items.end(item.id, deployed());
        }
    };
    let id = WorkId::random();
    let controller = async {
        let line = |message: &Down| Bytes::from(encode_line(message).unwrap());
        let welcome =
            |now| line(&Down::Welcome { protocol: 2, ca: String::new(), controllers: vec![], now: Some(now) });
        let (mut up, down) = opened.recv().await.unwrap();
        down.send(welcome(2000)).await.unwrap();
        // Any kind will do: the worker above takes all for the same.
        let item = WorkItem { id, host_id: HostId::random(), claim: None, deadline: 9000, work: Work::Inspect };
        down.send(line(&Down::Work(item))).await.unwrap();
        let before = said(&mut up, Duration::from_secs(30)).await;
        assert!(matches!(&before[0], Up::Hello { items, .. } if items.is_empty()), "{before:?}");
        assert!(before.iter().any(|message| matches!(message, Up::Progress { work_id, .. } if *work_id == id)));
        // Silence, but the connection stays: nobody is told.
        let (mut later, down) = opened.recv().await.unwrap();
        assert!(start.elapsed() >= hour && start.elapsed() < hour + Duration::from_secs(25), "{:?}", start.elapsed());
        down.send(welcome(2000 + 3600)).await.unwrap();
        let after = said(&mut later, Duration::from_secs(50)).await;
        let known = vec![bessemer_protocol::ItemState { work_id: id, outcome: None }];
        assert!(matches!(&after[0], Up::Hello { items, .. } if *items == known), "{after:?}");
        let results: Vec<&Up> = after.iter().filter(|message| matches!(message, Up::Result { .. })).collect();
        assert_eq!(results, [&Up::Result { work_id: id, outcome: deployed() }], "once, and whole");
        assert!((5600..5660).contains(&time.now()), "{}", time.now());
        down.send(line(&Down::Stored { work_id: id })).await.unwrap();
        assert_eq!(said(&mut later, Duration::from_secs(50)).await, []);
        assert!(items.is_stored(id));
    };
    tokio::select! { () = controller => {} () = agent => {} () = working => {} }

    let asked = gone.asked.lock().unwrap();
    let pauses: Vec<Duration> = asked.windows(2).skip(1).map(|pair| pair[1] - pair[0]).collect();
    assert!((150..500).contains(&pauses.len()), "{} attempts in an hour", pauses.len());
    assert!(pauses.iter().all(|pause| *pause <= Duration::from_millis(22_500)), "{:?}", pauses.iter().max());
    let different: HashSet<Duration> = pauses.iter().copied().collect();
    assert!(different.len() > pauses.len() / 2, "a rack that lost its controller must not knock in step");
}
