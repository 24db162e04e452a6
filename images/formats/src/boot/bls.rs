//! Entries of the Boot Loader Specification, type 1: one file a kernel, as systemd-boot and Fedora's GRUB read them.

use std::cmp::Ordering;

use super::BootChoice;
use super::environment::{Variables, expand};

/// One entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The file's name without `.conf`.
    pub id: String,
    /// What `sort-key` says.
    pub sort_key: String,
    /// What `machine-id` says.
    pub machine_id: String,
    /// What `version` says.
    pub version: String,
    /// Whether all its tries are used up (`+0` in the name).
    pub is_spent: bool,
    /// Kernel, ramdisks and command line; none if it starts something else.
    pub choice: Option<BootChoice>,
}

impl Entry {
    /// Reads an entry from the text of the file `name`.
    #[must_use]
    pub fn parse(name: &str, text: &str, variables: &Variables) -> Self {
        let id = name.strip_suffix(".conf").unwrap_or(name);
        let (id, tries) = id.rsplit_once('+').unwrap_or((id, ""));
        let mut entry =
            Self { id: id.to_owned(), is_spent: tries == "0" || tries.starts_with("0-"), ..Self::default() };
        let mut choice = BootChoice::default();
        let mut options: Vec<String> = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            let (key, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let value = value.trim();
            match key {
                "title" => value.clone_into(&mut choice.title),
                "version" => value.clone_into(&mut entry.version),
                "machine-id" => value.clone_into(&mut entry.machine_id),
                "sort-key" => value.clone_into(&mut entry.sort_key),
                "linux" => value.clone_into(&mut choice.kernel),
                // GRUB's own extension: several files on a line, and variables.
                "initrd" => choice.initrds.extend(expand(value, variables).split_whitespace().map(str::to_owned)),
                "options" => options.push(expand(value, variables)),
                _ => {}
            }
        }
        choice.command_line = options.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        entry.choice = Some(choice).filter(|choice| !choice.kernel.is_empty());
        entry
    }
}

/// Puts the entry that would be started by itself first. `loader` is the text of `loader.conf`, whose `default` may name one.
pub fn sort(entries: &mut [Entry], loader: &str) {
    let default =
        loader.lines().find_map(|line| line.trim().strip_prefix("default")).map(str::trim).unwrap_or_default();
    let default = default.strip_suffix(".conf").unwrap_or(default);
    let is_default = |entry: &Entry| {
        !default.is_empty()
            && match default.strip_suffix('*') {
                Some(start) => entry.id.starts_with(start),
                None => entry.id == default,
            }
    };
    entries.sort_by(|left, right| {
        let by_key = match (left.sort_key.is_empty(), right.sort_key.is_empty()) {
            (false, false) => left
                .sort_key
                .cmp(&right.sort_key)
                .then_with(|| left.machine_id.cmp(&right.machine_id))
                .then_with(|| versions(&right.version, &left.version)),
            (true, true) => Ordering::Equal,
            (left, right) => left.cmp(&right),
        };
        let flags = |entry: &Entry| (entry.is_spent, !is_default(entry));
        flags(left).cmp(&flags(right)).then(by_key).then_with(|| versions(&right.id, &left.id))
    });
}

/// Compares versions: numbers by value, the rest by letters, `~` before the end.
fn versions(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left, right);
    loop {
        let part = |text: &str, digits: bool| text.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(text.len());
        for digits in [false, true] {
            let ((a, left_rest), (b, right_rest)) =
                (left.split_at(part(left, digits)), right.split_at(part(right, digits)));
            let order = if digits {
                let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
                a.len().cmp(&b.len()).then_with(|| a.cmp(b))
            } else {
                let rank = |text: &str| if text.starts_with('~') { 0 } else { 1 + u8::from(!text.is_empty()) };
                rank(a).cmp(&rank(b)).then_with(|| a.cmp(b))
            };
            if order != Ordering::Equal {
                return order;
            }
            (left, right) = (left_rest, right_rest);
        }
        if left.is_empty() && right.is_empty() {
            return Ordering::Equal;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fedora_and_systemd_entries_are_read() {
        let env = super::super::environment::parse("kernelopts=root=UUID=a ro\n");
        let text = "title Fedora\nversion 6.8\nlinux /boot/vmlinuz-6.8\ninitrd /boot/init-6.8 $tuned_initrd\n\
                    # a comment\noptions $kernelopts  quiet\noptions console=ttyS0\ngrub_users $grub_users\n";
        let entry = Entry::parse("abc-6.8.conf", text, &env);
        let choice = entry.choice.unwrap();
        assert_eq!((entry.id.as_str(), entry.version.as_str()), ("abc-6.8", "6.8"));
        assert_eq!(choice.kernel, "/boot/vmlinuz-6.8");
        assert_eq!(choice.initrds, ["/boot/init-6.8"]);
        assert_eq!(choice.command_line, "root=UUID=a ro quiet console=ttyS0");
        assert_eq!(Entry::parse("x.conf", "title Windows\nefi /EFI/x.efi\n", &env).choice, None);
    }

    #[test]
    fn the_newest_comes_first_unless_another_is_the_default() {
        let entry = |name: &str, text: &str| Entry::parse(name, text, &Variables::new());
        let ids = |entries: &mut Vec<Entry>, loader: &str| {
            sort(entries, loader);
            entries.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>().join(" ")
        };
        let mut by_name = vec![
            entry("m-6.8.5.conf", "linux /a"),
            entry("m-6.12.0.conf", "linux /b"),
            entry("m-0-rescue.conf", "linux /c"),
            entry("m-6.13.0+0-3.conf", "linux /d"),
            entry("m-6.12.0~rc1.conf", "linux /e"),
        ];
        assert_eq!(ids(&mut by_name, ""), "m-6.12.0 m-6.12.0~rc1 m-6.8.5 m-0-rescue m-6.13.0");
        assert_eq!(ids(&mut by_name, "timeout 0\ndefault m-6.8.5.conf\n").split(' ').next(), Some("m-6.8.5"));
        assert_eq!(ids(&mut by_name, "default m-0*\n").split(' ').next(), Some("m-0-rescue"));
        let mut by_key = vec![
            entry("a.conf", "sort-key b\nversion 9\nlinux /a"),
            entry("b.conf", "sort-key a\nversion 2\nlinux /a"),
            entry("c.conf", "sort-key a\nversion 10\nlinux /a"),
        ];
        assert_eq!(ids(&mut by_key, ""), "c b a");
    }
}
