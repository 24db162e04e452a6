//! What a BMC is said to be able to do, against services that show something and cannot do it, or cannot be read.

use axum::response::Response;
use serde_json::{Value, json};

use super::scripted::{SYSTEM, Scripted, Seen, ok, status, system};
use crate::{Bmc as _, Capability};

const MANAGER: &str = "/redfish/v1/Managers/1";

/// A BMC whose services of updates and events, and whose settings of firmware, are `bodies`; where there is none it
/// answers 500.
fn service(seen: &Seen, bodies: &[(&str, Value)]) -> Response {
    let link = |path: &str| json!({"@odata.id": path});
    if let Some((_, body)) = bodies.iter().find(|(path, _)| *path == seen.path) {
        return ok(body);
    }
    match seen.path.as_str() {
        "/redfish/v1" => ok(&json!({
            "Systems": link("/redfish/v1/Systems"), "UpdateService": link("/redfish/v1/UpdateService"),
            "EventService": link("/redfish/v1/EventService"),
        })),
        SYSTEM => ok(&system(
            "On",
            &["On", "ForceOff"],
            json!({
                "Bios": link("/redfish/v1/Systems/1/Bios"), "LogServices": link("/redfish/v1/Systems/1/LogServices"),
                "Links": {"ManagedBy": [link(MANAGER)], "Chassis": [link("/redfish/v1/Chassis/1")]},
                "Boot": {"BootSourceOverrideTarget@Redfish.AllowableValues": ["Pxe"]},
            }),
        )),
        MANAGER => ok(&json!({"@odata.id": MANAGER})),
        "/redfish/v1/Chassis/1" => ok(&json!({"Thermal": link("/redfish/v1/Chassis/1/Thermal")})),
        _ => status(500),
    }
}

#[tokio::test]
async fn what_is_shown_and_does_nothing_is_no_ability() {
    let enabled = |enabled: bool| json!({"ServiceEnabled": enabled, "HttpPushUri": "/redfish/v1/UpdateService/update"});
    let cases = [
        (json!({"Attributes": {"A": 1}}), enabled(true), enabled(true), [true, true, true]),
        (json!({"Id": "BIOS"}), json!({"ServiceEnabled": true}), json!({}), [false, false, true]),
        (json!({"Attributes": null}), enabled(false), enabled(false), [false, false, false]),
    ];
    for (bios, update, events, wanted) in cases {
        let bodies = [
            ("/redfish/v1/Systems/1/Bios", bios),
            ("/redfish/v1/UpdateService", update),
            ("/redfish/v1/EventService", events),
        ];
        let shown = format!("{bodies:?}");
        let bmc = Scripted::start(move |seen, _| service(seen, &bodies)).await;
        let found = bmc.bmc().capabilities().await.unwrap();
        let can = [Capability::Bios, Capability::FirmwareUpdate, Capability::Events].map(|one| found.has(one));
        assert_eq!(can, wanted, "{shown}");
    }
}

/// A service that stumbles over one resource is asked again, not taken for one without it.
#[tokio::test]
async fn what_stumbles_is_not_called_missing() {
    let bodies = [
        ("/redfish/v1/Systems/1/Bios", json!({"Attributes": {}})),
        ("/redfish/v1/EventService", json!({"ServiceEnabled": true})),
    ];
    let bmc = Scripted::start(move |seen, _| service(seen, &bodies)).await;
    let error = bmc.bmc().capabilities().await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("/redfish/v1/UpdateService"), "{error}");
}
