//! Firmware updates that have no task: the update service itself says how they stand. And tasks that are also jobs.

use redfish_client::{Reference, Resource};

/// How an update stands, as an update service of its maker's own kind says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnState {
    /// Under way: the maker's word and per cent done.
    Running(String, Option<u64>),
    /// The last one ended well.
    Done,
    /// The last one ended badly: the maker's message.
    Failed(String),
}

/// What HPE's update service says (`HpeiLOUpdateServiceExt`): iLO 5 starts a simple update with 200 and no task.
pub(crate) fn own_state(service: &Resource) -> Option<OwnState> {
    let percent = service.value("Oem/Hpe/FlashProgressPercent").and_then(serde_json::Value::as_u64);
    match service.text("Oem/Hpe/State")? {
        "Complete" => Some(OwnState::Done),
        "Error" => {
            let why = service.text("Oem/Hpe/Result/MessageId").unwrap_or("Error");
            Some(OwnState::Failed(why.to_owned()))
        }
        // Nothing has begun, or a restart has made it forget.
        "Idle" => None,
        word => Some(OwnState::Running(word.to_owned(), percent.map(|percent| percent.min(100)))),
    }
}

/// Where the work of `task` is also known, once the task is gone: Dell's tasks are jobs of the same id, and the queue of
/// jobs keeps them.
pub(crate) fn queues_of(task: &Reference) -> Vec<Reference> {
    let id = task.id();
    if !id.starts_with("JID_") {
        return Vec::new();
    }
    let root = Reference::root();
    let manager = root.child("Managers").child("iDRAC.Embedded.1");
    [
        root.child("JobService").child("Jobs").child(id),
        manager.child("Oem").child("Dell").child("Jobs").child(id),
        // Before iDRAC9 5.x.
        manager.child("Jobs").child(id),
    ]
    .into()
}

/// Ends of an `HttpPushUri` behind which no image is taken as it is, but a form of the maker's own.
const OWN_FORMS: &[&str] = &[
    // iLO 5 and 6: session key, parameters and image in one form (HPE's guide to iLO's REST API, "Firmware updates").
    "/cgi-bin/uploadFile",
    // iDRAC 7 to 9: a form with the image, whose answer names what a SimpleUpdate is then made from
    // (dell/iDRAC-Redfish-Scripting, DeviceFirmwareSimpleUpdateREDFISH.py).
    "/UpdateService/FirmwareInventory",
];

/// Whether images cannot be pushed to `at` as they are, though it is called the place for that.
pub(crate) fn wants_own_form(at: &Reference) -> bool {
    OWN_FORMS.iter().any(|end| at.as_str().ends_with(end))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hpes_own_state() {
        let state = |hpe| own_state(&Resource::new(Reference::root(), None, json!({"Oem": {"Hpe": hpe}})));
        assert_eq!(state(json!({"State": "Idle"})), None);
        let writing = OwnState::Running("Writing".to_owned(), Some(40));
        assert_eq!(state(json!({"State": "Writing", "FlashProgressPercent": 40})), Some(writing));
        assert_eq!(state(json!({"State": "Complete", "FlashProgressPercent": 100})), Some(OwnState::Done));
        let failed = json!({"State": "Error", "Result": {"MessageId": "iLO.2.14.UpdateInvalidFile"}});
        assert_eq!(state(failed), Some(OwnState::Failed("iLO.2.14.UpdateInvalidFile".to_owned())));
        assert_eq!(own_state(&Resource::new(Reference::root(), None, json!({}))), None);
    }

    #[test]
    fn places_that_want_a_form_take_no_file() {
        let wants = |at: &str| wants_own_form(&Reference::parse(at).unwrap());
        assert!(wants("/cgi-bin/uploadFile") && wants("/redfish/v1/UpdateService/FirmwareInventory/"));
        assert!(!wants("/redfish/v1/UpdateService/update") && !wants("/fwupdate"));
    }

    #[test]
    fn dells_tasks_are_jobs() {
        let tasks = Reference::root().child("TaskService").child("Tasks");
        let queues = queues_of(&tasks.child("JID_257309938313"));
        assert_eq!(queues[0].as_str(), "/redfish/v1/JobService/Jobs/JID_257309938313");
        assert_eq!(queues_of(&tasks.child("545")), []);
    }
}
