//! The poll in its reduced form: a hundred BMCs, asked by one process, that never get more than one session each.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::process::Command;

use bessemer_bench::Row;

#[test]
fn a_hundred_bmcs_are_polled_with_a_session_each_and_flat_memory() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench-bmc"))
        .envs([("BENCH_HOSTS", "100"), ("BENCH_ROUNDS", "6"), ("BENCH_PEERS", "0")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Row> = text.lines().filter_map(Row::parse).collect();
    let value = |name: &str| rows.iter().find(|row| row.name.starts_with(name)).map(|row| row.value).expect(name);
    assert_eq!(value("calls that failed"), 0.0);
    assert_eq!(value("most sessions of one bmc"), 1.0);
    assert_eq!(value("log ins for each bmc"), 1.0);
    assert_eq!(value("sessions left open"), 0.0);
    assert!(value("calls, 100 bmcs at once") > 0.0);
    // a leak of even one answer a call would show: an allocator's own habits stay below this
    let (early, late) = (value("memory after round 2"), value("memory after the last round"));
    assert!(late < early + 4.0, "{early} MiB, then {late} MiB");
}
