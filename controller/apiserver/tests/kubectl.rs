//! The real `kubectl` over HTTPS. Set `BESSEMER_KUBECTL` to try another one than the one in PATH.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use bessemer_apiserver::ApiServer;

struct Kubectl<'a> {
    program: String,
    home: &'a Path,
    kubeconfig: &'a Path,
}

impl Kubectl<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--cache-dir", self.home.join("cache").to_str().unwrap(), "--request-timeout=30s"]);
        command.args(arguments).env("KUBECONFIG", self.kubeconfig).env("HOME", self.home);
        command
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        use std::io::Write as _;
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    #[track_caller]
    fn ok(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run(arguments, input);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        show(arguments, &format!("{out}{err}"));
        assert!(output.status.success(), "kubectl {arguments:?}: {out}{err}");
        out.into_owned()
    }

    #[track_caller]
    fn fails(&self, arguments: &[&str], input: &str, with: &str) {
        let output = self.run(arguments, input);
        let err = String::from_utf8_lossy(&output.stderr);
        show(arguments, &err);
        assert!(!output.status.success() && err.contains(with), "kubectl {arguments:?}: {err}");
    }
}

fn show(arguments: &[&str], output: &str) {
    let shown = arguments.iter().map(|a| if a.starts_with("--token") { "--token=…" } else { a });
    println!("$ kubectl {}\n{output}", shown.collect::<Vec<_>>().join(" "));
}

fn find_kubectl() -> Option<String> {
    let program = std::env::var("BESSEMER_KUBECTL").unwrap_or_else(|_| "kubectl".to_owned());
    let works = Command::new(&program).args(["version", "--client"]).output().is_ok_and(|o| o.status.success());
    works.then_some(program)
}

const OBJECTS: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: lab}
---
apiVersion: v1
kind: Secret
metadata: {name: bmc, namespace: lab}
stringData: {username: admin}
---
apiVersion: test.example/v1
kind: Widget
metadata: {name: one, namespace: lab, labels: {rack: r1}}
spec: {size: 3}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stock_kubectl_works() {
    with_kubectl("stock_kubectl_works", script).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn built_in_kinds_are_created_in_protobuf_and_roles_decide() {
    with_kubectl("built_in_kinds_are_created_in_protobuf_and_roles_decide", built_in_kinds).await;
}

/// Starts a server over HTTPS and runs a script against it.
async fn with_kubectl(test: &str, script: fn(&Kubectl<'_>)) {
    let Some(program) = find_kubectl() else {
        println!("SKIP {test}: no kubectl in PATH and BESSEMER_KUBECTL is not set");
        return;
    };
    let dir = tempfile::TempDir::new().unwrap();
    let api = ApiServer::open(&dir.path().join("state")).await.unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = api
        .serve_https("127.0.0.1:0".parse().unwrap(), &[], async {
            let _ = stopped.await;
        })
        .await
        .unwrap();
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&serving.kubeconfig_path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);

    let (home, kubeconfig) = (dir.path().to_owned(), serving.kubeconfig_path.clone());
    let script = tokio::task::spawn_blocking(move || {
        let kubectl = Kubectl { program, home: &home, kubeconfig: &kubeconfig };
        script(&kubectl);
    });
    tokio::time::timeout(Duration::from_secs(240), script).await.expect("kubectl took too long").unwrap();

    stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(10), serving.finished()).await.expect("the listener did not stop");
}

