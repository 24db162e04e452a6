//! What a service says when it refuses: the error object of DSP0266 13.4 in its many spellings, or plain text.

use std::fmt;

use serde_json::Value;

/// Most of a foreign text that is ever shown.
const EXCERPT: usize = 300;

/// Most messages kept of one answer.
const MESSAGES: usize = 20;

/// Why a service refused, as it says itself. Empty when it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// `@Message.ExtendedInfo`, or the error object itself where there is none.
    pub messages: Vec<Message>,
    /// The body as text, cut and cleaned, where it was no Redfish error.
    pub text: Option<String>,
}

/// One message of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Registry, version and key, such as `Base.1.8.PropertyValueNotInList` or `IDRAC.2.8.SYS518`.
    pub id: String,
    /// The sentence.
    pub text: String,
    /// What the service thinks one should do about it.
    pub resolution: String,
}

impl Fault {
    /// Reads an answer's body. Never fails: what is no Redfish error is kept as text.
    #[must_use]
    pub fn read(body: &[u8]) -> Self {
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            return Self { messages: Vec::new(), text: excerpt(&String::from_utf8_lossy(body)) };
        };
        let fault = Self::of(&value);
        if fault.messages.is_empty() {
            return Self { messages: Vec::new(), text: excerpt(&value.to_string()) };
        }
        fault
    }

    /// The messages within a JSON body: an error object, or the messages that annotate a successful answer.
    #[must_use]
    pub fn of(body: &Value) -> Self {
        let error = body.get("error").unwrap_or(body);
        let mut messages: Vec<Message> = Vec::new();
        for place in [error, body] {
            let list = match place.get("@Message.ExtendedInfo") {
                Some(Value::Array(list)) => list.as_slice(),
                // Some write the one message without a list.
                Some(one @ Value::Object(_)) => std::slice::from_ref(one),
                _ => continue,
            };
            messages.extend(list.iter().take(MESSAGES).map(Message::of).filter(|message| !message.is_empty()));
            if !messages.is_empty() {
                break;
            }
        }
        if messages.is_empty() {
            let own = Message { id: text(error, "code"), text: text(error, "message"), resolution: String::new() };
            messages.extend(Some(own).filter(|own| !own.is_empty()));
        }
        Self { messages, text: None }
    }

    /// Whether a message has this key, whatever registry and version it is from: `SYS518` is in `IDRAC.2.8.SYS518`.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.messages.iter().any(|message| message.key().eq_ignore_ascii_case(key))
    }

    /// Whether the service says that no more sessions can be made: by a key of the base registry or of Dell's, or in
    /// words.
    pub(crate) fn is_about_session_limit(&self) -> bool {
        const KEYS: [&str; 3] = ["SessionLimitExceeded", "CreateLimitReachedForResource", "RAC0218"];
        const LIMITS: [&str; 6] = ["maximum", "limit", "exceed", "full", "too many", "exhausted"];
        let says = |text: &str| {
            let text = text.to_ascii_lowercase();
            text.contains("session") && LIMITS.iter().any(|word| text.contains(word))
        };
        KEYS.iter().any(|key| self.has(key))
            || self.messages.iter().any(|message| says(&message.text))
            || self.text.as_deref().is_some_and(says)
    }
}

impl Message {
    fn of(value: &Value) -> Self {
        // iLO 4 and some OEMs write `MessageID`.
        let id = ["MessageId", "MessageID"].into_iter().map(|name| text(value, name)).find(|id| !id.is_empty());
        Self { id: id.unwrap_or_default(), text: text(value, "Message"), resolution: text(value, "Resolution") }
    }

    fn is_empty(&self) -> bool {
        self.id.is_empty() && self.text.is_empty()
    }

    /// The last part of the id.
    #[must_use]
    pub fn key(&self) -> &str {
        self.id.rsplit(['.', ':']).next().unwrap_or_default()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            return f.write_str(text);
        }
        if self.messages.is_empty() {
            return f.write_str("no reason given");
        }
        for (at, message) in self.messages.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            match (message.text.is_empty(), message.key().is_empty()) {
                (false, false) => write!(f, "{} ({})", message.text.trim_end_matches('.'), message.key())?,
                (false, true) => f.write_str(message.text.trim_end_matches('.'))?,
                (true, _) => f.write_str(&message.id)?,
            }
        }
        Ok(())
    }
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).and_then(excerpt).unwrap_or_default()
}

/// Foreign text as one short line: no markup, no control characters; none when nothing is left.
pub(crate) fn excerpt(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut in_tag = false;
    for c in text.chars().take(8 * EXCERPT) {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                plain.push(' ');
            }
            _ if in_tag => {}
            c if c.is_control() => plain.push(' '),
            c => plain.push(c),
        }
    }
    let words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = words.chars().take(EXCERPT).collect();
    let dots = if short.len() < words.len() { "…" } else { "" };
    (!short.is_empty()).then(|| format!("{short}{dots}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn faults_in_all_spellings() {
        let info = json!([{"MessageId": "IDRAC.2.8.SYS518", "Message": "Try again.", "Resolution": "Wait."}]);
        let cases = [
            (json!({"error": {"code": "Base.1.0.GeneralError", "@Message.ExtendedInfo": info}}), "Try again (SYS518)"),
            (json!({"@Message.ExtendedInfo": info}), "Try again (SYS518)"),
            (json!({"error": {"@Message.ExtendedInfo": info[0]}}), "Try again (SYS518)"),
            (json!({"error": {"code": "Base.1.0.NoOperation", "message": "Nothing."}}), "Nothing (NoOperation)"),
            (json!({"error": {"@Message.ExtendedInfo": [{"MessageID": "iLO.0.10.Busy"}]}}), "iLO.0.10.Busy"),
            (json!({"error": {"@Message.ExtendedInfo": null}}), r#"{"error":{"@Message.ExtendedInfo":null}}"#),
        ];
        for (body, wanted) in cases {
            assert_eq!(Fault::read(body.to_string().as_bytes()).to_string(), wanted, "{body}");
        }
        assert!(Fault::of(&json!({"@Message.ExtendedInfo": info})).has("SYS518"));
        assert!(!Fault::of(&json!({"@Message.ExtendedInfo": info})).has("SYS51"));
    }

    #[test]
    fn html_is_shown_as_text() {
        let page = b"<html><head><title>403</title></head>\n<body><h1>Forbidden</h1>\x07</body></html>";
        assert_eq!(Fault::read(page).to_string(), "403 Forbidden");
        assert_eq!(Fault::read(b"").to_string(), "no reason given");
    }

    proptest! {
        #[test]
        fn any_body_is_read(body in proptest::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(Fault::read(&body).to_string().chars().count() <= EXCERPT + 20);
        }
    }
}
