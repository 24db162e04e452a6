//! The end of what the kernel said, from `/dev/kmsg`: one record a read, `priority,number,microseconds,flags;words`, then lines of properties
//! (kernel documentation, ABI/testing/dev-kmsg). Only reads.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Most of it that is kept, in bytes.
const LONGEST_TAIL: usize = 16 << 10;

/// Longest record that the kernel gives, in bytes.
const LONGEST_RECORD: usize = 8 << 10;

/// Most records that are looked at: the kernel could go on speaking for ever.
const MOST_RECORDS: usize = 1 << 17;

/// Oldest first, each with the seconds since the kernel's start as it prints them.
pub(crate) fn tail() -> io::Result<Vec<String>> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::CLOEXEC).bits()).unwrap_or(0);
    let mut log = OpenOptions::new().read(true).custom_flags(flags).open("/dev/kmsg")?;
    let mut record = vec![0; LONGEST_RECORD];
    tail_of(|| {
        let length = log.read(&mut record)?;
        Ok(record.get(..length).unwrap_or_default().to_vec())
    })
}

/// `next` is the next record; it would block after the last one.
fn tail_of(mut next: impl FnMut() -> io::Result<Vec<u8>>) -> io::Result<Vec<String>> {
    let mut lines = VecDeque::new();
    let mut length = 0;
    for _ in 0..MOST_RECORDS {
        let record = match next() {
            Ok(record) if record.is_empty() => break,
            Ok(record) => record,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            // The one that was next was overwritten meanwhile; the next read is of the oldest that is there.
            Err(error) if error.raw_os_error() == Some(Errno::PIPE.raw_os_error()) => continue,
            Err(error) => return Err(error),
        };
        let Some(line) = words(&record) else { continue };
        length += line.len() + 1;
        lines.push_back(line);
        while length > LONGEST_TAIL {
            length -= lines.pop_front().map_or(length, |line: String| line.len() + 1);
        }
    }
    Ok(lines.into())
}

fn words(record: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(record);
    let (head, words) = text.lines().next()?.split_once(';')?;
    let microseconds: u64 = head.split(',').nth(2)?.parse().ok()?;
    Some(format!("[{:5}.{:06}] {words}", microseconds / 1_000_000, microseconds % 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_records_are_kept_whole() {
        let mut records: VecDeque<io::Result<Vec<u8>>> = VecDeque::new();
        records.push_back(Err(Errno::PIPE.into()));
        for number in 0..2000 {
            records.push_back(Ok(
                format!("6,{number},{number}000005,-;sd 0:0:0:{number}: I/O error\n DEVICE=b8:0\n").into_bytes()
            ));
        }
        records.push_back(Ok(b"no record".to_vec()));
        let lines = tail_of(|| records.pop_front().unwrap_or(Err(Errno::AGAIN.into()))).unwrap();
        assert_eq!(lines.last().unwrap(), "[ 1999.000005] sd 0:0:0:1999: I/O error");
        assert!(lines.iter().map(|line| line.len() + 1).sum::<usize>() <= LONGEST_TAIL);
        assert!(lines.len() > 300 && lines.iter().all(|line| line.ends_with("I/O error")));
        assert!(tail_of(|| Err(io::Error::other("gone"))).is_err());
    }
}
