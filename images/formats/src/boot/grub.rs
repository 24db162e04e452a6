//! `grub.cfg` as far as `grub-mkconfig` writes it: menu entries with a kernel each, and which of them is started by itself.
//!
//! This is no shell. A `linux` command inside a condition or with an unknown command around it makes no entry; whoever wants certainty about
//! those boots through the firmware.

use super::BootChoice;
use super::environment::{Variables, expand};

/// Deepest nesting of blocks.
const DEEPEST: usize = 16;
/// Most entries that are kept.
const MOST_ENTRIES: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    title: String,
    id: String,
    /// Its place among its siblings, at each level of submenus.
    place: Vec<usize>,
    /// None for a submenu.
    choice: Option<BootChoice>,
}

#[derive(Debug)]
enum Block {
    Entry(Item),
    Menu(Vec<usize>),
    /// Conditions and functions, whose content counts for nothing.
    Other,
}

/// The entry that GRUB would start by itself, if it can be told.
#[must_use]
pub fn default_choice(text: &str, environment: &Variables) -> Option<BootChoice> {
    let (items, default) = parse(text, environment);
    let chosen = default.and_then(|default| select(&items, &default));
    chosen.or_else(|| items.iter().find(|item| item.choice.is_some())).and_then(|item| item.choice.clone())
}

/// Finds `0`, `1>2`, a title or an id; a submenu stands for its first entry.
fn select<'a>(items: &'a [Item], wanted: &str) -> Option<&'a Item> {
    let mut within: Vec<usize> = Vec::new();
    let mut found = None;
    for part in wanted.split('>').map(str::trim) {
        let number = part.parse::<usize>().ok();
        let matches = |item: &&Item| {
            let (parent, own) = item.place.split_at(item.place.len().saturating_sub(1));
            parent == within && (number == own.first().copied() || item.title == part || item.id == part)
        };
        let item = items.iter().find(matches)?;
        within.clone_from(&item.place);
        found = Some(item);
    }
    let found = found?;
    if found.choice.is_some() {
        return Some(found);
    }
    items.iter().find(|item| item.place.starts_with(&found.place) && item.choice.is_some())
}

/// All items in order, and what `default` is set to.
fn parse(text: &str, environment: &Variables) -> (Vec<Item>, Option<String>) {
    let mut variables = environment.clone();
    let (mut items, mut default): (Vec<Item>, Option<String>) = (Vec::new(), None);
    let mut blocks: Vec<Block> = Vec::new();
    let mut counts: Vec<usize> = vec![0];
    for mut words in commands(text) {
        let opens = words.last().is_some_and(|word| word == "{");
        if opens {
            words.pop();
        }
        let command = words.first().map(String::as_str).unwrap_or_default();
        match command {
            "}" | "fi" | "done" => match blocks.pop() {
                Some(Block::Entry(item)) if items.len() < MOST_ENTRIES => items.push(item),
                Some(Block::Menu(_)) => drop(counts.pop()),
                _ => {}
            },
            "menuentry" | "submenu" if opens && blocks.len() < DEEPEST => {
                let nested = blocks.iter().any(|block| !matches!(block, Block::Menu(_)));
                let mut place = match blocks.last() {
                    Some(Block::Menu(place)) => place.clone(),
                    _ => Vec::new(),
                };
                place.extend(counts.last_mut().map(|count| std::mem::replace(count, *count + 1)));
                let title = words.get(1).cloned().unwrap_or_default();
                let id = words.iter().skip_while(|word| !id_flag(word)).nth(1).cloned().unwrap_or_default();
                let menu = Item { title: title.clone(), id, place: place.clone(), choice: None };
                if nested {
                    blocks.push(Block::Other);
                } else if command == "menuentry" {
                    blocks.push(Block::Entry(menu));
                } else {
                    items.push(menu);
                    counts.push(0);
                    blocks.push(Block::Menu(place));
                }
            }
            "if" | "while" | "for" | "until" => blocks.push(Block::Other),
            _ if opens => blocks.push(Block::Other),
            "set" => set(&words, &mut variables, &mut default),
            "linux" | "linux16" | "linuxefi" => {
                if let Some(Block::Entry(item)) = blocks.last_mut() {
                    let word = |word: &String| expand(word, &variables);
                    item.choice = words.get(1).map(|kernel| BootChoice {
                        title: item.title.clone(),
                        kernel: on_root(&expand(kernel, &variables)),
                        initrds: Vec::new(),
                        command_line: words.iter().skip(2).map(word).collect::<Vec<_>>().join(" "),
                    });
                }
            }
            "initrd" | "initrd16" | "initrdefi" => {
                if let Some(Block::Entry(Item { choice: Some(choice), .. })) = blocks.last_mut() {
                    let files = words.iter().skip(1).map(|word| on_root(&expand(word, &variables)));
                    choice.initrds.extend(files.filter(|file| !file.is_empty()));
                }
            }
            _ => {}
        }
        if blocks.len() > DEEPEST {
            break;
        }
    }
    (items, default)
}

fn id_flag(word: &str) -> bool {
    word == "--id" || word == "$menuentry_id_option"
}

/// `set name=value`. The last default that is no variable without a value counts, which is what `grub-mkconfig` means.
fn set(words: &[String], variables: &mut Variables, default: &mut Option<String>) {
    let Some((name, value)) = words.get(1).and_then(|word| word.split_once('=')) else { return };
    let value = expand(value, variables);
    if name == "default" {
        if !value.is_empty() {
            *default = Some(value);
        }
    } else if variables.len() < MOST_ENTRIES {
        variables.insert(name.to_owned(), value);
    }
}

