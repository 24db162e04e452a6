//! What changes on a host that works: its addresses, by the kernel's own notices, and its kubelet's health. Nothing is asked for more often than
//! the stream would say something anyway.

use std::path::Path;
use std::time::Duration;

use bessemer_protocol::{HEARTBEAT_SECONDS, Kubelet, NodePhase};
use futures::StreamExt;
use rtnetlink::MulticastGroup;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tracing::warn;

use super::{Reporter, addresses};
use crate::files;

/// Notices come in bursts; the addresses are read once they are over.
const SETTLE: Duration = Duration::from_millis(300);

/// How often a host is looked at whose kernel gives no notices.
const PERIOD: Duration = Duration::from_secs(60);

/// How often the kubelet is asked.
const HEALTH_PERIOD: Duration = Duration::from_secs(HEARTBEAT_SECONDS);

/// How long it may take to answer.
const HEALTH_DEADLINE: Duration = Duration::from_secs(5);

/// Where the kubelet tells its health, unless it is told otherwise.
const HEALTH_PORT: u16 = 10_248;

/// The id that Linux gives each of its boots.
pub(super) fn boot_id() -> Option<String> {
    files::line("/proc/sys/kernel/random/boot_id")
}

/// Reports each change of the host's addresses.
pub(super) async fn addresses(hostname: String, reporter: Reporter) {
    let groups = [MulticastGroup::Ipv4Ifaddr, MulticastGroup::Ipv6Ifaddr, MulticastGroup::Ipv4Route];
    let mut notices = match rtnetlink::new_multicast_connection(&groups) {
        Ok((connection, _, notices)) => {
            tokio::spawn(connection);
            Some(notices)
        }
        Err(error) => {
            warn!("netlink gives no notices ({error}): addresses are read every {} s", PERIOD.as_secs());
            None
        }
    };
    loop {
        match notices.as_mut() {
            Some(channel) => {
                if channel.next().await.is_none() {
                    notices = None;
                    continue;
                }
                while let Ok(Some(_)) = tokio::time::timeout(SETTLE, channel.next()).await {}
            }
            None => tokio::time::sleep(PERIOD).await,
        }
        let addresses = addresses::read(&hostname).await;
        reporter.send_if_modified(|report| {
            let changed = report.addresses != addresses;
            if changed {
                report.addresses = addresses;
            }
            changed
        });
    }
}

/// Reports each change of the kubelet's health, once there is a kubelet to ask.
pub(super) async fn kubelet(reporter: Reporter) {
    let mut phases = reporter.subscribe();
    if phases.wait_for(|report| report.phase == NodePhase::Done).await.is_err() {
        return;
    }
    drop(phases);
    let mut tick = tokio::time::interval(HEALTH_PERIOD);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if !Path::new("/var/lib/kubelet/config.yaml").exists() {
            continue;
        }
        let health = Some(health(HEALTH_PORT).await);
        reporter.send_if_modified(|report| {
            let changed = report.kubelet != health;
            if changed {
                report.kubelet = health;
            }
            changed
        });
    }
}

async fn health(port: u16) -> Kubelet {
    let said = match tokio::time::timeout(HEALTH_DEADLINE, ask(port)).await {
        Ok(Ok(said)) => said,
        Ok(Err(error)) => format!("does not answer: {error}"),
        Err(_) => format!("does not answer within {} s", HEALTH_DEADLINE.as_secs()),
    };
    if said == "ok" {
        Kubelet { healthy: true, message: String::new() }
    } else {
        Kubelet { healthy: false, message: said.chars().filter(|c| !c.is_control()).take(200).collect() }
    }
}

/// The body of the answer, or its status when that is an error.
async fn ask(port: u16) -> std::io::Result<String> {
    const LARGEST: u64 = 4096;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").await?;
    let mut answer = Vec::new();
    stream.take(LARGEST).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.lines().next().unwrap_or_default();
    let good = status.split_whitespace().nth(1) == Some("200");
    Ok(if good { body.trim().to_owned() } else { format!("{status}: {}", body.trim()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn health_is_what_the_kubelet_says_of_itself() {
        for (answer, healthy) in [
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", true),
            ("HTTP/1.0 500 Internal Server Error\r\n\r\n[-]syncloop failed", false),
            ("nonsense", false),
        ] {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let server = tokio::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut asked = Vec::new();
                while !asked.ends_with(b"\r\n\r\n") {
                    asked.push(stream.read_u8().await.unwrap());
                }
                stream.write_all(answer.as_bytes()).await.unwrap();
            });
            let found = health(port).await;
            server.await.unwrap();
            assert_eq!(found.healthy, healthy, "{found:?}");
            assert!(healthy == found.message.is_empty());
        }
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        assert!(health(nobody).await.message.contains("does not answer"));
    }
}
