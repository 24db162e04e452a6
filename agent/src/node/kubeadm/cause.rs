//! Why kubeadm failed, in one sentence: by what is known of its output, else by its own last words. Each row of the table was taken from an output of
//! kubeadm 1.36; texts are matched by parts that have been the same for years.

use super::config::Config;

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::node) struct Cause {
    /// kubeadm's phase, when it names one.
    pub(in crate::node) phase: Option<String>,
    /// One sentence.
    pub(in crate::node) sentence: String,
    /// Whether the kubelet knows more.
    pub(in crate::node) of_kubelet: bool,
}

/// Longest sentence made of kubeadm's own words, in characters.
const LONGEST: usize = 360;

/// A cause that is known by words in the output.
struct Known {
    /// All of them in one line.
    marks: &'static [&'static str],
    /// `{endpoint}` is the cluster's, `{it}` what the line has in quotation marks after the first mark, `{rest}` what follows that mark.
    sentence: &'static str,
    of_kubelet: bool,
}

const fn known(marks: &'static [&'static str], sentence: &'static str) -> Known {
    Known { marks, sentence, of_kubelet: false }
}

const fn kubelet(marks: &'static [&'static str], sentence: &'static str) -> Known {
    Known { marks, sentence, of_kubelet: true }
}

/// The first that fits counts: what is particular comes before what is general.
const KNOWN: &[Known] = &[
    known(
        &["no space left on device"],
        "a disk is full (no space left on device): make room or deploy to a larger disk",
    ),
    known(
        &["could not find a JWS signature in the cluster-info ConfigMap for token ID"],
        "the cluster at {endpoint} does not know the bootstrap token {it}: it has expired, or is of another cluster; a Machine that is made anew gets a new one",
    ),
    known(
        &["are pinned", "none of the public keys"],
        "the CA of the cluster at {endpoint} is not one of caCertHashes: another cluster answers there, or its CA was replaced",
    ),
    known(
        &["certificate has expired or is not yet valid"],
        "a certificate is not valid at this host's time: {rest}; compare the clocks of this host and of {endpoint}",
    ),
    known(
        &["x509: certificate signed by unknown authority"],
        "{endpoint} shows a certificate of a CA that this cluster does not have: another cluster answers there",
    ),
    known(
        &["cluster-info", "no such host"],
        "{endpoint} cannot be reached, as its name does not resolve (no such host): check controlPlaneEndpoint and the host's DNS",
    ),
    known(
        &["cluster-info", "connection refused"],
        "{endpoint} cannot be reached (connection refused): no API server listens there; has the first control plane come up, and does the load balancer know it?",
    ),
    known(
        &["cluster-info", "no route to host"],
        "{endpoint} cannot be reached (no route to host): check controlPlaneEndpoint, the virtual IP or load balancer behind it, and this host's network",
    ),
    known(
        &["cluster-info", "i/o timeout"],
        "{endpoint} cannot be reached (no answer): check controlPlaneEndpoint, firewalls, and this host's network",
    ),
    known(
        &["cluster-info", "context deadline exceeded"],
        "{endpoint} cannot be reached (no answer in time): check controlPlaneEndpoint, firewalls, and this host's network",
    ),
    known(
        &["this version of kubeadm only supports deploying clusters with the control plane version"],
        "the wanted Kubernetes does not go with this image's kubeadm: only versions{rest}",
    ),
    known(
        &["a Node with name", "already exists in the cluster"],
        "a Node of the name {it} is in the cluster already: delete it if that host is gone, or give this one another name",
    ),
    known(&["[ERROR ImagePull]"], "a container image cannot be had{rest}"),
    known(&["failed to pull image"], "a container image cannot be had: {rest}"),
    known(&["[ERROR FileAvailable--etc-kubernetes"], "this host has been a node before: deploy it anew"),
    known(&["[ERROR DirAvailable--var-lib-etcd]"], "this host has been a control plane before: deploy it anew"),
    known(
        &["Secret \"kubeadm-certs\" was not found"],
        "the certificates for a further control plane are no longer in the cluster: they live for two hours, and Cluster API delivers its own",
    ),
    known(
        &["etcd cluster is not healthy"],
        "the etcd of the cluster at {endpoint} is not healthy, so that no member can be added",
    ),
    kubelet(
        &["could not bootstrap the admin user"],
        "the API server did not come up, as the kubelet could not start it or it ended again",
    ),
    kubelet(&["failed while waiting for the control plane to start"], "the control plane did not come up"),
    kubelet(&["kube-apiserver check failed"], "the API server did not become healthy"),
    kubelet(&["The kubelet is not healthy after"], "the kubelet did not become healthy"),
    kubelet(&["failed while waiting for the kubelet to start"], "the kubelet did not become healthy"),
    kubelet(
        &["error execution phase kubelet-wait-bootstrap"],
        "the kubelet did not get its certificate from the cluster",
    ),
];

