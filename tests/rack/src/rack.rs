//! The rack as its owner holds it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::helper::HELPER;
use crate::machine::HostState;
use crate::place::{self, Place};
use crate::process::{self, Process};
use crate::protocol::{Answer, Hosts, Request, ask, connect};
use crate::spec::{BMC_ADDRESS, BMC_PASSWORD, BMC_USER, Slot, Spec};
use crate::{follow, qemu};

/// Network, disks and BMCs take a second; a busy machine takes longer.
const STARTS: Duration = Duration::from_secs(60);

/// Ending everything takes less than a second.
const ENDS: Duration = Duration::from_secs(30);

/// A running rack. Dropping it ends everything that was started in it, as does the end of this process.
#[derive(Debug)]
pub struct Rack {
    place: Place,
    spec: Spec,
    keeper: Child,
    /// Held open; its closing tells the keeper to end.
    lifeline: Option<ChildStdin>,
    namespace_numbers: (u64, u64),
}

impl Rack {
    /// Ends and removes what a killed run left of the rack `id`; says what, if there was anything.
    ///
    /// # Errors
    /// When that rack is in use, or something cannot be ended.
    pub fn sweep(id: &str) -> Result<Option<String>> {
        Place::of_rack(id)?.sweep()
    }

    /// Sweeps every rack that is not in use. Says what was found, one line each.
    ///
    /// # Errors
    /// When something cannot be ended.
    pub fn sweep_all() -> Result<Vec<String>> {
        let unused = |id: &&String| Place::of_rack(id).is_ok_and(|place| !place.holders().owner_lives());
        place::known().iter().filter(unused).filter_map(|id| Self::sweep(id).transpose()).collect()
    }

    /// Ends every rack that was left running with [`Rack::keep`] or by a killed run. Says what was found, and which
    /// racks were let be because they are in use.
    #[must_use]
    pub fn down_all() -> Vec<String> {
        let down = |id: String| match Self::sweep(&id) {
            Ok(swept) => swept,
            Err(error) => Some(format!("{error:#}")),
        };
        place::known().into_iter().filter_map(down).collect()
    }

    /// Starts a rack with this very program as its helper; see [`crate::helper`].
    ///
    /// # Errors
    /// When the rack is in use, or its network, disks or BMCs cannot be had; nothing is left then.
    pub fn start(spec: &Spec) -> Result<Self> {
        Self::start_with(spec, Path::new("/proc/self/exe"))
    }

    /// Starts a rack with another program as its helper.
    ///
    /// # Errors
    /// As [`Rack::start`].
    pub fn start_with(spec: &Spec, helper: &Path) -> Result<Self> {
        let place = Place::of_rack(&spec.id)?;
        place.sweep()?;
        place.claim()?;
        fs::copy(helper, place.helper()).with_context(|| format!("cannot copy {}", helper.display()))?;
        fs::write(place.spec(), serde_json::to_vec(spec)?)?;
        let started = place.namespace.create().and_then(|()| Self::start_keeper(&place, spec));
        if started.is_err() {
            // the first error is the one to tell
            place.clear().ok();
        }
        started
    }

