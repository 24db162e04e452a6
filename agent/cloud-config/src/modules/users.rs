//! `users`, `user` and `groups`, through the distribution's own useradd, groupadd, usermod, passwd and chpasswd.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{ConfigError, sections, ssh, warn_unknown};
use crate::yaml::{self, Node};
use crate::{ApplyError, Program, System};

pub(super) const KEYS: [&str; 3] = ["users", "user", "groups"];

/// cloud-init's own file of rules for sudo.
const SUDOERS: &str = "/etc/sudoers.d/90-cloud-init-users";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Users {
    groups: Vec<(String, Vec<String>)>,
    users: Vec<User>,
}

/// One user. What is not given is left to useradd.
#[derive(Clone, Default, PartialEq, Eq)]
struct User {
    /// `default` stands for the one that the image names.
    name: String,
    /// Options of useradd with their values, in cloud-init's order.
    options: Vec<(&'static str, String)>,
    /// Options without.
    flags: Vec<&'static str>,
    groups: Vec<String>,
    primary_group: Option<String>,
    creates_groups: bool,
    creates_home: bool,
    /// Of a new user only.
    first_hash: Option<String>,
    plain_password: Option<String>,
    hash: Option<String>,
    locked: bool,
    sudo: Vec<String>,
    keys: Vec<String>,
}

impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

/// cloud-init's keys and useradd's options, sorted by key as cloud-init does.
const OPTIONS: [(&str, &str); 6] = [
    ("expiredate", "--expiredate"),
    ("gecos", "--comment"),
    ("homedir", "--home"),
    ("selinux_user", "--selinux-user"),
    ("shell", "--shell"),
    ("uid", "--uid"),
];
const FLAGS: [(&str, &str); 3] =
    [("no_log_init", "--no-log-init"), ("no_user_group", "--no-user-group"), ("system", "--system")];
const OTHERS: [&str; 15] = [
    "name",
    "inactive",
    "groups",
    "primary_group",
    "create_groups",
    "no_create_home",
    "passwd",
    "plain_text_passwd",
    "hashed_passwd",
    "lock_passwd",
    "sudo",
    "ssh_authorized_keys",
    "doas",
    "default",
    "description",
];

impl Users {
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.users.is_empty()
    }

    /// The name of the image's default user, if the cloud-config asks for it.
    pub(super) fn default_name(&self, system: &System<'_>) -> Option<String> {
        self.users.iter().find(|user| user.name == "default").and_then(|_| default_user(system)).map(|(name, _)| name)
    }
}

pub(super) fn read(config: &Node, warnings: &mut Vec<String>) -> Result<Users, ConfigError> {
    let mut all = Users { groups: groups(config)?, users: Vec::new() };
    for (index, item) in config.get("users").map(Node::items).unwrap_or_default().iter().enumerate() {
        let place = format!("users[{index}]");
        match item {
            Node::Scalar { text, .. } => {
                for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                    all.users.push(User {
                        creates_groups: true,
                        creates_home: true,
                        locked: true,
                        name: name.to_owned(),
                        ..User::default()
                    });
                }
            }
            Node::Map(_) => all.users.push(user(item, &place, warnings)?),
            _ => return Err(ConfigError::new(place, "is neither a name nor a mapping")),
        }
    }
    if let Some(single) = config.get("user") {
        let mut user = match single {
            Node::Map(_) => user(single, "user", warnings)?,
            other => {
                let name = other.text().ok_or_else(|| ConfigError::new("user", "is neither a name nor a mapping"))?;
                User {
                    name: name.to_owned(),
                    creates_groups: true,
                    creates_home: true,
                    locked: true,
                    ..User::default()
                }
            }
        };
        if user.name.is_empty() {
            user.name = "default".to_owned();
        }
        all.users.push(user);
    }
    for user in &all.users {
        check_name(&user.name, "users")?;
    }
    Ok(all)
}

/// What useradd, sudo and a colon-separated table take as a name.
fn check_name(name: &str, place: &str) -> Result<(), ConfigError> {
    let fine = |c: char| c.is_alphanumeric() || "_.-$@+".contains(c);
    if name.is_empty() || name.len() > 256 || name.starts_with('-') || !name.chars().all(fine) {
        return Err(ConfigError::new(place, format!("{} is no name of a user or group", sections::shown(name))));
    }
    Ok(())
}