/// Out of the last lines of output. `how` is how the command ended.
pub(in crate::node) fn find(lines: &[&str], config: &Config, how: &str) -> Cause {
    let own = own_words(lines);
    let phase = own.as_ref().and_then(|(phase, _)| phase.clone());
    let fitting = KNOWN.iter().find_map(|known| {
        let line = lines.iter().rev().find(|line| known.marks.iter().all(|mark| line.contains(mark)))?;
        Some((known, fill(known, line, config)))
    });
    match fitting {
        Some((known, sentence)) => Cause { phase, sentence: shorten(&sentence), of_kubelet: known.of_kubelet },
        None => {
            let sentence = own.map_or_else(|| format!("kubeadm {how}"), |(_, reason)| reason);
            Cause { phase, sentence: shorten(&sentence), of_kubelet: false }
        }
    }
}

fn fill(known: &Known, line: &str, config: &Config) -> String {
    let rest = known.marks.first().and_then(|mark| line.split_once(mark)).map_or("", |(_, rest)| rest);
    let quoted = rest.split('"').nth(1).unwrap_or_default();
    let rest = rest.trim_start_matches([':', ']']).trim_end_matches(['.', ':']);
    let rest = if rest.is_empty() { String::new() } else { rest.to_owned() };
    known
        .sentence
        .replace("{endpoint}", config.endpoint.as_deref().unwrap_or("the cluster's endpoint"))
        .replace("{it}", quoted)
        .replace("{rest}", &rest)
}

fn shorten(sentence: &str) -> String {
    match sentence.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", sentence.get(..end).unwrap_or_default()),
        None => sentence.to_owned(),
    }
}

/// The phase and the reason that kubeadm itself gives.
fn own_words(lines: &[&str]) -> Option<(Option<String>, String)> {
    const EXECUTION: &str = "error execution phase ";
    let named = lines.iter().rev().find_map(|line| {
        let (_, rest) = line.split_once(EXECUTION)?;
        let (phase, reason) = rest.split_once(':')?;
        Some((phase.trim().to_owned(), reason.trim().trim_end_matches(':').to_owned()))
    });
    // Preflight lists its findings one a line, each of which is a reason of its own.
    let findings: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.trim().strip_prefix("[ERROR ")?.split_once("]: "))
        .map(|(_, reason)| reason)
        .collect();
    let phase = named.as_ref().map(|(phase, _)| phase.clone());
    if !findings.is_empty() {
        return Some((phase, findings.join("; ")));
    }
    let named = named.filter(|(_, reason)| !reason.is_empty()).map(|(_, reason)| (phase, reason));
    // Before any phase, as for a configuration that it cannot read.
    named.or_else(|| {
        let error = |line: &&str| line.strip_prefix("error: ").map(|reason| (None, reason.trim().to_owned()));
        lines.iter().rev().find_map(error)
    })
}

