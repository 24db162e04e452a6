//! The modules of cloud-init that are carried out, each in a file of its own: what it reads, what it does. They run in the order of [`Module`],
//! which is cloud-init's.

mod commands;
mod disks;
mod host;
mod mounts;
mod ntp;
mod passwords;
mod sections;
mod ssh;
mod timezone;
mod users;
mod write_files;

pub use commands::Command;
pub use write_files::WriteFile;

use crate::user_data::{Script, UserData};
use crate::yaml::Node;
use crate::{ApplyError, System};

/// What becomes of a file's content before it is written, by its path. The error is a sentence.
pub type Change<'a> = dyn Fn(&str, Vec<u8>) -> Result<Vec<u8>, String> + 'a;

/// A cloud-config cannot be meant: which key, and what about it. Quotes no value that could be secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cloud-config: {key}: {what}")]
pub struct ConfigError {
    /// Such as `write_files[2].encoding`.
    pub key: String,
    /// What is wrong.
    pub what: String,
}

impl ConfigError {
    fn new(key: impl Into<String>, what: impl Into<String>) -> Self {
        Self { key: key.into(), what: what.into() }
    }
}

/// What is carried out, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Module {
    /// Commands before everything else. Run by the caller.
    Bootcmd,
    /// Files, other than deferred ones.
    WriteFiles,
    /// Partition tables and file systems.
    DiskSetup,
    /// `/etc/fstab`. Files that were written before lie under what is mounted, as with cloud-init.
    Mounts,
    /// The host's names.
    Hostname,
    /// Groups and users.
    Users,
    /// Keys of the root user and the default user.
    Ssh,
    /// `chpasswd` and password authentication.
    Passwords,
    /// Time servers.
    Ntp,
    /// The time zone.
    Timezone,
    /// Files with `defer`, which may belong to users from above.
    DeferredFiles,
    /// Scripts that are parts of the user data and come before `runcmd` by their names. Run by the caller.
    Scripts,
    /// Commands at the end. Run by the caller.
    Runcmd,
    /// The other scripts. Run by the caller.
    LateScripts,
}

impl Module {
    /// As in cloud-init's list of modules, for reports and journals.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bootcmd => "bootcmd",
            Self::WriteFiles => "write_files",
            Self::DiskSetup => "disk_setup",
            Self::Mounts => "mounts",
            Self::Hostname => "set_hostname",
            Self::Users => "users",
            Self::Ssh => "ssh",
            Self::Passwords => "set_passwords",
            Self::Ntp => "ntp",
            Self::Timezone => "timezone",
            Self::DeferredFiles => "write_files_deferred",
            Self::Scripts => "scripts",
            Self::Runcmd => "runcmd",
            Self::LateScripts => "late_scripts",
        }
    }
}

/// A whole cloud-config, checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloudConfig {
    /// For [`Module::Bootcmd`].
    pub bootcmd: Vec<Command>,
    /// For [`Module::WriteFiles`] and [`Module::DeferredFiles`].
    pub write_files: Vec<WriteFile>,
    /// For [`Module::Runcmd`].
    pub runcmd: Vec<Command>,
    /// For [`Module::Scripts`] and [`Module::LateScripts`], by name.
    pub scripts: Vec<Script>,
    /// What is left out.
    pub warnings: Vec<String>,
    disks: disks::Disks,
    mounts: mounts::Mounts,
    host: host::HostNames,
    users: users::Users,
    ssh: ssh::RootKeys,
    passwords: passwords::Passwords,
    ntp: Option<ntp::Ntp>,
    timezone: Option<String>,
}

/// Keys that mean nothing without cloud-init, or whose modules do nothing here that would be missed.
const WITHOUT_EFFECT: [&str; 8] = [
    "final_message",
    "cloud_init_modules",
    "cloud_config_modules",
    "cloud_final_modules",
    "output",
    "datasource",
    "datasource_list",
    "launch-index",
];