fn groups(config: &Node) -> Result<Vec<(String, Vec<String>)>, ConfigError> {
    let mut named: Vec<(String, Vec<String>)> = Vec::new();
    let listed = match config.get("groups") {
        None => &[],
        Some(node @ Node::Map(_)) => std::slice::from_ref(node),
        Some(node) => node.items(),
    };
    for item in listed {
        match item {
            Node::Map(_) => {
                for (name, _) in item.entries() {
                    named.push((name.to_owned(), sections::comma_words(item, "groups", name)?));
                }
            }
            Node::Scalar { text, .. } => {
                let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                named.extend(names.map(|name| (name.to_owned(), Vec::new())));
            }
            _ => return Err(ConfigError::new("groups", "holds neither a name nor a mapping")),
        }
    }
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (name, members) in named {
        members.iter().chain([&name]).try_for_each(|name| check_name(name, "groups"))?;
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.extend(members),
            None => groups.push((name, members)),
        }
    }
    for (_, members) in &mut groups {
        members.sort();
        members.dedup();
    }
    Ok(groups)
}

fn user(item: &Node, place: &str, warnings: &mut Vec<String>) -> Result<User, ConfigError> {
    // cloud-init takes hyphens for underscores here
    let entries = item.entries().map(|(key, value)| (key.trim().replace('-', "_"), value.clone())).collect();
    let item = &Node::Map(entries);
    let known: Vec<&str> = OPTIONS.iter().chain(&FLAGS).map(|(key, _)| *key).chain(OTHERS).collect();
    warn_unknown(item, place, &known, warnings);
    let text = |key: &str| {
        let value = sections::text(item, place, key)?;
        value.iter().try_for_each(|value| sections::one_line(value, format!("{place}.{key}")))?;
        Ok(value)
    };
    let flag = |key: &str, default: bool| sections::flag(item, place, key, default);
    let mut user = User {
        name: text("name")?.unwrap_or_else(|| "default".to_owned()),
        groups: sections::comma_words(item, place, "groups")?,
        primary_group: text("primary_group")?,
        creates_groups: flag("create_groups", true)?,
        creates_home: !(flag("no_create_home", false)? || flag("system", false)?),
        first_hash: text("passwd")?,
        plain_password: text("plain_text_passwd")?,
        hash: text("hashed_passwd")?,
        locked: flag("lock_passwd", true)?,
        keys: ssh::key_list(item, place, "ssh_authorized_keys")?,
        ..User::default()
    };
    for (key, option) in OPTIONS {
        if let Some(value) = text(key)? {
            user.options.push((option, value));
        }
    }
    for (key, option) in FLAGS {
        if flag(key, false)? {
            user.flags.push(option);
        }
    }
    match item.get("inactive") {
        // Cluster API writes a flag, which cloud-init passes over
        Some(value) if value.is_plain_flag() => {
            warnings.push(format!("cloud-config {place}: inactive is a flag and not a number of days: it is left out"));
        }
        Some(_) => user.options.push(("--inactive", text("inactive")?.unwrap_or_default())),
        None => {}
    }
    match item.get("sudo") {
        Some(value) if value.flag() == Some(false) => {}
        Some(_) => user.sudo = sections::words(item, place, "sudo")?,
        None => {}
    }
    user.sudo.iter().try_for_each(|rule| sections::one_line(rule, format!("{place}.sudo")))?;
    for group in user.groups.iter().chain(&user.primary_group) {
        check_name(group, place)?;
    }
    if !user.keys.is_empty() && !user.creates_home {
        return Err(ConfigError::new(place, "has ssh_authorized_keys and no home for them"));
    }
    Ok(user)
}

/// Name and entry of the user that the image calls its default one.
fn default_user(system: &System<'_>) -> Option<(String, Node)> {
    let image = yaml::parse(&system.read("/etc/cloud/cloud.cfg")).ok()?;
    let user = image.get("system_info")?.get("default_user")?.clone();
    Some((user.get("name")?.text()?.to_owned(), user))
}

pub(super) fn apply(users: &Users, system: &mut System<'_>) -> Result<(), ApplyError> {
    for (group, members) in &users.groups {
        add_group(group, system)?;
        for member in members {
            if is_in(system, "/etc/passwd", member) {
                system.run(&Program::new(["usermod", "-a", "-G", group, member]))?;
            } else {
                system.warn(format!("group {group}: there is no user {member} yet, who does not become a member"));
            }
        }
    }
    // the default user comes last, wherever it is listed
    let (default, named): (Vec<&User>, Vec<&User>) = users.users.iter().partition(|user| user.name == "default");
    for user in named.into_iter().chain(default) {
        let user = if user.name == "default" { &with_defaults(user, system) } else { user };
        if user.name != "default" {
            add(user, system)?;
        }
    }
    Ok(())
}