/// Lines of kubeadm's that tell nothing to whoever reads why it failed: what the kernel was built with.
pub(in crate::node) fn is_noise(line: &str) -> bool {
    ["CONFIG_", "CGROUPS_", "KERNEL_VERSION: ", "OS: "].iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Cause {
        let config = Config { endpoint: Some("10.77.0.10:6443".into()), ..Config::default() };
        find(&text.lines().collect::<Vec<_>>(), &config, "ended with exit status: 1")
    }

    #[test]
    fn what_kubeadm_says_becomes_a_sentence_with_a_remedy() {
        let preflight = "error: error execution phase preflight: couldn't validate the identity of the API Server: ";
        let table = [
            (
                "could not find a JWS signature in the cluster-info ConfigMap for token ID \"wrongx\"",
                "the cluster at 10.77.0.10:6443 does not know the bootstrap token wrongx: it has expired",
            ),
            (
                "failed to request the cluster-info ConfigMap: Get \"https://10.77.0.250:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s\": dial tcp 10.77.0.250:6443: connect: no route to host",
                "10.77.0.10:6443 cannot be reached (no route to host)",
            ),
            (
                "failed to request the cluster-info ConfigMap: Get \"https://a/cluster-info\": dial tcp: lookup a: no such host",
                "10.77.0.10:6443 cannot be reached, as its name does not resolve",
            ),
            (
                "cluster CA found in cluster-info ConfigMap is invalid: none of the public keys \"sha256:***\" are pinned",
                "the CA of the cluster at 10.77.0.10:6443 is not one of caCertHashes",
            ),
        ];
        for (words, sentence) in table {
            let cause = found(&format!(
                "[preflight] Running pre-flight checks\n{preflight}{words}\nTo see the stack trace of this error execute with --v=5 or higher"
            ));
            assert!(cause.sentence.starts_with(sentence), "{cause:?}");
            assert_eq!(cause.phase.as_deref(), Some("preflight"));
        }
        let full = found(
            "error: error execution phase certs/ca: failure while saving ca: unable to write: write /etc/kubernetes/pki/ca.crt: no space left on device",
        );
        assert!(full.sentence.starts_with("a disk is full"), "{full:?}");
        assert_eq!(full.phase.as_deref(), Some("certs/ca"));
        let wait = found(
            "error: error execution phase wait-control-plane: cannot obtain client without bootstrap: could not bootstrap the admin user in file admin.conf: unable to create ClusterRoleBinding: client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline",
        );
        assert!(wait.of_kubelet && wait.sentence.starts_with("the API server did not come up"), "{wait:?}");
    }

    #[test]
    fn what_is_not_known_is_said_in_kubeadms_own_words() {
        let findings = "[preflight] Running pre-flight checks\n\t[ERROR NumCPU]: the number of available CPUs 1 is less than the required 2\n\t[ERROR Mem]: the system RAM (957 MB) is less than the minimum 1700 MB\nerror: error execution phase preflight: preflight checks failed";
        assert_eq!(
            found(findings).sentence,
            "the number of available CPUs 1 is less than the required 2; the system RAM (957 MB) is less than the minimum 1700 MB"
        );
        let odd = found("[x] y\nerror: error execution phase certs: something new\nTo see");
        assert_eq!((odd.phase.as_deref(), odd.sentence.as_str()), (Some("certs"), "something new"));
        let early = found("error: no kind \"InitConfigurations\" is registered for version \"kubeadm.k8s.io/v1beta4\"");
        assert!(early.sentence.starts_with("no kind \"InitConfigurations\""), "{early:?}");
        assert_eq!(found("nothing").sentence, "kubeadm ended with exit status: 1");
        assert!(found(&format!("error: {}", "x".repeat(5000))).sentence.len() < 400);
    }

    #[test]
    fn what_the_kernel_was_built_with_is_noise() {
        assert!(is_noise("CONFIG_NET_NS: enabled") && is_noise("CGROUPS_CPU: enabled") && is_noise("OS: Linux"));
        assert!(!is_noise("[preflight] Running pre-flight checks"));
    }
}
