//! Hides what must not leave the host in lines of output: kubeadm prints tokens and certificate keys, and a failed command may print a file.
//! By value what was delivered to this host, which is one memory for the whole program, as a secret may come up anywhere; by pattern the rest.

use std::sync::{PoisonError, RwLock};

/// What stands in place of a secret.
const MASK: &str = "***";

/// Shortest run of base64 or hexadecimal digits that is taken for key material.
const LONG_RUN: usize = 40;

/// Shortest value that is hidden, in bytes: shorter ones are in every other word.
const SHORTEST: usize = 6;

/// Most values that are known.
const MOST_DELIVERED: usize = 8192;

/// What was delivered, longest first, as one may be a part of another.
static DELIVERED: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// From here on these are hidden wherever they come up.
pub(crate) fn learn(secrets: impl IntoIterator<Item = String>) {
    let mut known = DELIVERED.write().unwrap_or_else(PoisonError::into_inner);
    known.extend(secrets.into_iter().filter(|secret| secret.len() >= SHORTEST));
    known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    known.dedup();
    known.truncate(MOST_DELIVERED);
}

/// `text` without what was delivered.
pub(crate) fn hide_delivered(text: &str) -> String {
    let known = DELIVERED.read().unwrap_or_else(PoisonError::into_inner);
    let mut hidden = text.to_owned();
    for secret in known.iter().filter(|secret| secret.len() <= text.len()) {
        if hidden.contains(secret.as_str()) {
            hidden = hidden.replace(secret.as_str(), MASK);
        }
    }
    hidden
}

/// `$6$salt$hash` in all its kinds, up to the next blank or quotation mark.
fn hide_crypt(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        words.push_str(before);
        let (kind, hash) = after.split_once('$').unwrap_or_default();
        let is_kind =
            (1..=10).contains(&kind.len()) && kind.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let end = hash.find(|c: char| c.is_whitespace() || "'\":,".contains(c)).unwrap_or(hash.len());
        if is_kind && end >= 20 {
            words.push_str(MASK);
            rest = hash.get(end..).unwrap_or_default();
        } else {
            words.push('$');
            rest = after;
        }
    }
    words.push_str(rest);
    words
}

/// Masks lines one after the other; keys in PEM reach over several.
#[derive(Debug, Default)]
pub(crate) struct Masker {
    in_key: bool,
}

impl Masker {
    /// `line` without secrets.
    pub(crate) fn mask(&mut self, line: &str) -> String {
        if line.contains("-----BEGIN") && line.contains("PRIVATE KEY-----") {
            self.in_key = true;
        }
        if self.in_key {
            self.in_key = !line.contains("-----END");
            return MASK.to_owned();
        }
        let line = hide_crypt(&hide_delivered(line));
        let mut masked = String::with_capacity(line.len());
        let mut run = String::new();
        for character in line.chars() {
            if character.is_ascii_alphanumeric() || "+/=.".contains(character) {
                run.push(character);
            } else {
                flush(&mut run, &mut masked);
                masked.push(character);
            }
        }
        flush(&mut run, &mut masked);
        masked
    }
}

fn flush(run: &mut String, to: &mut String) {
    // `--token=abcdef.0123456789abcdef`: the flag stays readable.
    let value = run.rfind('=').map_or(0, |at| at + 1);
    if let Some((flag, value)) = run.split_at_checked(value)
        && is_bootstrap_token(value.trim_matches('.'))
    {
        to.push_str(flag);
        to.push_str(MASK);
        return run.clear();
    }
    let secret = run.split(['.', '/']).any(|part| part.len() >= LONG_RUN) || is_base64(run);
    to.push_str(if secret { MASK } else { run });
    run.clear();
}

/// `abcdef.0123456789abcdef`
fn is_bootstrap_token(run: &str) -> bool {
    run.split_once('.').is_some_and(|(id, secret)| {
        let small = |part: &str| part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        id.len() == 6 && secret.len() == 16 && small(id) && small(secret)
    })
}

/// Paths are runs, too; base64 of any length has no dots and mixes its cases.
fn is_base64(run: &str) -> bool {
    let mixed = |test: fn(&char) -> bool| run.chars().filter(test).count() > 4;
    run.len() >= LONG_RUN
        && !run.contains('.')
        && !run.starts_with('/')
        && mixed(|c| c.is_ascii_uppercase())
        && mixed(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_and_the_rest_stays_readable() {
        let table = [
            (
                "kubeadm join 10.77.0.10:6443 --token abcdef.0123456789abcdef \\",
                "kubeadm join 10.77.0.10:6443 --token *** \\",
            ),
            ("kubeadm join --token=abcdef.0123456789abcdef --v=5", "kubeadm join --token=*** --v=5"),
            ("KUBEADM_TOKEN=abcdef.0123456789abcdef.", "KUBEADM_TOKEN=***"),
            (
                "  --discovery-token-ca-cert-hash sha256:8cb2de97839780a412b93877f8507ad6c94f73add17d5d7058e91741c9d5ec78",
                "  --discovery-token-ca-cert-hash sha256:***",
            ),
            (
                "[mark-control-plane] Marking the node r1-u1 as control-plane by adding the labels: [node-role.kubernetes.io/control-plane]",
                "[mark-control-plane] Marking the node r1-u1 as control-plane by adding the labels: [node-role.kubernetes.io/control-plane]",
            ),
            (
                "[certs] apiserver serving cert is signed for DNS names [kubernetes.default.svc.cluster.local r1-u1] and IPs [10.96.0.1]",
                "[certs] apiserver serving cert is signed for DNS names [kubernetes.default.svc.cluster.local r1-u1] and IPs [10.96.0.1]",
            ),
            (
                "[kubeconfig] Writing \"/etc/kubernetes/controller-manager.conf\" kubeconfig file /var/lib/kubelet/pki/kubelet-client-current.pem",
                "[kubeconfig] Writing \"/etc/kubernetes/controller-manager.conf\" kubeconfig file /var/lib/kubelet/pki/kubelet-client-current.pem",
            ),
            ("key: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFb2dJQkFBS0NBUUVB/x==", "key: ***"),
        ];
        for (line, expected) in table {
            assert_eq!(Masker::default().mask(line), expected);
        }
    }

    #[test]
    fn a_key_is_hidden_to_its_end() {
        let mut masker = Masker::default();
        let lines = ["-----BEGIN EC PRIVATE KEY-----", "abc", "-----END EC PRIVATE KEY-----", "after"];
        assert_eq!(lines.map(|line| masker.mask(line)), ["***", "***", "***", "after"]);
    }

    #[test]
    fn what_was_delivered_is_hidden_by_its_value_and_hashes_by_their_form() {
        learn(["hunter2-of-the-mask-test".to_owned(), "hunter2-of-the-mask-test-longer".to_owned(), "x".to_owned()]);
        let table = [
            ("PASSWORD=hunter2-of-the-mask-test ./x", "PASSWORD=*** ./x"),
            ("a \"hunter2-of-the-mask-test-longer\" b", "a \"***\" b"),
            ("root:$6$rounds=5000$saltsalt$AbC.d/0123456789AbC.d/0123456789:19000:", "root:***:19000:"),
            ("costs $5 and $PATH and x", "costs $5 and $PATH and x"),
        ];
        for (line, expected) in table {
            assert_eq!(Masker::default().mask(line), expected);
        }
    }
}
