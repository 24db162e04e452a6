//! IP addresses as texts, with the patterns that upstream's CRDs give them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

macro_rules! v4 {
    () => {
        r"((([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])\.){3}([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5]))"
    };
}

macro_rules! v6 {
    () => {
        concat!(
            "(([0-9a-fA-F]{1,4}:){7,7}[0-9a-fA-F]{1,4}",
            "|([0-9a-fA-F]{1,4}:){1,7}:",
            "|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}",
            "|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}",
            "|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}",
            "|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}",
            "|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}",
            "|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})",
            "|:((:[0-9a-fA-F]{1,4}){1,7}|:))"
        )
    };
}

/// A text with the pattern of one kind of address.
macro_rules! address {
    ($(#[$doc:meta])* $name:ident, $pattern:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// As it was written.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

address!(
    /// An IPv4 address.
    Ipv4Text,
    concat!("^", v4!(), "$")
);
address!(
    /// An IPv6 address, without a zone.
    Ipv6Text,
    concat!("^", v6!(), "$")
);
address!(
    /// An address of either family.
    IpText,
    concat!("((^", v4!(), "$)|(^", v6!(), "$))")
);
address!(
    /// A network of either family, with the length of its prefix.
    SubnetText,
    concat!(
        "((^",
        v4!(),
        "/([0-9]|[1-2][0-9]|3[0-2])$)|(^",
        v6!(),
        "/([0-9]|[0-9][0-9]|1[0-1][0-9]|12[0-8])$))"
    )
);
