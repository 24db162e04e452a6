//! What survives: power cuts on a disk that forgets, full disks, failed flushes, damaged files.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::disk::{Backend, File};
use super::shadow::{Random, ShadowDisk};
use super::*;
use crate::object;

const PATH: &str = "/shadow/apiserver.redb";

fn open(disk: &ShadowDisk) -> Result<Store, StoreError> {
    Store::open_on(disk, Path::new(PATH), |_| {}, Box::new(|_, _| {}))
}

fn key(name: &str) -> Key {
    Key { resource: "test.example/things".into(), namespace: "default".into(), name: name.to_owned() }
}

fn thing(name: &str, count: u64, filler: usize) -> Value {
    let metadata = json!({"name": name, "namespace": "default", "uid": name});
    json!({"metadata": metadata, "count": count, "filler": "k ".repeat(filler)})
}

/// Writes two objects in one transaction, so that half of it can be seen.
fn write_pair(store: &StoreHandle, name: &str, count: u64, filler: usize) -> Result<u64, StoreError> {
    let (left, right) = (format!("{name}-left"), format!("{name}-right"));
    store.write_blocking(move |txn| {
        if count % 7 == 6 {
            txn.delete(key(&left));
            txn.delete(key(&right));
            return Ok(0);
        }
        txn.put(key(&left), thing(&left, count, filler));
        let stored = txn.put(key(&right), thing(&right, count, filler));
        Ok(object::resource_version(&stored).parse().unwrap())
    })
}

fn count(store: &Store, name: &str) -> Option<u64> {
    store.read().get(&key(name)).map(|object| object["count"].as_u64().unwrap())
}

/// Last count tried and last count acknowledged, by writer.
type Ledger = BTreeMap<String, (u64, u64)>;

/// Writes from several threads until the power goes.
fn write_until_dark(store: &Store, ledger: &Mutex<Ledger>, random: &mut Random) -> u64 {
    let newest = Mutex::new(0);
    std::thread::scope(|scope| {
        for writer in 0..4_u64 {
            let (handle, newest) = (store.handle().clone(), &newest);
            let name = format!("w{writer}");
            let filler = [5, 400, 1500, 9_000][writer as usize] + random.below(50) as usize;
            scope.spawn(move || {
                loop {
                    let next = {
                        let mut ledger = ledger.lock().unwrap();
                        let entry = ledger.entry(name.clone()).or_default();
                        entry.0 += 1;
                        entry.0
                    };
                    let Ok(version) = write_pair(&handle, &name, next, filler) else { return };
                    ledger.lock().unwrap().get_mut(&name).unwrap().1 = next;
                    let mut newest = newest.lock().unwrap();
                    *newest = version.max(*newest);
                }
            });
        }
    });
    newest.into_inner().unwrap()
}

fn check(store: &Store, ledger: &mut Ledger, newest: u64, told: &str) {
    assert!(store.read().version() >= newest, "{told}: version {} after {newest}", store.read().version());
    for (name, (tried, acknowledged)) in ledger {
        let (left, right) = (count(store, &format!("{name}-left")), count(store, &format!("{name}-right")));
        assert_eq!(left, right, "{told}: half a write of {name}");
        let fits = |count: u64| match left {
            Some(found) => found == count,
            None => count == 0 || count % 7 == 6,
        };
        assert!(
            (*acknowledged..=*tried).any(fits),
            "{told}: {name} is {left:?}, acknowledged {acknowledged}, tried {tried}"
        );
        // What was in flight has happened or has not; either is what counts from here on.
        *acknowledged = left.unwrap_or(if fits(*acknowledged) { *acknowledged } else { *tried });
        *tried = *acknowledged;
    }
}

fn seed() -> u64 {
    let given = std::env::var("BESSEMER_SEED").ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(|| uuid::Uuid::new_v4().as_u64_pair().0)
}

fn cut_the_power(rounds: u64, keep_some: bool) {
    let seed = seed();
    let mut random = Random(seed);
    let disk = ShadowDisk::new();
    let ledger = Mutex::new(Ledger::new());
    let (mut acknowledged, mut newest) = (0, 0);
    for round in 0..rounds {
        let told = format!("seed {seed}, round {round}");
        disk.switches().power.store(1 + random.below(if round % 5 == 0 { 40 } else { 400 }) as i64, SeqCst);
        // The power can go while the store is being opened, too.
        if let Ok(store) = open(&disk) {
            check(&store, &mut ledger.lock().unwrap(), newest, &told);
            let before: u64 = ledger.lock().unwrap().values().map(|(_, acknowledged)| acknowledged).sum();
            newest = newest.max(write_until_dark(&store, &ledger, &mut random));
            acknowledged += ledger.lock().unwrap().values().map(|(_, acknowledged)| acknowledged).sum::<u64>() - before;
        }
        disk.power_cycle(&mut random, keep_some);
        let store = open(&disk).unwrap_or_else(|error| panic!("{told}: {error}"));
        check(&store, &mut ledger.lock().unwrap(), newest, &told);
    }
    println!("{rounds} power cuts, {acknowledged} acknowledged writes, 0 lost (seed {seed})");
    assert!(acknowledged > rounds, "too few writes to say anything: {acknowledged}");
}

