//! kubeadm: whether a command is one, what it is told, which phase its output is of, and why it failed.

pub(super) mod cause;
pub(super) mod config;
pub(super) mod kubelet_log;

/// `init` or `join` when a command runs kubeadm to make a node.
pub(super) fn command(words: &str) -> Option<&'static str> {
    // Cluster API's own, around a join that is tried again and again.
    if words.contains("kubeadm-bootstrap-script") {
        return Some("join");
    }
    let mut words = words.split(|c: char| c.is_whitespace() || ";&|()".contains(c)).filter(|word| !word.is_empty());
    words.find(|word| *word == "kubeadm" || word.ends_with("/kubeadm"))?;
    words.find_map(|word| match word {
        "init" => Some("init"),
        "join" => Some("join"),
        _ => None,
    })
}

/// The phase that a line of output belongs to: `[certs] Generating …` is of `certs`.
pub(super) fn phase(line: &str) -> Option<&str> {
    let (phase, _) = line.strip_prefix('[')?.split_once(']')?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-/".contains(c);
    (!phase.is_empty() && phase.chars().all(plain)).then_some(phase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_kubeadms_only_when_it_makes_a_node() {
        let table = [
            ("kubeadm init --config /run/kubeadm/kubeadm.yaml  && echo success > /run/x", Some("init")),
            ("/usr/bin/kubeadm --v=5 join --config x", Some("join")),
            ("/usr/local/bin/kubeadm-bootstrap-script && echo success", Some("join")),
            ("echo kubeadm", None),
            ("systemctl init", None),
            ("kubeadm config images pull", None),
        ];
        for (words, expected) in table {
            assert_eq!(command(words), expected, "{words}");
        }
    }

    #[test]
    fn phases_are_read_from_the_prefix() {
        assert_eq!(phase("[control-plane] Creating static Pod manifest"), Some("control-plane"));
        assert_eq!(phase("\t[WARNING Swap]: x"), None);
        assert_eq!(phase("[ERROR Port-6443]: x"), None);
        assert_eq!(phase("Your Kubernetes control-plane has initialized"), None);
    }
}
