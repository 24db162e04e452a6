//! Patterns that texts of many kinds match.

/// A name that DNS takes: labels of lower case letters, digits and dashes, joined by dots.
pub(crate) const SUBDOMAIN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// One label of a DNS name.
pub(crate) const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// A kind.
pub(crate) const KIND: &str = "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$";
/// `<group>/<version>`.
pub(crate) const API_VERSION: &str =
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[a-z]([-a-z0-9]*[a-z0-9])?$";
/// Type of a condition: a label key.
pub(crate) const CONDITION_TYPE: &str =
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
/// Key of a taint.
pub(crate) const TAINT_KEY: &str =
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";
/// Value of a taint.
pub(crate) const TAINT_VALUE: &str = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";
/// A MAC address, and nothing else.
pub(crate) const MAC: &str = "^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$";
/// A text with a MAC address somewhere in it: upstream's older fields forgot the anchors.
pub(crate) const MAC_WITHIN: &str = "[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}";