fn built_in_kinds(kubectl: &Kubectl<'_>) {
    for (arguments, wanted) in [
        ("create namespace lab", "namespace/lab created"),
        ("create configmap c -n lab --from-literal=a=b", "configmap/c created"),
        ("create secret generic s -n lab --from-literal=a=b", "secret/s created"),
        ("create serviceaccount robot -n lab", "serviceaccount/robot created"),
        (
            "create role reader -n lab --verb=get,list --resource=configmaps",
            "role.rbac.authorization.k8s.io/reader created",
        ),
        ("create rolebinding rb -n lab --role=reader --user=bob", "rolebinding.rbac.authorization.k8s.io/rb created"),
        ("create clusterrole cr --verb=get --resource=namespaces", "clusterrole.rbac.authorization.k8s.io/cr created"),
        (
            "create clusterrolebinding crb --clusterrole=view --serviceaccount=lab:robot",
            "clusterrolebinding.rbac.authorization.k8s.io/crb created",
        ),
    ] {
        let out = kubectl.ok(&arguments.split(' ').collect::<Vec<_>>(), "");
        assert_eq!(out.trim(), wanted);
    }
    assert_eq!(kubectl.ok(&["get", "secret", "s", "-n", "lab", "-o", "jsonpath={.data.a}"], ""), "Yg==");
    let bound = kubectl.ok(&["get", "clusterrolebinding", "crb", "-o", "wide"], "");
    assert!(bound.contains("ClusterRole/view") && bound.contains("lab/robot"), "{bound}");

    let can = |arguments: &str| {
        let arguments: Vec<&str> = ["auth", "can-i"].into_iter().chain(arguments.split(' ')).collect();
        String::from_utf8_lossy(&kubectl.run(&arguments, "").stdout).trim().to_owned()
    };
    for (question, answer) in [
        ("delete secrets", "yes"),
        ("get configmaps -n lab --as bob", "yes"),
        ("get configmaps -n default --as bob", "no"),
        ("delete configmaps -n lab --as bob", "no"),
        ("get configmaps --as system:serviceaccount:lab:robot", "yes"),
        ("get secrets --as system:serviceaccount:lab:robot", "no"),
        ("get /version --as bob", "yes"),
        ("get /metrics --as bob", "no"),
    ] {
        assert_eq!(can(question), answer, "{question}");
    }
    kubectl.fails(
        &["get", "secrets", "-n", "lab", "--as", "bob"],
        "",
        "secrets is forbidden: User \"bob\" cannot list resource \"secrets\" in API group \"\" in the namespace \"lab\"",
    );
    let who = kubectl.ok(&["auth", "whoami"], "");
    assert!(who.contains("bessemer-admin") && who.contains("system:masters"), "{who}");
    assert!(kubectl.ok(&["auth", "can-i", "--list", "-n", "lab", "--as", "bob"], "").contains("configmaps"));
    assert!(kubectl.ok(&["get", "clusterrole", "view", "-o", "yaml"], "").contains("- configmaps"));

    kubectl.ok(&["wait", "--for=create", "cm/kube-root-ca.crt", "sa/default", "-n", "lab", "--timeout=20s"], "");
    kubectl.ok(&["delete", "configmap", "c", "-n", "lab", "--cascade=foreground", "--timeout=20s"], "");
    kubectl.ok(&["delete", "secret", "s", "-n", "lab", "--cascade=orphan", "--timeout=20s"], "");
    kubectl.ok(&["delete", "ns", "lab", "--timeout=20s"], "");
    assert!(kubectl.ok(&["get", "--raw", "/readyz?verbose"], "").ends_with("readyz check passed\n"));
    assert!(kubectl.ok(&["get", "--raw", "/metrics"], "").contains("apiserver_request_total{"));
}