/// The image's default user with what the cloud-config says beyond it.
fn with_defaults(user: &User, system: &mut System<'_>) -> User {
    let Some((name, entry)) = default_user(system) else {
        system.warn("users: the image names no default user, so there is none");
        return user.clone();
    };
    let mut ignored = Vec::new();
    let Ok(mut base) = self::user(&entry, "default_user", &mut ignored) else {
        system.warn("users: the image's default user cannot be read");
        return user.clone();
    };
    base.name = name;
    base.groups.extend(user.groups.iter().cloned());
    base.keys.extend(user.keys.iter().cloned());
    if !user.sudo.is_empty() {
        base.sudo.clone_from(&user.sudo);
    }
    for (option, value) in &user.options {
        base.options.retain(|(known, _)| known != option);
        base.options.push((option, value.clone()));
    }
    base.first_hash = user.first_hash.clone().or(base.first_hash);
    base.plain_password = user.plain_password.clone().or(base.plain_password);
    base.hash = user.hash.clone().or(base.hash);
    base.locked &= user.locked;
    base
}

fn is_in(system: &System<'_>, table: &str, name: &str) -> bool {
    system.read(table).lines().any(|line| line.split(':').next() == Some(name))
}

fn add_group(group: &str, system: &System<'_>) -> Result<(), ApplyError> {
    if is_in(system, "/etc/group", group) { Ok(()) } else { system.run(&Program::new(["groupadd", group])) }
}

fn add(user: &User, system: &mut System<'_>) -> Result<(), ApplyError> {
    let name = user.name.as_str();
    if !is_in(system, "/etc/passwd", name) {
        if user.creates_groups {
            user.groups.iter().chain(&user.primary_group).try_for_each(|group| add_group(group, system))?;
        }
        let mut words = vec!["useradd".to_owned(), name.to_owned()];
        for (option, value) in &user.options {
            words.extend([(*option).to_owned(), value.clone()]);
        }
        if !user.groups.is_empty() {
            words.extend(["--groups".to_owned(), user.groups.join(",")]);
        }
        if let Some(group) = &user.primary_group {
            words.extend(["--gid".to_owned(), group.clone()]);
        }
        words.extend(user.flags.iter().map(|flag| (*flag).to_owned()));
        words.push(if user.creates_home { "-m" } else { "-M" }.to_owned());
        system.run(&Program::new(words))?;
        if let Some(hash) = &user.first_hash {
            chpasswd(system, name, hash, true)?;
        }
    }
    if let Some(password) = user.plain_password.as_ref().filter(|password| !password.is_empty()) {
        chpasswd(system, name, password, false)?;
    }
    if let Some(hash) = user.hash.as_ref().filter(|hash| !hash.is_empty()) {
        chpasswd(system, name, hash, true)?;
    }
    if user.locked {
        let words = if system.has("passwd") { ["passwd", "-l", name] } else { ["usermod", "--lock", name] };
        system.run(&Program::new(words))?;
    }
    if !user.sudo.is_empty() {
        sudo_rules(user, system)?;
    }
    if !user.keys.is_empty() {
        ssh::authorize(name, &user.keys, "", system)?;
    }
    Ok(())
}

/// The password goes by standard input, where no list of processes shows it.
pub(super) fn chpasswd(system: &System<'_>, name: &str, password: &str, hashed: bool) -> Result<(), ApplyError> {
    let words: &[&str] = if hashed { &["chpasswd", "-e"] } else { &["chpasswd"] };
    system.run(&Program::new(words.iter().copied()).reading(format!("{name}:{password}\n")))
}

fn sudo_rules(user: &User, system: &System<'_>) -> Result<(), ApplyError> {
    let base = system.read("/etc/sudoers");
    let included = |line: &str| {
        line.trim().trim_start_matches(['#', '@']).strip_prefix("includedir").map(str::trim) == Some("/etc/sudoers.d")
    };
    if !base.lines().any(included) {
        let line = if base.is_empty() { "" } else { "\n" };
        system.write("/etc/sudoers", &format!("{base}{line}#includedir /etc/sudoers.d\n"), 0o440)?;
    }
    let folder = Path::new("/etc/sudoers.d");
    let at = system.path("/etc/sudoers.d");
    std::fs::create_dir_all(&at)
        .and_then(|()| std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o750)))
        .map_err(|error| ApplyError::io(folder, &error))?;
    let mut rules = system.read(SUDOERS);
    let section = format!("\n# User rules for {}\n", user.name);
    let lines: Vec<String> = user.sudo.iter().map(|rule| format!("{} {rule}\n", user.name)).collect();
    let section = section + &lines.concat();
    // the same rules once, however often this runs
    if !rules.contains(&section) {
        if rules.is_empty() {
            rules = "# Written by the host's agent.\n".to_owned();
        }
        system.write(SUDOERS, &(rules + &section), 0o440)?;
    }
    Ok(())
}
