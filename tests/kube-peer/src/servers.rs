//! The servers' command lines.

use std::path::Path;
use std::process::Command;

/// Where they listen on loopback.
pub(crate) struct Ports {
    pub(crate) api: u16,
    pub(crate) etcd: u16,
    pub(crate) peer: u16,
    pub(crate) manager: u16,
}

/// The command of the server `name`, which logs to `NAME.log` in `dir`. With `collectors`, only those controllers.
pub(crate) fn command(name: &str, programs: &Path, dir: &Path, ports: &Ports, collectors: bool) -> Command {
    let (program, log) = (programs.join(name), dir.join(format!("{name}.log")));
    let mut command = match name {
        "etcd" => etcd(&program, ports),
        "kube-apiserver" => api_server(&program, ports),
        _ => manager(&program, ports),
    };
    if collectors && name == "kube-controller-manager" {
        command.arg("--controllers=garbage-collector-controller,namespace-controller");
    }
    command.current_dir(dir);
    logged(&command, &log)
}

/// They log to the standard error.
fn logged(command: &Command, log: &Path) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "log=$1; shift; exec \"$@\" >\"$log\" 2>&1", "sh"]).arg(log);
    shell.arg(command.get_program()).args(command.get_args());
    if let Some(dir) = command.get_current_dir() {
        shell.current_dir(dir);
    }
    shell
}

fn etcd(program: &Path, ports: &Ports) -> Command {
    let (client, peer) = (format!("http://127.0.0.1:{}", ports.etcd), format!("http://127.0.0.1:{}", ports.peer));
    let mut command = Command::new(program);
    command.args(["--name=peer", "--data-dir=etcd", "--log-level=warn"]);
    command.arg(format!("--listen-client-urls={client}")).arg(format!("--advertise-client-urls={client}"));
    command.arg(format!("--listen-peer-urls={peer}")).arg(format!("--initial-advertise-peer-urls={peer}"));
    command.arg(format!("--initial-cluster=peer={peer}"));
    command
}

fn api_server(program: &Path, ports: &Ports) -> Command {
    let mut command = Command::new(program);
    command.arg(format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd));
    command.arg(format!("--secure-port={}", ports.api));
    command.args([
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--tls-cert-file=pki/server.crt",
        "--tls-private-key-file=pki/server.key",
        "--client-ca-file=pki/ca.crt",
        "--token-auth-file=pki/tokens.csv",
        "--service-account-key-file=pki/accounts.pub",
        "--service-account-signing-key-file=pki/accounts.key",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        "--profiling=false",
    ]);
    command
}

fn manager(program: &Path, ports: &Ports) -> Command {
    let mut command = Command::new(program);
    command.arg(format!("--secure-port={}", ports.manager));
    command.args([
        "--bind-address=127.0.0.1",
        "--kubeconfig=manager.kubeconfig",
        "--authentication-kubeconfig=manager.kubeconfig",
        "--authorization-kubeconfig=manager.kubeconfig",
        "--service-account-private-key-file=pki/accounts.key",
        "--root-ca-file=pki/ca.crt",
        "--use-service-account-credentials",
        "--leader-elect=false",
        "--profiling=false",
    ]);
    command
}
