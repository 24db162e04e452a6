//! What boot loaders and firmware read: menus, programs, variables.

#![no_main]

use bessemer_image_formats::boot::environment::Variables;
use bessemer_image_formats::boot::load_option::LoadOption;
use bessemer_image_formats::boot::{bls, csv, environment, grub, pe};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(parts) = pe::Parts::parse(bytes, bytes.len() as u64) {
        for range in [Some(parts.kernel), parts.initrd, parts.microcode, parts.command_line].into_iter().flatten() {
            assert!(range.end <= bytes.len() as u64);
        }
    }
    if let Some(entry) = LoadOption::parse(bytes) {
        assert_eq!(LoadOption::parse(entry.bytes()).as_ref(), Some(&entry));
        assert!(LoadOption::parse(entry.inactive().bytes()).is_some());
    }
    for line in csv::parse(bytes) {
        assert!(!line.loader.contains(['/', '\\']));
    }
    let text = String::from_utf8_lossy(bytes);
    let variables = environment::parse(&text);
    let _ = grub::default_choice(&text, &variables);
    let mut entries: Vec<bls::Entry> = text
        .split('\0')
        .enumerate()
        .map(|(number, text)| {
            bls::Entry::parse(&format!("{number}-{}", text.lines().next().unwrap_or_default()), text, &Variables::new())
        })
        .collect();
    bls::sort(&mut entries, &text);
});