fn rounds(short: u64) -> u64 {
    if std::env::var_os("BESSEMER_LONG").is_some() { short * 10 } else { short }
}

#[test]
fn a_disk_that_drops_what_was_not_flushed() {
    cut_the_power(rounds(100), false);
}

#[test]
fn a_disk_that_keeps_some_and_tears_the_rest() {
    cut_the_power(rounds(100), true);
}

#[test]
fn a_full_disk_rejects_writes_serves_reads_and_recovers() {
    let disk = ShadowDisk::new();
    let store = open(&disk).unwrap();
    write_pair(store.handle(), "a", 1, 100).unwrap();
    disk.switches().space.store(0, SeqCst);
    let mut refused = None;
    let mut stored = 1;
    // What the files already have is used up first. Compresses badly enough to get there.
    for count in (2..3000).filter(|count| count % 7 != 6) {
        let filler: String = (0..400).map(|n| format!("{}", n * count)).collect();
        let mut value = thing("b", count, 1);
        value["filler"] = filler.into();
        let put = store.handle().write_blocking(move |txn| {
            txn.put(key(&format!("b{count}")), value);
            Ok::<_, StoreError>(())
        });
        match put {
            Ok(()) => stored = count,
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    let refused = refused.expect("the disk never became full");
    assert!(refused.is_no_space(), "{refused}");
    assert!(refused.to_string().contains("no space left for /shadow/apiserver"), "{refused}");
    assert_eq!(count(&store, "a-left"), Some(1));
    assert_eq!(count(&store, &format!("b{stored}")), Some(stored));

    disk.switches().space.store(u64::MAX, SeqCst);
    write_pair(store.handle(), "a", 2, 100).unwrap();
    drop(store);
    let store = open(&disk).unwrap();
    assert_eq!((count(&store, "a-right"), count(&store, &format!("b{stored}"))), (Some(2), Some(stored)));
}

#[test]
fn after_a_failed_flush_nothing_is_acknowledged() {
    let disk = ShadowDisk::new();
    let store = open(&disk).unwrap();
    write_pair(store.handle(), "a", 1, 10).unwrap();
    disk.switches().failing_flushes.store(1, SeqCst);
    for _ in 0..3 {
        let error = write_pair(store.handle(), "a", 2, 10).unwrap_err();
        assert!(error.to_string().contains("restart this program"), "{error}");
        assert!(store.failure().is_some_and(|why| why.contains("restart this program")));
        assert_eq!(count(&store, "a-left"), Some(1));
    }
    drop(store);
    write_pair(open(&disk).unwrap().handle(), "a", 3, 10).unwrap();
}

#[test]
fn a_decision_that_panics_ends_nothing_but_itself() {
    let disk = ShadowDisk::new();
    let store = open(&disk).unwrap();
    let decide = |txn: &mut Txn<'_>| {
        txn.put(key("half"), thing("half", 1, 10));
        if txn.get(&key("half")).is_some() {
            panic!("a fault in deciding")
        }
        Ok::<_, StoreError>(())
    };
    let error = store.handle().write_blocking(decide).unwrap_err();
    assert!(error.to_string().contains("caused apiserver to panic"), "{error}");
    assert_eq!((count(&store, "half"), store.failure()), (None, None));
    write_pair(store.handle(), "a", 1, 10).unwrap();
    assert_eq!(count(&store, "a-left"), Some(1));
}

#[test]
fn no_space_at_a_flush_is_no_full_disk() {
    // Delayed allocation: the write is taken, the flush finds no room, and the pages count as clean from then on.
    let flush = FullAtFlush(ShadowDisk::new().open(Path::new("/shadow/one")).unwrap());
    let error = redb::StorageBackend::sync_data(&Backend(Arc::new(flush))).unwrap_err();
    assert_ne!(error.kind(), io::ErrorKind::StorageFull);
    assert!(error.to_string().contains("cannot flush"), "{error}");
}

/// A file whose flushes find no space.
#[derive(Debug)]
struct FullAtFlush(Arc<dyn File>);

impl File for FullAtFlush {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

#[test]
fn large_commits_are_whole() {
    let disk = ShadowDisk::new();
    let store = open(&disk).unwrap();
    write_pair(store.handle(), "a", 1, 10).unwrap();
    let many = |count: u64| {
        move |txn: &mut Txn<'_>| {
            for n in 0..400_u64 {
                let mut value = thing("m", count, 1);
                value["filler"] = (0..300).map(|k| format!("{}", k * (n + 7919))).collect::<String>().into();
                txn.put(key(&format!("m{n}")), value);
            }
            Ok::<_, StoreError>(())
        }
    };
    store.handle().write_blocking(many(1)).unwrap();
    write_pair(store.handle(), "a", 2, 10).unwrap();
    disk.power_cycle(&mut Random(1), false);
    drop(store);
    let store = open(&disk).unwrap();
    assert_eq!((count(&store, "m399"), count(&store, "a-left")), (Some(1), Some(2)));
}

#[test]
fn too_large_an_object_is_etcds_error() {
    let disk = ShadowDisk::new();
    let store = open(&disk).unwrap();
    let error = write_pair(store.handle(), "a", 1, 800_000).unwrap_err();
    assert_eq!(error.to_string(), "etcdserver: request is too large");
    assert_eq!(store.read().version(), 0);
}

#[test]
fn damaged_files_are_errors_that_name_the_file_and_the_remedy() {
    fn fill(disk: &ShadowDisk) {
        let store = open(disk).unwrap();
        for count in 1..6 {
            write_pair(store.handle(), "a", count, 300).unwrap();
        }
    }
    type Damage = fn(&mut Vec<u8>);
    let (base, journal) = (PATH, "/shadow/apiserver.journal-0");
    let cases: [(&str, Damage, &str); 9] = [
        (base, |bytes| bytes.truncate(bytes.len() / 2), "cannot open /shadow/apiserver.redb"),
        (base, |bytes| bytes.truncate(100), "cannot open /shadow/apiserver.redb"),
        (base, |bytes| *bytes = b"SQLite format 3\0".repeat(600), "cannot open /shadow/apiserver.redb"),
        (base, |bytes| bytes[64..].fill(0x55), "cannot open /shadow/apiserver.redb"),
        (journal, |bytes| bytes[0] = b'B', "it is no journal of this program"),
        (journal, |bytes| bytes[16] = 9, "has format 9, this program knows up to 1; run the newer program"),
        // In the middle of the second of five commits.
        (
            journal,
            |bytes| {
                let mark = super::journal::MARK_FOR_TESTS;
                let marks: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..at + 4] == mark).collect();
                bytes[marks[1] + 40] ^= 1;
            },
            "are damaged",
        ),
        (journal, |bytes| bytes[512 + 40] ^= 1, "the writes between versions 0 and"),
        (
            journal,
            |bytes| {
                let mark = super::journal::MARK_FOR_TESTS;
                let marks: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..at + 4] == mark).collect();
                let (second, end) = (bytes[marks[1]..].to_vec(), bytes.len());
                bytes.truncate(512);
                bytes.extend(second);
                bytes.resize(end, 0);
            },
            "are missing",
        ),
    ];
    for (number, (path, damage, wanted)) in cases.into_iter().enumerate() {
        let disk = ShadowDisk::new();
        fill(&disk);
        disk.damage(Path::new(path), damage);
        let error = open(&disk).err().unwrap_or_else(|| panic!("case {number} was opened")).to_string();
        assert!(error.contains(wanted), "case {number}: {error}");
        assert!(error.contains("restore") || error.contains("newer program"), "case {number}: {error}");
    }
}

