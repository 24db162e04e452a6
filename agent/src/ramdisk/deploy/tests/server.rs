//! An image server with every fault that servers have.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A file and how badly it is served.
#[derive(Debug, Clone)]
pub(super) struct Served {
    pub(super) bytes: Vec<u8>,
    pub(super) status: &'static str,
    pub(super) headers: Vec<(&'static str, String)>,
    /// Answers to range requests with parts.
    pub(super) ranges: bool,
    /// Ends each connection after so many bytes of body, the first so many times.
    pub(super) cuts: Vec<usize>,
    /// What later requests get, if something else: the file changed.
    pub(super) then: Option<Box<Served>>,
    /// Announced in place of the true length.
    pub(super) announce: Option<usize>,
}

impl Served {
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            status: "200 OK",
            headers: vec![("etag", "\"1\"".to_owned())],
            ranges: true,
            cuts: Vec::new(),
            then: None,
            announce: None,
        }
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// Serves until the test ends.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) url: String,
    /// `path range` of each request.
    pub(super) asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(super) fn start(files: impl IntoIterator<Item = (&'static str, Served)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let files: BTreeMap<String, Served> = files.into_iter().map(|(path, file)| (path.to_owned(), file)).collect();
        let (files, log) = (Arc::new(Mutex::new(files)), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (files, log) = (Arc::clone(&files), Arc::clone(&log));
                std::thread::spawn(move || answer(stream, &files, &log));
            }
        });
        Self { url, asked }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }
}

/// One request a connection. Errors are the client's end of it.
fn answer(mut stream: TcpStream, files: &Mutex<BTreeMap<String, Served>>, log: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let path = lines.first()?.split(' ').nth(1)?.to_owned();
    let header = |name: &str| {
        lines.iter().find_map(|line| {
            line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v.to_owned())
        })
    };
    log.lock().unwrap().push(format!("{path} {}", header("range").unwrap_or_default()));
    let mut locked = files.lock().unwrap();
    let Some(file) = locked.get_mut(&path) else {
        drop(locked);
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").ok();
    };
    let range = header("range").filter(|_| file.ranges).and_then(|range| {
        let (start, end) = range.strip_prefix("bytes=")?.split_once('-')?;
        let end = end.parse::<usize>().map_or(file.bytes.len(), |end| end + 1);
        Some((start.parse::<usize>().ok()?, end.min(file.bytes.len())))
    });
    let tag = file.headers.iter().find(|(name, _)| *name == "etag").map(|(_, tag)| tag.clone());
    let range = range.filter(|_| header("if-range").is_none_or(|wanted| Some(wanted) == tag));
    let (start, end) = range.unwrap_or((0, file.bytes.len()));
    let mut head = match range {
        Some(_) => {
            format!("HTTP/1.1 206 Partial Content\r\ncontent-range: bytes {start}-{}/{}\r\n", end - 1, file.bytes.len())
        }
        None => format!("HTTP/1.1 {}\r\n", file.status),
    };
    for (name, value) in &file.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\nconnection: close\r\n\r\n", file.announce.unwrap_or(end - start)));
    let mut body = file.bytes[start..end].to_vec();
    // Only whole reads are cut, so that reading tables by parts does not use the cuts up.
    if !file.cuts.is_empty() && end == file.bytes.len() {
        body.truncate(file.cuts.remove(0));
    }
    if let Some(then) = file.then.take() {
        *file = *then;
    }
    drop(locked);
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()
}