impl CloudConfig {
    /// Checks what `data` says for a host that `meta_data` names.
    pub fn new(data: UserData, meta_data: &serde_json::Map<String, serde_json::Value>) -> Result<Self, ConfigError> {
        let config = &data.config;
        let mut warnings = data.warnings;
        let mut known: Vec<&str> = WITHOUT_EFFECT.to_vec();
        let mut taken = |keys: &[&'static str]| known.extend_from_slice(keys);
        taken(&["bootcmd", "write_files", "runcmd", "timezone", "ntp"]);
        taken(&disks::KEYS);
        taken(&mounts::KEYS);
        taken(&host::KEYS);
        taken(&users::KEYS);
        taken(&ssh::KEYS);
        taken(&passwords::KEYS);
        for (key, value) in config.entries() {
            if !known.contains(&key) && !value.is_null() {
                warnings.push(format!("cloud-config key {} is not carried out", sections::shown(key)));
            }
        }
        Ok(Self {
            bootcmd: commands::read(config, "bootcmd")?,
            write_files: write_files::read(config, &mut warnings)?,
            runcmd: commands::read(config, "runcmd")?,
            scripts: {
                let mut scripts = data.scripts;
                scripts.sort_by(|one, other| one.name.cmp(&other.name));
                scripts
            },
            disks: disks::read(config, &mut warnings)?,
            mounts: mounts::read(config, &mut warnings)?,
            host: host::read(config, meta_data)?,
            users: users::read(config, &mut warnings)?,
            ssh: ssh::read(config, meta_data, &mut warnings)?,
            passwords: passwords::read(config, &mut warnings)?,
            ntp: ntp::read(config, &mut warnings)?,
            timezone: timezone::read(config)?,
            warnings,
        })
    }

    /// Those that have something to do.
    #[must_use]
    pub fn modules(&self) -> Vec<Module> {
        let wanted = [
            (Module::Bootcmd, !self.bootcmd.is_empty()),
            (Module::WriteFiles, self.write_files.iter().any(|file| !file.defer)),
            (Module::DiskSetup, !self.disks.is_empty()),
            (Module::Mounts, !self.mounts.is_empty()),
            (Module::Hostname, !self.host.is_empty()),
            (Module::Users, !self.users.is_empty()),
            (Module::Ssh, !self.ssh.is_empty()),
            (Module::Passwords, !self.passwords.is_empty()),
            (Module::Ntp, self.ntp.is_some()),
            (Module::Timezone, self.timezone.is_some()),
            (Module::DeferredFiles, self.write_files.iter().any(|file| file.defer)),
            (Module::Scripts, self.scripts.iter().any(|script| !script.is_late())),
            (Module::Runcmd, !self.runcmd.is_empty()),
            (Module::LateScripts, self.scripts.iter().any(Script::is_late)),
        ];
        wanted.into_iter().filter(|(_, wanted)| *wanted).map(|(module, _)| module).collect()
    }

    /// Whether `module` does the same when it is done again, so that one that was interrupted may be.
    #[must_use]
    pub fn may_repeat(&self, module: Module) -> bool {
        let appends = |deferred: bool| self.write_files.iter().any(|file| file.append && file.defer == deferred);
        match module {
            Module::Bootcmd | Module::Scripts | Module::Runcmd | Module::LateScripts => false,
            Module::WriteFiles => !appends(false),
            Module::DeferredFiles => !appends(true),
            _ => true,
        }
    }

    /// Carries out `module`, unless it is one of commands. `content` may change what a file gets, by its path.
    pub fn apply(&self, module: Module, system: &mut System<'_>, content: &Change<'_>) -> Result<(), ApplyError> {
        match module {
            Module::Bootcmd | Module::Scripts | Module::Runcmd | Module::LateScripts => Ok(()),
            Module::WriteFiles | Module::DeferredFiles => {
                let deferred = module == Module::DeferredFiles;
                let mut files = self.write_files.iter().filter(|file| file.defer == deferred);
                files.try_for_each(|file| write_files::write(file, system, content))
            }
            Module::DiskSetup => disks::apply(&self.disks, system),
            Module::Mounts => mounts::apply(&self.mounts, system),
            Module::Hostname => host::apply(&self.host, system),
            Module::Users => users::apply(&self.users, system),
            Module::Ssh => ssh::apply(&self.ssh, self.users.default_name(system).as_deref(), system),
            Module::Passwords => passwords::apply(&self.passwords, self.users.default_name(system).as_deref(), system),
            Module::Ntp => self.ntp.as_ref().map_or(Ok(()), |ntp| ntp::apply(ntp, system)),
            Module::Timezone => self.timezone.as_ref().map_or(Ok(()), |zone| timezone::apply(zone, system)),
        }
    }
}

/// Names keys of `node` that are not among `known`.
fn warn_unknown(node: &Node, place: &str, known: &[&str], warnings: &mut Vec<String>) {
    for (key, value) in node.entries() {
        if !known.contains(&key) && !value.is_null() {
            warnings.push(format!("cloud-config {place}: {} is not carried out", sections::shown(key)));
        }
    }
}
