//! Reading one slot: what it takes, how it is written, and whether something is in it.

use redfish_client::{Action, Resource};

use crate::media::shown;
use crate::{MediaKind, MediaSlot};

/// How a slot is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// By the action `VirtualMedia.InsertMedia`.
    Actions(Action),
    /// By a change of its properties, where no slot has the action (Lenovo XCC).
    Properties,
}

/// A slot as it was read, and how it is written.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) resource: Resource,
    pub(super) kinds: Vec<MediaKind>,
    pub(super) door: Door,
}

/// The slots that can be used. Where some have the action, those without it are for other things (OpenBMC).
pub(super) fn usable(resources: Vec<Resource>) -> Vec<Slot> {
    let action = |resource: &Resource| resource.action("VirtualMedia.InsertMedia");
    let any = resources.iter().any(|resource| action(resource).is_some());
    let slots = resources.into_iter().filter_map(|resource| {
        let kinds = kinds(&resource);
        let door = match action(&resource) {
            Some(action) => Door::Actions(action),
            None if !any && can_be_changed(&resource) => Door::Properties,
            None => return None,
        };
        (!kinds.is_empty()).then_some(Slot { resource, kinds, door })
    });
    slots.collect()
}

/// Whether it has the property that would be written at all.
fn can_be_changed(resource: &Resource) -> bool {
    resource.body().get("Image").is_some()
}

