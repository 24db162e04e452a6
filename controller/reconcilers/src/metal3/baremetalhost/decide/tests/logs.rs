//! What agents said last.

use bessemer_protocol::{Outcome, Report, Work};
use kube::ResourceExt;

use super::super::super::effect::Effect;
use super::world::World;

#[test]
fn logs_are_asked_for_once_in_the_middle_of_other_work_and_kept() {
    let (mut world, deploy) = World::deploying();
    world.seen.host.annotations_mut().insert("bessemer.dev/collect-logs".to_owned(), "now".to_owned());
    let asked = world.sent();
    assert_eq!((&asked.work, asked.host_id), (&Work::Collect, deploy.host_id));
    assert!(!world.seen.host.annotations().contains_key("bessemer.dev/collect-logs"));
    assert_eq!(world.pass(), None, "not again");
    assert_eq!(world.record().work.unwrap().id, deploy.id.to_string(), "the deployment goes on");

    world.answer(&asked, Outcome::Done { report: Report::Collected { agent: vec![], kernel: vec![] } });
    world.seen.agent.log_tail = "sd 0:0:0:0: I/O error\n".to_owned();
    assert_eq!(world.effect(), Effect::Stored(asked.id));
    assert_eq!(world.record().log_tail, "sd 0:0:0:0: I/O error\n");
    world.seen.agent.log_tail.clear();
    assert_eq!(world.pass(), None);
    assert_eq!(world.record().log_tail, "sd 0:0:0:0: I/O error\n", "a controller that began anew forgets nothing");
}

#[test]
fn logs_are_asked_of_nobody_who_is_not_there() {
    let mut world = World::available();
    world.lose();
    world.seen.host.annotations_mut().insert("bessemer.dev/collect-logs".to_owned(), String::new());
    assert_eq!(world.pass(), None);
    assert!(world.seen.host.annotations().contains_key("bessemer.dev/collect-logs"), "it waits for the agent");
    world.connect();
    assert_eq!(world.sent().work, Work::Collect);
}
