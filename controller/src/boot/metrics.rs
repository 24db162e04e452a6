//! The boot server's counters as OpenMetrics text.

use std::fmt::Write as _;

use bessemer_pxe::{Metrics, Protocol};

/// Every counter that is not zero, without the end mark.
pub(crate) fn text(metrics: &Metrics) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let mut line = |line: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{line}");
    };
    line(format_args!("# HELP bessemer_boot_exchanges Questions of booting machines by what was answered."));
    line(format_args!("# TYPE bessemer_boot_exchanges counter"));
    for count in metrics.exchanges() {
        let (protocol, phase, answer) = (count.protocol.name(), count.phase.name(), count.answer);
        line(format_args!(
            "bessemer_boot_exchanges_total{{protocol=\"{protocol}\",phase=\"{phase}\",answer=\"{answer}\"}} {}",
            count.count
        ));
    }
    line(format_args!("# HELP bessemer_boot_troubles What was dropped or left unanswered, by why."));
    line(format_args!("# TYPE bessemer_boot_troubles counter"));
    for (protocol, trouble, count) in metrics.troubles() {
        let (protocol, trouble) = (protocol.name(), trouble.name());
        line(format_args!("bessemer_boot_troubles_total{{protocol=\"{protocol}\",why=\"{trouble}\"}} {count}"));
    }
    line(format_args!("# HELP bessemer_boot_sent_bytes Bytes of files sent."));
    line(format_args!("# TYPE bessemer_boot_sent_bytes counter"));
    for protocol in [Protocol::Tftp, Protocol::Http] {
        let (name, bytes) = (protocol.name(), metrics.sent_bytes(protocol));
        line(format_args!("bessemer_boot_sent_bytes_total{{protocol=\"{name}\"}} {bytes}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_server_has_headings_and_no_exchanges() {
        let text = text(&Metrics::default());
        assert!(text.contains("# TYPE bessemer_boot_exchanges counter\n"), "{text}");
        assert!(text.contains("bessemer_boot_sent_bytes_total{protocol=\"tftp\"} 0\n"), "{text}");
        assert!(!text.contains("bessemer_boot_exchanges_total"), "{text}");
    }
}
