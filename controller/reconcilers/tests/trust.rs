//! Whose certificates a host's BMC is believed by, from `spec.bmc` to the connector.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use bessemer_bmc::fake::FakeBmc;
use bessemer_bmc::{Address, Credentials, Trust};
use common::{Lab, MAC};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn only_a_host_that_says_so_is_believed_without_a_certificate() {
    for (disabled, trust) in [(json!(true), Trust::Anyone), (json!(false), Trust::System), (json!(null), Trust::System)]
    {
        let lab = Lab::start().await;
        let address: Address = "redfish://10.0.0.7/redfish/v1/Systems/1".parse().unwrap();
        lab.bmcs.add(FakeBmc::new(address.clone(), Credentials::new("admin", "right")));
        assert_eq!(lab.bmcs.trusted(&address), None);
        lab.secret("r7-u12-bmc", "right").await;
        let mut bmc = json!({ "address": address.to_string(), "credentialsName": "r7-u12-bmc" });
        if !disabled.is_null() {
            bmc["disableCertificateVerification"] = disabled.clone();
        }
        lab.add_host_with("r7-u12", MAC, bmc).await;
        lab.host_until(|host| host.status.as_ref().is_some_and(|status| status.good_credentials.credentials.is_some()))
            .await;
        assert_eq!(lab.bmcs.trusted(&address), Some(trust), "disableCertificateVerification: {disabled}");
    }
}