/// A path without GRUB's name of the device.
fn on_root(path: &str) -> String {
    match path.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, path)) => path.to_owned(),
        None => path.to_owned(),
    }
}

/// Commands as lists of words, with quotes taken off.
fn commands(text: &str) -> impl Iterator<Item = Vec<String>> {
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(end), letter) if letter == end => quote = None,
            (Some('\''), letter) => word.get_or_insert_default().push(letter),
            (_, '\\') => match letters.next() {
                Some('\n') | None => {}
                Some(letter) => word.get_or_insert_default().push(letter),
            },
            (Some(_), letter) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                word.get_or_insert_default();
                quote = Some(letter);
            }
            (None, '#') if word.is_none() => while letters.next_if(|letter| *letter != '\n').is_some() {},
            (None, '\n' | ';') => {
                words.extend(word.take());
                if !words.is_empty() {
                    commands.push(std::mem::take(&mut words));
                }
            }
            (None, '{') if word.is_none() => {
                words.push("{".to_owned());
                commands.push(std::mem::take(&mut words));
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (None, letter) => word.get_or_insert_default().push(letter),
        }
        // `then`, `else` and `do` stand before a command without a separator.
        if matches!(words.as_slice(), [first] if ["then", "else", "do"].contains(&first.as_str())) {
            words.clear();
        }
    }
    words.extend(word);
    commands.push(words);
    commands.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the shape that `grub-mkconfig` of Debian 12 gives it, shortened.
    const DEBIAN: &str = r#"
# DO NOT EDIT THIS FILE
if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="0"
fi
function gfxmode {
	set gfxpayload="${1}"
}
menuentry 'Debian GNU/Linux' --class debian --class os $menuentry_id_option 'gnulinux-simple-1' {
	load_video
	insmod gzio
	if [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi
	insmod part_gpt
	search --no-floppy --fs-uuid --set=root 1234-abcd
	echo	'Loading Linux 6.1.0-13-amd64 ...'
	linux	/boot/vmlinuz-6.1.0-13-amd64 root=UUID=1234-abcd ro  quiet console=ttyS0,115200
	echo	'Loading initial ramdisk ...'
	initrd	/boot/initrd.img-6.1.0-13-amd64
}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-1' {
	menuentry 'Debian GNU/Linux, with Linux 6.1.0-13-amd64' --class os $menuentry_id_option 'adv-13' {
		linux	/boot/vmlinuz-6.1.0-13-amd64 root=UUID=1234-abcd ro  single
		initrd	/boot/early.cpio /boot/initrd.img-6.1.0-13-amd64
	}
	menuentry 'Debian GNU/Linux, with Linux 6.1.0-12-amd64' --class os $menuentry_id_option 'adv-12' {
		linux	($root)/boot/vmlinuz-6.1.0-12-amd64 root=UUID=1234-abcd ro
	}
}
menuentry "UEFI Firmware Settings" {
	fwsetup
}
"#;

    #[test]
    fn the_default_entry_of_debian_is_found() {
        let choice = default_choice(DEBIAN, &Variables::new()).unwrap();
        assert_eq!(choice.title, "Debian GNU/Linux");
        assert_eq!(choice.kernel, "/boot/vmlinuz-6.1.0-13-amd64");
        assert_eq!(choice.initrds, ["/boot/initrd.img-6.1.0-13-amd64"]);
        assert_eq!(choice.command_line, "root=UUID=1234-abcd ro quiet console=ttyS0,115200");
    }

    #[test]
    fn other_defaults_are_found_by_place_title_or_id() {
        for (default, kernel, initrds) in [
            ("1", "/boot/vmlinuz-6.1.0-13-amd64", 2),
            ("1>1", "/boot/vmlinuz-6.1.0-12-amd64", 0),
            ("gnulinux-advanced-1>adv-12", "/boot/vmlinuz-6.1.0-12-amd64", 0),
            ("Debian GNU/Linux", "/boot/vmlinuz-6.1.0-13-amd64", 1),
            ("nothing of the kind", "/boot/vmlinuz-6.1.0-13-amd64", 1),
        ] {
            let text = DEBIAN.replace("set default=\"0\"", &format!("set default=\"{default}\""));
            let choice = default_choice(&text, &Variables::new()).unwrap();
            assert_eq!((choice.kernel.as_str(), choice.initrds.len()), (kernel, initrds), "{default}");
        }
        let saved = DEBIAN.replace("set default=\"0\"", "set default=\"${saved_entry}\"");
        let env = super::super::environment::parse("saved_entry=gnulinux-advanced-1>adv-12\n");
        assert_eq!(default_choice(&saved, &env).unwrap().kernel, "/boot/vmlinuz-6.1.0-12-amd64");
    }

    #[test]
    fn what_depends_on_conditions_is_no_choice() {
        let text =
            "menuentry 'x' {\n if [ a = b ]; then\n linux /a root=/dev/a\n else\n linux /b root=/dev/b\n fi\n}\n";
        assert_eq!(default_choice(text, &Variables::new()), None);
        assert_eq!(default_choice("", &Variables::new()), None);
        assert_eq!(default_choice("menuentry 'x' { linux", &Variables::new()), None);
        assert_eq!(default_choice(&"menuentry x {\n".repeat(1000), &Variables::new()), None);
    }
}
