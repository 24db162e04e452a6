//! What kubeadm's output says: which phase it is in, and why it failed in one sentence.

/// `init` or `join` when a command runs kubeadm to make a node.
pub(super) fn command(words: &str) -> Option<&'static str> {
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

/// The phase and the reason that an output gives for its failure, if it does.
pub(super) fn cause(lines: &[String]) -> Option<(Option<String>, String)> {
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
    named.filter(|(_, reason)| !reason.is_empty()).map(|(_, reason)| (phase, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_command_is_kubeadms_only_when_it_makes_a_node() {
        let table = [
            ("kubeadm init --config /run/kubeadm/kubeadm.yaml  && echo success > /run/x", Some("init")),
            ("/usr/bin/kubeadm --v=5 join --config x", Some("join")),
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

    #[test]
    fn the_reason_is_a_sentence() {
        let preflight = lines(
            "[preflight] Running pre-flight checks\nerror execution phase preflight: [preflight] Some fatal errors occurred:\n\t[ERROR Port-6443]: Port 6443 is in use\n\t[ERROR Swap]: running with swap on is not supported\n",
        );
        assert_eq!(
            cause(&preflight),
            Some((Some("preflight".into()), "Port 6443 is in use; running with swap on is not supported".into()))
        );
        let wait = lines(
            "[wait-control-plane] Waiting\nerror execution phase wait-control-plane: could not initialize a Kubernetes cluster\nTo see the stack trace",
        );
        assert_eq!(
            cause(&wait),
            Some((Some("wait-control-plane".into()), "could not initialize a Kubernetes cluster".into()))
        );
        assert_eq!(cause(&lines("no config file")), None);
    }
}