    fn start_keeper(place: &Place, spec: &Spec) -> Result<Self> {
        let mut keeper = place
            .namespace
            .command(place.helper())
            .args([HELPER, "keeper", &spec.id])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(place.keeper_log())?)
            // not of the terminal's group: Ctrl-C ends the owner, whose end the keeper sees
            .process_group(0)
            .spawn()
            .context("cannot run nsenter: install util-linux")?;
        let lifeline = keeper.stdin.take();
        let first_line = keeper.stdout.take().map(|stdout| first_line(stdout, STARTS)).transpose();
        let namespace_numbers = place.namespace.numbers();
        let mut rack =
            Self { place: place.clone(), spec: spec.clone(), keeper, lifeline, namespace_numbers: namespace_numbers? };
        match first_line?.as_deref() {
            Some("ready") => Ok(rack),
            Some(line) => {
                let said = line.strip_prefix("error: ").unwrap_or(line).to_owned();
                let log = fs::read_to_string(place.keeper_log()).unwrap_or_default();
                rack.end().ok();
                bail!("the rack did not start: {} {}", said, log.lines().last().unwrap_or_default())
            }
            None => bail!("the rack's keeper said nothing"),
        }
    }

    /// The rack's folder: a folder per host, the keeper's log, and room for what runs in the rack. It is removed with
    /// the rack.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.place.dir()
    }

    /// What the keeper did and why.
    #[must_use]
    pub fn keeper_log(&self) -> String {
        fs::read_to_string(self.place.keeper_log()).unwrap_or_default()
    }

    /// A command that will run in the rack's namespace. What it starts ends with the rack at the latest.
    #[must_use]
    pub fn exec(&self, program: impl AsRef<OsStr>) -> Command {
        self.place.namespace.command(program)
    }

    /// The host of that name.
    ///
    /// # Errors
    /// When there is none.
    pub fn host(&self, name: &str) -> Result<Host> {
        let known = self.spec.hosts.iter().zip((1..).map(Slot)).find(|(host, _)| host.name == name);
        let (host, slot) = known.with_context(|| format!("no host {name} in rack {}", self.spec.id))?;
        Ok(Host { name: host.name.clone(), slot, socket: self.place.socket(), dir: self.place.host(name) })
    }

    /// All hosts.
    #[must_use]
    pub fn hosts(&self) -> Vec<Host> {
        self.spec.hosts.iter().filter_map(|host| self.host(&host.name).ok()).collect()
    }

    /// Every log there is, by a name that tells them apart.
    #[must_use]
    pub fn logs(&self) -> Vec<(String, PathBuf)> {
        let hosts = self.spec.hosts.iter().map(|host| (format!("{}-", host.name), self.place.host(&host.name)));
        let folders = hosts.chain([(String::new(), self.place.dir().to_owned())]);
        let files = folders.flat_map(|(prefix, folder)| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(move |entry| (format!("{prefix}{}", entry.file_name().to_string_lossy()), entry.path()))
        });
        files.filter(|(name, _)| name.ends_with(".log")).collect()
    }

    /// The hosts' states, now and after each change.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn watch(&self) -> Result<Watch> {
        watch(&self.place.socket())
    }

    /// Leaves the rack running when this process ends; the next start of the same rack ends it.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn keep(mut self) -> Result<()> {
        ask(&self.place.socket(), &Request::Keep)?;
        drop(self.lifeline.take());
        std::mem::forget(self);
        Ok(())
    }

    /// Ends everything and checks that it is gone: processes, namespace, files.
    ///
    /// # Errors
    /// What is still there.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if self.lifeline.take().is_none() {
            return Ok(());
        }
        if let Some(keeper) = Process::of(self.keeper.id())
            && !keeper.wait_gone(ENDS)
        {
            self.keeper.kill()?;
        }
        let status = self.keeper.wait()?;
        // what the keeper could not do, or did not live to do
        self.place.clear()?;
        let (device, inode) = self.namespace_numbers;
        let left = process::in_namespace(device, inode);
        ensure!(left.is_empty(), "{} processes of the rack are still there", left.len());
        ensure!(status.success(), "the rack's keeper ended badly: {status}");
        Ok(())
    }
}

impl Drop for Rack {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("rack {}: {error:#}", self.spec.id);
        }
    }
}

/// One server of a rack.
#[derive(Debug, Clone)]
pub struct Host {
    name: String,
    slot: Slot,
    socket: PathBuf,
    dir: PathBuf,
}

impl Host {
    /// Its name in the rack.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// MAC address of its one network card, lower case with colons.
    #[must_use]
    pub fn mac(&self) -> String {
        self.slot.mac()
    }

    /// Its disk, a raw image.
    #[must_use]
    pub fn disk(&self) -> PathBuf {
        qemu::disk(&self.dir)
    }

    /// SMBIOS UUID, lower case.
    #[must_use]
    pub fn uuid(&self) -> String {
        self.slot.uuid()
    }

    /// SMBIOS serial number.
    #[must_use]
    pub fn serial_number(&self) -> String {
        self.slot.serial()
    }

    /// Where its BMC is, for programs in the namespace, as in `spec.bmc.address` of a BareMetalHost.
    #[must_use]
    pub fn bmc_address(&self) -> String {
        format!("ipmi://{BMC_ADDRESS}:{}", self.slot.bmc_port())
    }