fn script(kubectl: &Kubectl<'_>) {
    kubectl.ok(&["version"], "");
    kubectl.ok(&["get", "--raw", "/readyz"], "");
    kubectl.ok(&["apply", "-f", "-"], &common::widgets().to_string());
    kubectl.ok(&["wait", "--for=condition=Established", "crd/widgets.test.example", "--timeout=20s"], "");
    assert!(kubectl.ok(&["api-resources"], "").contains("wd"));
    kubectl.ok(&["apply", "-f", "-"], OBJECTS);
    assert!(kubectl.ok(&["apply", "-f", "-"], OBJECTS).contains("widget.test.example/one unchanged"));

    let table = kubectl.ok(&["get", "wd", "-A"], "");
    assert_eq!(
        table.lines().next().unwrap().split_whitespace().collect::<Vec<_>>(),
        ["NAMESPACE", "NAME", "MODE", "READY", "AGE"]
    );
    let wide = kubectl.ok(&["get", "wd", "-n", "lab", "-o", "wide"], "");
    assert!(wide.contains("SIZE") && wide.contains("one"));
    kubectl.ok(&["get", "secrets,widgets,ns,cm,leases,events", "-A"], "");
    assert!(
        kubectl
            .ok(&["get", "widgets", "-n", "lab", "-l", "rack=r1", "-o", "name"], "")
            .contains("widget.test.example/one")
    );
    assert!(kubectl.ok(&["get", "wd", "one", "-n", "lab", "-o", "yaml"], "").contains("mode: UEFI"));
    let data = kubectl.ok(&["get", "secret", "bmc", "-n", "lab", "-o", "jsonpath={.data.username}"], "");
    assert_eq!(data, "YWRtaW4=");

    kubectl.ok(&["patch", "wd", "one", "-n", "lab", "--type=merge", "-p", "{\"spec\":{\"size\":5}}"], "");
    kubectl.ok(&["label", "wd", "one", "-n", "lab", "checked=yes"], "");
    let changed = OBJECTS.replace("size: 3", "size: 7").replace("admin", "root");
    assert!(kubectl.ok(&["apply", "-f", "-"], &changed).contains("widget.test.example/one configured"));
    let status = "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}";
    kubectl.ok(&["patch", "wd", "one", "-n", "lab", "--subresource=status", "--type=merge", "-p", status], "");
    kubectl.ok(&["wait", "--for=condition=Ready", "wd/one", "-n", "lab", "--timeout=20s"], "");
    assert!(kubectl.ok(&["get", "wd", "-n", "lab"], "").contains("True"));
    kubectl.ok(&["describe", "wd", "one", "-n", "lab"], "");
    let two = OBJECTS.replace("name: one", "name: two").split("---").last().unwrap().to_owned();
    kubectl.ok(&["create", "-f", "-"], &two);

    let bad = two.replace("size: 3", "size: 30, mode: odd").replace("name: two", "name: three");
    kubectl.fails(&["create", "-f", "-"], &bad, "spec.mode: Unsupported value: \"odd\"");
    let unknown = two.replace("size: 3", "size: 3, sise: 3").replace("name: two", "name: three");
    kubectl.fails(&["apply", "-f", "-"], &unknown, "unknown field \"spec.sise\"");
    kubectl.fails(&["create", "-f", "-"], &two, "AlreadyExists");
    kubectl.fails(&["get", "wd", "none", "-n", "lab"], "", "widgets.test.example \"none\" not found");

    watch(kubectl);

    kubectl.ok(&["delete", "wd", "one", "-n", "lab", "--timeout=20s"], "");
    kubectl.ok(&["wait", "--for=delete", "wd/one", "-n", "lab", "--timeout=20s"], "");
    kubectl.ok(&["delete", "wd", "-n", "lab", "--all", "--timeout=20s"], "");
    kubectl.ok(&["delete", "ns", "lab", "--timeout=20s"], "");
    assert!(kubectl.ok(&["get", "secrets", "-A"], "").is_empty());

    let token = std::fs::read_to_string(kubectl.kubeconfig.with_file_name("admin.token")).unwrap();
    let (server, authority) = (
        kubectl.ok(&["config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"], ""),
        kubectl.kubeconfig.with_file_name("pki").join("ca.crt"),
    );
    let bare = Kubectl { program: kubectl.program.clone(), home: kubectl.home, kubeconfig: Path::new("/dev/null") };
    let with = |token: &str| {
        vec![
            format!("--server={server}"),
            format!("--certificate-authority={}", authority.display()),
            format!("--token={token}"),
            "get".into(),
            "ns".into(),
        ]
    };
    let (good, bad) = (with(&token), with("wrong"));
    assert!(bare.ok(&good.iter().map(String::as_str).collect::<Vec<_>>(), "").contains("kube-system"));
    bare.fails(&bad.iter().map(String::as_str).collect::<Vec<_>>(), "", "Unauthorized");
}

/// `get -w` prints a line per change.
fn watch(kubectl: &Kubectl<'_>) {
    use std::io::BufRead as _;
    let mut child = kubectl.command(&["get", "wd", "-n", "lab", "-w"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let first: Vec<String> = lines.by_ref().take(3).collect();
    assert!(first.iter().any(|line| line.starts_with("two")), "{first:?}");
    kubectl.ok(&["patch", "wd", "two", "-n", "lab", "--type=merge", "-p", "{\"spec\":{\"mode\":\"legacy\"}}"], "");
    let next = lines.next().unwrap();
    println!("get -w: {next}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(next.starts_with("two") && next.contains("legacy"), "{next}");
}
