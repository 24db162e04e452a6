//! Which of the systems a BMC shows is the server.

use redfish_client::{Reference, Resource};

use super::RedfishBmc;
use crate::BmcError;

const ACT: &str = "finding its system";

impl RedfishBmc {
    /// The server as it is now.
    pub(super) async fn system(&self, act: &str) -> Result<Resource, BmcError> {
        let at = self.system.get_or_try_init(|| self.find_system()).await?;
        let system = self.client.read(at).await.map_err(|error| self.explain(act, error))?;
        self.unproven_bios().look(&system);
        Ok(system)
    }

    async fn find_system(&self) -> Result<Reference, BmcError> {
        if let Some(named) = self.address.system() {
            let at = Reference::parse(named).ok_or_else(|| self.no_system(format!("{named:?} is not a path")))?;
            return match self.client.find(&at).await {
                Ok(Some(_)) => Ok(at),
                Ok(None) => Err(self.no_system(format!("there is no {at} on this bmc; leave the path out to find it"))),
                Err(error) => Err(self.explain(ACT, error)),
            };
        }
        let root = self.client.root().await.map_err(|error| self.explain(ACT, error))?;
        let Some(systems) = root.link("Systems") else {
            return Err(self.no_system("its service root shows no systems: is it a server's bmc?".to_owned()));
        };
        let mut members = Vec::new();
        for at in self.client.list(&systems).await.map_err(|error| self.explain(ACT, error))? {
            let found = self.client.find(&at).await.map_err(|error| self.explain(ACT, error))?;
            // Which one is the server is decided once: not while one of them cannot be seen.
            members.push(found.ok_or_else(|| BmcError::Busy {
                address: self.address.to_string(),
                act: ACT.to_owned(),
                why: format!("{at} is listed and not there; if it stays so, name the system in the address"),
            })?);
        }
        choose(&members).map_err(|problem| self.no_system(problem))
    }

    fn no_system(&self, problem: String) -> BmcError {
        BmcError::BadAddress { address: self.address.to_string(), problem }
    }
}

/// The one member that has power of its own, whatever its state: a node that starts says null. BMCs also show baseboards
/// of accelerators (NVIDIA HGX), which cannot be reset, and descriptions of what they could be (Gigabyte), which have no
/// power state to tell.
fn choose(members: &[Resource]) -> Result<Reference, String> {
    let servers: Vec<&Resource> = members
        .iter()
        .filter(|member| member.action("ComputerSystem.Reset").is_some() && member.body().get("PowerState").is_some())
        .collect();
    // A server that is only partly described is still the one there is.
    let servers = if servers.is_empty() && members.len() == 1 { members.iter().collect() } else { servers };
    match servers.as_slice() {
        [one] => Ok(one.uri().clone()),
        [] => Err("it shows no system that can be powered".to_owned()),
        many => {
            let mut names: Vec<&str> = many.iter().map(|system| system.uri().as_str()).collect();
            names.sort_unstable();
            Err(format!("it has several systems; name one in the address: {}", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn member(id: &str, body: Value) -> Resource {
        Resource::new(Reference::root().child("Systems").child(id), None, body)
    }

    fn server(id: &str) -> Resource {
        server_that_is(id, "On".into())
    }

    fn server_that_is(id: &str, power: Value) -> Resource {
        let reset = json!({"#ComputerSystem.Reset": {"target": "/reset"}});
        member(id, json!({"PowerState": power, "Actions": reset}))
    }

    #[test]
    fn q64_q65_the_server_among_the_systems() {
        let chosen = |members: &[Resource]| choose(members).map(|at| at.id().to_owned());
        assert_eq!(chosen(&[server("DGX"), member("HGX_Baseboard_0", json!({"PowerState": "On"}))]).unwrap(), "DGX");
        assert_eq!(chosen(&[member("Capabilities", json!({})), server("Self")]).unwrap(), "Self");
        assert_eq!(chosen(&[member("1", json!({}))]).unwrap(), "1");
        assert!(chosen(&[]).unwrap_err().contains("no system that can be powered"));
        let error = chosen(&[server("Node0"), server("Node1")]).unwrap_err();
        assert!(error.ends_with("/redfish/v1/Systems/Node0, /redfish/v1/Systems/Node1"), "{error}");
    }

    #[test]
    fn a_node_whose_state_is_unknown_still_counts() {
        let error = choose(&[server_that_is("Node0", Value::Null), server("Node1")]).unwrap_err();
        assert!(error.contains("several systems"), "{error}");
    }
}