#[test]
fn a_file_of_the_first_format_is_read() {
    use redb::{Database, TableDefinition};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("apiserver.redb");
    let mut value = thing("a", 4, 10);
    object::set_meta(&mut value, "resourceVersion", "17");
    let db = Database::create(&path).unwrap();
    let txn = db.begin_write().unwrap();
    {
        let mut objects = txn.open_table(TableDefinition::<&str, &[u8]>::new("objects")).unwrap();
        objects.insert(key("a").encode().as_str(), value.to_string().as_bytes()).unwrap();
        let mut meta = txn.open_table(TableDefinition::<&str, u64>::new("meta")).unwrap();
        meta.insert("resource-version", 17).unwrap();
        meta.insert("format", 1).unwrap();
    }
    txn.commit().unwrap();
    drop(db);
    let store = Store::open(&path, |_| {}, Box::new(|_, _| {})).unwrap();
    assert_eq!((store.read().version(), count(&store, "a")), (17, Some(4)));
    let second = Store::open(&path, |_| {}, Box::new(|_, _| {})).err().unwrap();
    assert!(matches!(second, StoreError::InUse { .. }), "{second}");
}

#[test]
fn the_past_can_be_read_until_it_is_forgotten() {
    let disk = ShadowDisk::new();
    let store = open(&disk).unwrap();
    let mut then = BTreeMap::new();
    for count in 1..40 {
        write_pair(store.handle(), &format!("w{}", count % 5), count, 3).unwrap();
        let page = store.read().page("test.example/things", "default", "", 0).unwrap();
        let shown: Vec<(String, Arc<Value>)> = page.objects.iter().map(|(p, r)| (p.clone(), r.value())).collect();
        then.insert(page.version, shown);
    }
    for (version, wanted) in &then {
        let page = store.read().page("test.example/things", "default", "", *version).unwrap();
        let found: Vec<(String, Arc<Value>)> = page.objects.iter().map(|(p, r)| (p.clone(), r.value())).collect();
        assert_eq!(&found, wanted, "{version}");
    }
    let newest = store.read().version();
    drop(store);
    // A restart forgets the past.
    let store = open(&disk).unwrap();
    assert!(store.read().page("test.example/things", "default", "", newest).is_ok());
    assert!(store.read().page("test.example/things", "default", "", newest - 1).is_err());
}
