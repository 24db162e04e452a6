//! What is sent to insert a medium, in the words that one service or another takes. Pure.

use serde_json::{Map, Value, json};

use super::slot::Door;
use crate::Medium;

/// Bodies to try, best first: services refuse what they do not know (Supermicro X11 takes neither `Inserted` nor
/// `WriteProtected`) and insist on what others do without (how the image is fetched).
pub(super) fn insertions(medium: &Medium, door: &Door) -> Vec<Value> {
    let bare = bare(medium);
    let Door::Actions(action) = door else {
        let mut whole = bare.clone();
        whole.insert("Inserted".to_owned(), true.into());
        return vec![whole.into()];
    };
    let protocol = protocol(&medium.url);
    let mut transfer = bare.clone();
    if let Some(protocol) = protocol {
        transfer.insert("TransferProtocolType".to_owned(), protocol.into());
    }
    let listed =
        action.values("TransferProtocolType").is_some_and(|known| known.iter().any(|p| Some(p.as_str()) == protocol));
    let mut whole = if listed { transfer.clone() } else { bare.clone() };
    whole.insert("Inserted".to_owned(), true.into());
    whole.insert("WriteProtected".to_owned(), true.into());
    transfer.insert("TransferMethod".to_owned(), "Stream".into());
    vec![whole.into(), bare.into(), transfer.into()]
}

/// Bodies to try to empty a slot that has no action for it.
pub(super) fn ejections() -> Vec<Value> {
    vec![json!({"Inserted": false}), json!({"Image": null})]
}

fn bare(medium: &Medium) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("Image".to_owned(), medium.url.clone().into());
    if let Some(login) = &medium.login {
        body.insert("UserName".to_owned(), login.username().into());
        body.insert("Password".to_owned(), login.expose_password().into());
    }
    body
}

/// The word of the schema for how `url` is fetched.
fn protocol(url: &str) -> Option<&'static str> {
    let (scheme, _) = url.split_once("://")?;
    match scheme.to_ascii_lowercase().as_str() {
        "http" => Some("HTTP"),
        "https" => Some("HTTPS"),
        "nfs" => Some("NFS"),
        "cifs" | "smb" => Some("CIFS"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use redfish_client::{Action, Reference};

    use super::*;
    use crate::Credentials;

    fn door(protocols: &[&str]) -> Door {
        let listed = protocols.iter().map(|&word| word.to_owned()).collect();
        let allowable = vec![("TransferProtocolType".to_owned(), listed)];
        Door::Actions(Action { target: Reference::root().child("insert"), allowable, info: None })
    }

    #[test]
    fn q80_what_may_be_refused_is_left_out_the_second_time() {
        let bodies = insertions(&Medium::cd("http://h/a.iso"), &door(&[]));
        assert_eq!(
            bodies,
            [
                json!({"Image": "http://h/a.iso", "Inserted": true, "WriteProtected": true}),
                json!({"Image": "http://h/a.iso"}),
                json!({"Image": "http://h/a.iso", "TransferProtocolType": "HTTP", "TransferMethod": "Stream"}),
            ]
        );
    }

    #[test]
    fn how_it_is_fetched_is_said_where_it_is_listed() {
        let bodies = insertions(&Medium::cd("https://h/a.iso"), &door(&["NFS", "HTTPS"]));
        assert_eq!(bodies[0]["TransferProtocolType"], "HTTPS");
        let bodies = insertions(&Medium::cd("https://h/a.iso"), &door(&["NFS"]));
        assert_eq!(bodies[0].get("TransferProtocolType"), None);
        let mut medium = Medium::cd("https://h/a.iso");
        medium.login = Some(Credentials::new("bob", "secret"));
        assert_eq!(
            insertions(&medium, &Door::Properties),
            [json!({"Image": "https://h/a.iso", "UserName": "bob", "Password": "secret", "Inserted": true})]
        );
    }
}
