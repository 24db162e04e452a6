//! Changes of objects as they happen: `kubectl get --watch`, one per kind.

use std::io::{BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Deserializer, Value};

use crate::deadline;
use crate::kubectl::Kubectl;

/// One object as it is now.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) object: Value,
}

enum Message {
    Seen(Seen),
    Ended(String),
}

/// The watches; they end with it.
pub(crate) struct Feed {
    receiver: Receiver<Message>,
    children: Vec<Child>,
}

impl Feed {
    /// Watches these kinds in all namespaces.
    pub(crate) fn open(kubectl: &Kubectl<'_>, kinds: &[&str]) -> Result<Self> {
        let (sender, receiver) = channel();
        let mut children = Vec::new();
        for kind in kinds {
            let arguments = ["get", kind, "--all-namespaces", "--output", "json", "--watch", "--output-watch-events"];
            children.push(watch(kubectl.command(&arguments), (*kind).to_owned(), sender.clone())?);
        }
        Ok(Self { receiver, children })
    }

    /// The next change; `None` if there is none before `until`.
    pub(crate) fn next(&self, until: Instant) -> Result<Option<Seen>> {
        match self.receiver.recv_timeout(deadline::left(until)) {
            Ok(Message::Seen(seen)) => Ok(Some(seen)),
            Ok(Message::Ended(why)) => bail!("{why}"),
            Err(_) => Ok(None),
        }
    }

    /// Waits for an object of that kind and name that is as wanted (`what` says so in the error).
    pub(crate) fn wait(
        &self,
        (kind, name): (&str, &str),
        what: &str,
        within: Duration,
        mut wanted: impl FnMut(&Value) -> bool,
    ) -> Result<Value> {
        let until = deadline::after(within);
        let mut last = Value::Null;
        while let Some(Seen { object }) = self.next(until)? {
            if text(&object, "/kind") == kind && text(&object, "/metadata/name") == name {
                if wanted(&object) {
                    return Ok(object);
                }
                last = object;
            }
        }
        let status = last.get("status").map(ToString::to_string).unwrap_or_default();
        bail!("{kind} {name}: not {what} in {}; its status: {status}", deadline::show(within))
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        for child in &mut self.children {
            // it may have ended by itself
            child.kill().ok();
            child.wait().ok();
        }
    }
}

fn watch(mut command: Command, kind: String, sender: Sender<Message>) -> Result<Child> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot run kubectl")?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    std::thread::spawn(move || {
        let Some(stdout) = stdout else { return };
        let mut broken = String::new();
        for event in Deserializer::from_reader(BufReader::new(stdout)).into_iter::<Value>() {
            match event {
                Ok(mut event) => {
                    let object = event.get_mut("object").map(Value::take).unwrap_or_default();
                    if sender.send(Message::Seen(Seen { object })).is_err() {
                        return;
                    }
                }
                Err(error) => {
                    broken = error.to_string();
                    break;
                }
            }
        }
        let mut said = String::new();
        stderr.map(|mut stderr| stderr.read_to_string(&mut said));
        // nobody may be there to hear it
        sender.send(Message::Ended(format!("kubectl get {kind} --watch ended: {} {broken}", said.trim()))).ok();
    });
    Ok(child)
}

/// The text at a JSON pointer, or nothing.
pub(crate) fn text<'object>(object: &'object Value, pointer: &str) -> &'object str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
