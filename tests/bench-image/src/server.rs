//! A file server on loopback, as little as it takes: GET and HEAD, ranges, files sent by the kernel.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use anyhow::Result;

/// Prints its address, then serves `folder` until it is ended.
pub(crate) fn serve(folder: PathBuf) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming().flatten() {
        let folder = folder.clone();
        std::thread::spawn(move || while answer(&stream, &folder).is_ok() {});
    }
    Ok(())
}

fn answer(mut stream: &TcpStream, folder: &Path) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_ascii_lowercase());
    }
    let mut words = lines.first().map(String::as_str).unwrap_or_default().split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let name = Path::new(path).file_name().unwrap_or_default();
    let Ok(mut file) = File::open(folder.join(name)) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    };
    let total = file.metadata()?.len();
    let range = lines.iter().find_map(|line| line.strip_prefix("range: bytes=")).and_then(|range| {
        let (start, end) = range.split_once('-')?;
        Some((start.parse().ok()?, end.parse().map_or(total, |end: u64| (end + 1).min(total))))
    });
    let (start, end) = range.unwrap_or((0, total));
    let status = match range {
        Some(_) => format!("206 Partial Content\r\ncontent-range: bytes {start}-{}/{total}", end - 1),
        None => "200 OK".to_owned(),
    };
    let head =
        format!("HTTP/1.1 {status}\r\naccept-ranges: bytes\r\netag: \"1\"\r\ncontent-length: {}\r\n\r\n", end - start);
    stream.write_all(head.as_bytes())?;
    if method == "get" {
        file.seek(SeekFrom::Start(start))?;
        io::copy(&mut file.take(end - start), &mut stream)?;
    }
    Ok(())
}