    /// The UDP port of its BMC.
    #[must_use]
    pub fn bmc_port(&self) -> u16 {
        self.slot.bmc_port()
    }

    /// The BMC's user name.
    #[must_use]
    pub fn bmc_user(&self) -> &'static str {
        BMC_USER
    }

    /// The BMC's password, which opens nothing outside this rack.
    #[must_use]
    pub fn bmc_password(&self) -> &'static str {
        BMC_PASSWORD
    }

    /// What is seen from outside, now.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn state(&self) -> Result<HostState> {
        self.wait_for("anything", Duration::from_secs(10), |_| true)
    }

    /// Turns it on as somebody in front of it does who wants it to boot from the network once: without its BMC.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn boot_from_network(&self) -> Result<()> {
        let words = ["set", "boot", "pxe", "power", "1"].map(str::to_owned).to_vec();
        ask(&self.socket, &Request::Chassis { host: self.name.clone(), words }).map(drop)
    }

    /// Cuts the power in the middle of whatever it does. Nothing turns it on again but its BMC.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn cut_power(&self) -> Result<()> {
        ask(&self.socket, &Request::Cut { host: self.name.clone() }).map(drop)
    }

    /// Waits until its state is as wanted (`what` says so in the error), and gives that state.
    ///
    /// # Errors
    /// When that does not come `within` the time given.
    pub fn wait_for(&self, what: &str, within: Duration, wanted: impl Fn(&HostState) -> bool) -> Result<HostState> {
        let mut watch = watch(&self.socket)?;
        let deadline = Instant::now() + within;
        let mut last = None;
        while let Some(mut hosts) = watch.next(deadline.saturating_duration_since(Instant::now()))? {
            match hosts.remove(&self.name) {
                Some(state) if wanted(&state) => return Ok(state),
                state => last = state,
            }
        }
        bail!("host {}: not {what} in {} s; it is {last:?}", self.name, within.as_secs())
    }

    /// Everything its serial console has shown, through all starts.
    ///
    /// # Errors
    /// When the rack is gone.
    pub fn serial_log(&self) -> Result<String> {
        follow::read_lossy(&qemu::serial_log(&self.dir))
    }

    /// The last `lines` of it, without control sequences; empty if there is none.
    #[must_use]
    pub fn serial_tail(&self, lines: usize) -> String {
        self.serial_log().map(|text| follow::tail(&text, lines)).unwrap_or_default()
    }

    /// Waits until the console has shown `text`.
    ///
    /// # Errors
    /// When it does not `within` the time given, with the console's end.
    pub fn wait_serial(&self, text: &str, within: Duration) -> Result<()> {
        follow::wait_for_text(&qemu::serial_log(&self.dir), text, within, None)
            .with_context(|| format!("host {}", self.name))
    }
}

/// A stream of the hosts' states.
#[derive(Debug)]
pub struct Watch {
    stream: BufReader<UnixStream>,
}

fn watch(socket: &Path) -> Result<Watch> {
    connect(socket, &Request::Watch).map(|stream| Watch { stream })
}

impl Watch {
    /// The first time the states now, then the states after the next change; `None` if there is none `within`.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn next(&mut self, within: Duration) -> Result<Option<Hosts>> {
        if within.is_zero() {
            return Ok(None);
        }
        self.stream.get_ref().set_read_timeout(Some(within))?;
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => bail!("the rack's keeper is gone"),
            Ok(_) => match serde_json::from_str(&line)? {
                Answer::Hosts(hosts) => Ok(Some(hosts)),
                answer => bail!("the rack's keeper answered {answer:?}"),
            },
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error).context("the rack's keeper"),
        }
    }
}

/// The first line of a child's output.
fn first_line(mut stdout: impl Read + std::os::fd::AsFd, within: Duration) -> Result<String> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let timeout = Timespec { tv_sec: within.as_secs().cast_signed(), tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(&stdout, PollFlags::IN)], Some(&timeout))?;
    ensure!(ready > 0, "the rack was not ready in {} s", within.as_secs());
    let mut line = String::new();
    BufReader::new(&mut stdout).read_line(&mut line)?;
    Ok(line.trim().to_owned())
}
