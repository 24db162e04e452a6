//! What the keeper is asked over its socket: one JSON line each way. A watch is answered by a line for every change.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::machine::HostState;

/// How long the keeper may take to answer: a cut waits for the emulator's end.
const ANSWER: Duration = Duration::from_secs(15);

/// A question or order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Request {
    /// What `ipmi_sim` calls its chassis program with, such as `get power` or `set boot pxe`.
    Chassis { host: String, words: Vec<String> },
    /// Cut the power, as a fuse would.
    Cut { host: String },
    /// Every host's state, now and after each change.
    Watch,
    /// Do not end with the owner.
    Keep,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// Done; text for the asker, maybe empty.
    Done(String),
    /// Not done, and why.
    Refused(String),
    /// To a watch.
    Hosts(Hosts),
}

/// Every host by name.
pub(crate) type Hosts = BTreeMap<String, HostState>;

/// Sends `request` and gives the connection, for the answers.
pub(crate) fn connect(socket: &Path, request: &Request) -> Result<BufReader<UnixStream>> {
    let mut stream = UnixStream::connect(socket)
        .with_context(|| format!("cannot reach the rack's keeper at {}", socket.display()))?;
    stream.set_read_timeout(Some(ANSWER))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    Ok(BufReader::new(stream))
}

/// Asks and waits for the one answer.
pub(crate) fn ask(socket: &Path, request: &Request) -> Result<String> {
    let mut stream = connect(socket, request)?;
    let mut line = String::new();
    stream.read_line(&mut line).with_context(|| format!("the rack's keeper did not answer {request:?}"))?;
    match serde_json::from_str(&line).with_context(|| format!("the rack's keeper answered {line:?}"))? {
        Answer::Done(text) => Ok(text),
        Answer::Refused(why) => bail!("{why}"),
        Answer::Hosts(_) => bail!("the rack's keeper answered something else"),
    }
}
