//! A server's power switch over HTTP on loopback, for BMCs that are programs of their own; and the image of a CD, for
//! those that fetch it.

use std::net::SocketAddr;

use anyhow::Result;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post, put};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::machine::{Boot, Machine};

/// A running listener, which ends with this.
#[derive(Debug)]
pub struct Switch {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Switch {
    /// Listens for BMCs of `machine`.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn start(machine: &Machine) -> Result<Self> {
        let routes = Router::new()
            .route("/chassis/{name}", get(read))
            .route("/chassis/{name}/{value}", post(write))
            .route("/sushy", put(sushy))
            .route("/boot.iso", get(|| async { Machine::cd() }))
            .with_state(machine.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let serving = tokio::spawn(async move {
            // it ends with the test
            axum::serve(listener, routes).await.ok();
        });
        Ok(Self { address, serving })
    }

    /// Where it listens, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where a BMC fetches a CD that boots.
    #[must_use]
    pub fn cd_url(&self) -> String {
        format!("{}/boot.iso", self.url())
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The names and values are those of `ipmi_sim`'s chassis programs (OpenIPMI, `ipmi_sim_cmd(5)`).
async fn read(State(machine): State<Machine>, Path(name): Path<String>) -> String {
    let value = match (name.as_str(), machine.boots_from()) {
        ("power", _) if machine.is_on() => "1",
        ("boot", Boot::Pxe) => "pxe",
        ("boot", Boot::Cd) => "cdrom",
        ("boot", Boot::Disk) => "default",
        _ => "0",
    };
    value.to_owned()
}

async fn write(
    State(machine): State<Machine>,
    Path(words): Path<(String, String)>,
) -> Result<(), (StatusCode, String)> {
    let done = match (words.0.as_str(), words.1.as_str()) {
        ("power", "1") => machine.switch_on(),
        ("power", _) => {
            machine.switch_off();
            Ok(())
        }
        ("reset", _) => machine.reset(),
        // a system that is asked to shut down and does not: ours only halts
        ("shutdown", _) => Ok(()),
        ("boot", device) => {
            machine.boot_from(match device {
                "pxe" | "network" => Boot::Pxe,
                "cdrom" | "optical" => Boot::Cd,
                _ => Boot::Disk,
            });
            Ok(())
        }
        _ => return Err((StatusCode::NOT_FOUND, format!("no {} to set", words.0))),
    };
    done.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")))
}

/// What sushy-tools' fake driver sends after each change: the whole system.
async fn sushy(State(machine): State<Machine>, body: String) -> Result<(), (StatusCode, String)> {
    let system: Value = serde_json::from_str(&body).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    let text = |pointer: &str| system.pointer(pointer).and_then(Value::as_str);
    machine.insert(text("/boot_image/Cd/0").map(std::path::Path::new));
    machine.boot_from(match text("/boot_device") {
        Some("Pxe") => Boot::Pxe,
        Some("Cd") => Boot::Cd,
        _ => Boot::Disk,
    });
    if text("/power_state") == Some("On") {
        machine.switch_on().map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")))
    } else {
        machine.switch_off();
        Ok(())
    }
}