/// What a slot can be. Firmware that names no type, or only new ones, takes a CD: that is what all of it is used for.
fn kinds(resource: &Resource) -> Vec<MediaKind> {
    let words = resource.texts("MediaTypes");
    let mut kinds: Vec<MediaKind> = words.iter().filter_map(|word| kind(word)).collect();
    if words.is_empty() {
        kinds.push(MediaKind::Cd);
    }
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn kind(word: &str) -> Option<MediaKind> {
    match word.to_ascii_lowercase().as_str() {
        "cd" | "dvd" | "cddvd" | "cd/dvd" => Some(MediaKind::Cd),
        "usbstick" | "usb" | "removabledisk" => Some(MediaKind::Usb),
        "floppy" => Some(MediaKind::Floppy),
        _ => None,
    }
}

/// The address of what is or was in it; `""` and null are the same.
pub(super) fn image(resource: &Resource) -> Option<&str> {
    resource.text("Image")
}

/// Whether the server can see something in it. `Inserted` and `Image` may both stay after an eject (Supermicro):
/// nothing is there when nothing is connected.
pub(super) fn is_inserted(resource: &Resource) -> bool {
    if resource.text("ConnectedVia") == Some("NotConnected") {
        return false;
    }
    match resource.value("Inserted").and_then(serde_json::Value::as_bool) {
        Some(inserted) => inserted,
        None => image(resource).is_some(),
    }
}

/// Whether it is to be emptied before something is put into it.
pub(super) fn is_empty(resource: &Resource) -> bool {
    image(resource).is_none() && !is_inserted(resource)
}

/// Whether what it says is in it can be `url`. Services cut off what they think nobody needs: users, queries, hosts,
/// folders. What they leave has to be the end of its path; of a whole address all of its path.
pub(super) fn holds(resource: &Resource, url: &str) -> bool {
    let wanted = path(url);
    // Shares are called `//host/share/path`.
    let with_host = shown(url).split_once("://").map(|(_, rest)| unescaped(&format!("//{rest}")));
    let is_it = |said: &str| {
        let ends = path(said);
        let is_end = || wanted.ends_with(&format!("/{}", ends.trim_start_matches('/')));
        wanted == ends || !said.contains("://") && (is_end() || with_host.as_ref() == Some(&ends))
    };
    match image(resource) {
        // The name beside it is a part of this.
        Some(said) if said.contains('/') => is_it(said),
        said => said.into_iter().chain(resource.text("ImageName")).any(is_it),
    }
}

/// The path of an address, whichever way it is escaped; what has no scheme is all path.
fn path(address: &str) -> String {
    let shown = shown(address).replace('\\', "/");
    let path = match shown.split_once("://") {
        Some((_, rest)) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default(),
        // `host:/share/path` of NFS.
        None => shown.split_once(":/").map_or(&*shown, |(_, rest)| rest),
    };
    unescaped(path)
}

/// `text` with its `%XX` read; what is no such thing stays.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The slot for people.
pub(super) fn show(slot: &Slot) -> MediaSlot {
    let resource = &slot.resource;
    MediaSlot {
        id: resource.uri().to_string(),
        kinds: slot.kinds.clone(),
        inserted: is_inserted(resource),
        image: image(resource).map(shown),
        write_protected: resource.value("WriteProtected").and_then(serde_json::Value::as_bool),
    }
}

#[cfg(test)]
mod tests {
    use redfish_client::Reference;
    use serde_json::{Value, json};

    use super::*;

    fn slot(id: &str, body: Value) -> Resource {
        Resource::new(Reference::root().child(id), None, body)
    }

    fn action() -> Value {
        json!({"#VirtualMedia.InsertMedia": {"target": "/insert"}})
    }

    #[test]
    fn q86_slots_without_the_action_beside_some_with_it_are_left_out() {
        let with = slot("Slot_1", json!({"MediaTypes": ["CD"], "Image": null, "Actions": action()}));
        let without = slot("Slot_0", json!({"MediaTypes": ["CD"], "Image": null}));
        let usable: Vec<String> =
            usable(vec![without, with]).iter().map(|slot| slot.resource.uri().id().to_owned()).collect();
        assert_eq!(usable, ["Slot_1"]);
    }

    #[test]
    fn q81_slots_are_changed_where_none_has_the_action() {
        let found = usable(vec![slot("EXT1", json!({"MediaTypes": ["CD", "DVD", "Floppy"], "Image": null}))]);
        assert_eq!(found[0].door, Door::Properties);
        assert_eq!(found[0].kinds, [MediaKind::Cd, MediaKind::Floppy]);
        assert!(usable(vec![slot("CfgCD", json!({"Host": "10.0.0.1"}))]).is_empty());
    }

    #[test]
    fn q89_a_dvd_is_a_cd() {
        assert_eq!(kinds(&slot("1", json!({"MediaTypes": ["DVD"]}))), [MediaKind::Cd]);
        assert_eq!(kinds(&slot("1", json!({"MediaTypes": ["Hologram"]}))), []);
        assert_eq!(kinds(&slot("1", json!({}))), [MediaKind::Cd]);
    }

    #[test]
    fn q84_what_is_not_connected_is_free() {
        let after_eject = json!({"Image": "http://h/a.iso", "Inserted": false, "ConnectedVia": "NotConnected"});
        assert!(!is_inserted(&slot("1", after_eject)));
        let supermicro = json!({"Image": "http://h/a.iso", "Inserted": true, "ConnectedVia": "NotConnected"});
        assert!(!is_inserted(&slot("1", supermicro)));
        let applet = json!({"Image": null, "Inserted": true, "ConnectedVia": "Applet"});
        assert!(is_inserted(&slot("1", applet)));
    }

    #[test]
    fn q88_an_empty_address_is_none() {
        for image in [json!(""), Value::Null] {
            assert!(is_empty(&slot("1", json!({"Image": image, "Inserted": false}))));
        }
    }

    #[test]
    fn addresses_are_known_again() {
        let says = |body: Value| holds(&slot("1", body), "http://u:p@10.0.0.1:80/boot/a.iso?x=1");
        assert!(says(json!({"Image": "http://10.0.0.1/boot/a.iso"})));
        assert!(says(json!({"Image": "", "ImageName": "a.iso"})));
        assert!(!says(json!({"Image": "http://10.0.0.1/boot/b.iso"})));
        assert!(says(json!({"Image": "a.iso"})) && says(json!({"Image": "boot/a.iso"})));
        assert!(says(json!({"Image": "/boot/a.iso"})) && says(json!({"Image": "http://10.0.0.1/boot/%61.iso"})));
        // One folder for each host is how images are kept apart.
        for other in ["http://10.0.0.1/host-2/a.iso", "http://10.0.0.1/a.iso", "/host-2/a.iso", "10.0.0.1:/a/a.iso"] {
            assert!(!says(json!({"Image": other, "ImageName": "a.iso"})), "{other}");
        }
        assert!(!says(json!({"Image": "ta.iso"})));
        let share = |said: &str| holds(&slot("1", json!({"Image": said})), "cifs://u:p@nas/share/a.iso");
        assert!(share("//nas/share/a.iso") && share("nas:/share/a.iso") && !share("//nas/other/a.iso"));
        assert!(!says(json!({})));
    }
}
