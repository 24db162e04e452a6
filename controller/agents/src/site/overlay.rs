//! The per-boot overlay's content.

use bessemer_protocol::{BootConfig, BootId, NetworkConfig};

use super::{BootAuthority, SiteError};

impl BootAuthority {
    /// The content of [`bessemer_protocol::BOOT_CONFIG_PATH`] for one boot: the same bytes each time, from any process
    /// that holds the site's secret. Carries the enrolment token.
    ///
    /// `controllers` are `https://address:port`; `issued` is when the boot was prepared, seconds since the epoch; `network` is
    /// what the ramdisk sets up, by DHCP if none.
    ///
    /// # Errors
    /// [`SiteError::Encode`], which strings and numbers cannot cause.
    pub fn overlay(
        &self,
        boot: BootId,
        controllers: &[String],
        issued: i64,
        network: Option<NetworkConfig>,
    ) -> Result<Vec<u8>, SiteError> {
        let config = BootConfig {
            controllers: controllers.to_vec(),
            ca: self.trusted_pem().to_owned(),
            token: self.token(boot),
            boot_id: boot,
            time: issued,
            network,
        };
        Ok(serde_json::to_vec(&config)?)
    }

    /// The same for a machine that nobody knows: it holds no token, so that all it can do is to report its hardware
    /// ([`bessemer_protocol::DiscoverRequest`]). `boot` is good for nothing but telling two such boots apart.
    ///
    /// # Errors
    /// See [`Self::overlay`].
    pub fn discovery_overlay(&self, boot: BootId, controllers: &[String], issued: i64) -> Result<Vec<u8>, SiteError> {
        let config = BootConfig {
            controllers: controllers.to_vec(),
            ca: self.trusted_pem().to_owned(),
            token: String::new(),
            boot_id: boot,
            time: issued,
            network: None,
        };
        Ok(serde_json::to_vec(&config)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::{SiteAuthority, SiteSecret};

    #[test]
    fn one_boot_is_served_the_same_bytes_by_every_process() {
        let secret = SiteSecret::generate(time::OffsetDateTime::now_utc()).unwrap();
        let boot = BootId::random();
        let network = || NetworkConfig { resolvers: vec![[192, 0, 2, 53].into()], ..NetworkConfig::default() };
        let overlay = || {
            SiteAuthority::open(&secret)
                .unwrap()
                .boot()
                .overlay(boot, &["https://192.0.2.1:8444".to_owned()], 1_700_000_000, Some(network()))
                .unwrap()
        };
        assert_eq!(overlay(), overlay());
        let config: BootConfig = serde_json::from_slice(&overlay()).unwrap();
        assert_eq!(config.boot_id, boot);
        assert_eq!(config.network, Some(network()));
        assert!(config.ca.starts_with("-----BEGIN CERTIFICATE-----"));
    }
}
