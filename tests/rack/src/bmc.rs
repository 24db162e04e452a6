//! A host's BMC: one `ipmi_sim` (OpenIPMI's lanplus simulator), whose chassis hook is this program.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::net::UdpSocket;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::spec::{BMC_ADDRESS, BMC_PASSWORD, BMC_USER};

/// It is there in a tenth of a second; a machine busy with compilers takes longer.
const STARTS: Duration = Duration::from_secs(15);

/// Between two pings while it is not there yet: it has no other way to tell.
const PING_AGAIN: Duration = Duration::from_millis(30);

/// ASF presence ping (DMTF DSP0136 §3.2.4.2) in an RMCP header; every IPMI BMC answers it.
const PRESENCE_PING: [u8; 12] = [0x06, 0x00, 0xff, 0x06, 0x00, 0x00, 0x11, 0xbe, 0x80, 0x00, 0x00, 0x00];

/// One controller at the usual address, without sensors.
const EMULATOR: &str = "\
mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
sel_enable 0x20 1000 0x0a
mc_enable 0x20
";

/// A BMC to start, at 127.0.0.1, for the user [`BMC_USER`] with [`BMC_PASSWORD`].
#[derive(Debug, Clone, Copy)]
pub struct IpmiSim<'a> {
    /// Whose it is, for people.
    pub name: &'a str,
    /// UDP port.
    pub port: u16,
    /// The system's GUID, 32 hexadecimal digits.
    pub guid: &'a str,
    /// Where its files are put.
    pub dir: &'a Path,
    /// The chassis program with its arguments.
    pub hook: &'a str,
}

impl IpmiSim<'_> {
    /// Starts it and waits until it answers. It ends when the process is dropped.
    ///
    /// # Errors
    /// When there is no `ipmi_sim`, it ends at once, or it does not answer in time.
    pub async fn start(&self) -> Result<Child> {
        let Self { name, port, dir, .. } = *self;
        let (lan, emulator, state) = (dir.join("lan.conf"), dir.join("sim.emu"), dir.join("bmc"));
        fs::write(&lan, self.lan_conf())?;
        fs::write(&emulator, EMULATOR)?;
        fs::create_dir_all(&state)?;
        let log = File::create(dir.join("bmc.log"))?;
        let mut child = Command::new("ipmi_sim")
            .arg("-c")
            .arg(&lan)
            .arg("-f")
            .arg(&emulator)
            .arg("-s")
            .arg(&state)
            .arg("-n")
            .stdin(std::process::Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .context("cannot run ipmi_sim: install openipmi")?;
        let answered = timeout(STARTS, answers(port)).await.is_ok_and(|answer| answer.is_ok());
        if let Some(status) = child.try_wait()? {
            let said = fs::read_to_string(dir.join("bmc.log")).unwrap_or_default();
            anyhow::bail!("the BMC of {name} ended at once ({status}): {}", said.trim());
        }
        ensure!(answered, "the BMC of {name} did not answer at {BMC_ADDRESS}:{} in {STARTS:?}", port);
        Ok(child)
    }

    fn lan_conf(&self) -> String {
        let Self { name, port, guid, hook, .. } = self;
        format!(
            r#"name "{name}"
set_working_mc 0x20
  startlan 1
    addr {BMC_ADDRESS} {port}
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid {guid}
  endlan
  chassis_control "{hook}"
  user 1 true "" "unused" user 10 none md2 md5 straight
  user 2 true "{BMC_USER}" "{BMC_PASSWORD}" admin 10 none md2 md5 straight
"#
        )
    }
}

async fn answers(port: u16) -> Result<()> {
    let socket = UdpSocket::bind((BMC_ADDRESS, 0)).await?;
    socket.connect((BMC_ADDRESS, port)).await?;
    let mut answer = [0; 64];
    loop {
        // refused while nothing listens
        if socket.send(&PRESENCE_PING).await.is_ok()
            && let Ok(Ok(_)) = timeout(PING_AGAIN, socket.recv(&mut answer)).await
        {
            return Ok(());
        }
        tokio::time::sleep(PING_AGAIN).await;
    }
}
