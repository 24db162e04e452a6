//! What an operator decides about booting hosts, for all hosts of a site.

/// How this site boots its hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BootSettings {
    /// Root URL of a boot server that serves an ISO, as BMCs reach it, such as `http://10.77.0.1:8080`. None: hosts that
    /// are to boot by virtual media are told why they cannot.
    pub media_url: Option<String>,
    /// Whether secrets of a cluster are withheld from a host that anybody on the boot network could have given another
    /// system.
    pub require_trusted_boot: bool,
}
