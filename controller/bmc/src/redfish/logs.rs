//! Log entries over Redfish (`LogService`): those of the server, its managers and its chassis, the newest of each
//! without reading all.

use std::collections::HashSet;

use redfish_client::{Reference, Resource};
use serde_json::Value;

use super::RedfishBmc;
use super::time::seconds;
use crate::{BmcError, Health, LogEntry};

const ACT: &str = "reading log entries";

/// The most entries that one call reads of one log.
const DEEPEST: usize = 500;

/// Pages that are read of one log. One that shows its oldest first and cannot be entered elsewhere is read whole.
const PAGES: usize = 400;

/// An entry, and when it was written as far as that is known.
#[derive(Clone, Debug)]
struct Dated {
    at: Option<i64>,
    entry: LogEntry,
}

fn dated(log: &str, body: &Value) -> Option<Dated> {
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let message_id = text("MessageId").map(str::to_owned);
    // HPE's event view has no message but its id.
    let message = text("Message").or(text("MessageId")).or(text("Description")).or(text("Name"))?;
    let time = ["Created", "EventTimestamp"].into_iter().find_map(text);
    Some(Dated {
        at: time.and_then(seconds),
        entry: LogEntry {
            log: log.to_owned(),
            id: text("Id").unwrap_or_default().to_owned(),
            time: time.map(str::to_owned),
            severity: ["Severity", "MessageSeverity"].into_iter().find_map(text).and_then(Health::of_word),
            message: message.split_whitespace().collect::<Vec<_>>().join(" "),
            message_id,
        },
    })
}

/// Whether entries stand in the order in which they were written, oldest first: by their times, and where those are all
/// one or none, by their numbers.
fn is_rising(entries: &[Dated]) -> bool {
    let mut known = entries.iter().filter_map(|entry| entry.at);
    if let (Some(first), Some(last)) = (known.next(), known.next_back())
        && first != last
    {
        return first < last;
    }
    let number = |entry: &Dated| entry.entry.id.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().ok();
    let mut numbers = entries.iter().filter_map(number);
    matches!((numbers.next(), numbers.next_back()), (Some(first), Some(last)) if first < last)
}

/// The newest `limit` of all logs together. Entries without a time come last, in the order of their log.
fn newest(mut all: Vec<Dated>, limit: usize) -> Vec<LogEntry> {
    all.sort_by_key(|dated| std::cmp::Reverse(dated.at));
    all.truncate(limit);
    all.into_iter().map(|dated| dated.entry).collect()
}

/// One page of a log.
struct Page {
    entries: Vec<Dated>,
    /// Entries that are only named.
    named: Vec<Reference>,
    next: Option<Reference>,
    total: usize,
}

impl Page {
    fn read(log: &str, page: &Resource) -> Self {
        let members = page.value("Members").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        // A member that says when or what is the entry itself.
        let (whole, bare): (Vec<&Value>, Vec<&Value>) = members
            .iter()
            .partition(|member| ["Created", "Message", "MessageId"].iter().any(|name| member.get(name).is_some()));
        let place = |member: &Value| Reference::parse(member.get("@odata.id")?.as_str()?);
        let counted = page.value("Members@odata.count").and_then(Value::as_u64);
        Self {
            entries: whole.into_iter().filter_map(|member| dated(log, member)).collect(),
            named: bare.into_iter().filter_map(place).collect(),
            next: page.text("Members@odata.nextLink").and_then(Reference::parse),
            total: counted.and_then(|count| usize::try_from(count).ok()).unwrap_or_default().max(members.len()),
        }
    }
}

impl RedfishBmc {
    pub(super) async fn read_log_entries(&self, limit: usize) -> Result<Vec<LogEntry>, BmcError> {
        let services = self.log_services().await?;
        if services.is_empty() {
            return Err(
                self.unsupported(ACT, "no log service is named by the system, its managers or its chassis".into())
            );
        }
        let mut all = Vec::new();
        let mut seen = HashSet::new();
        let mut unread = None;
        for service in services {
            // Supermicro and others show one log at two places.
            let Some(entries) = service.link("Entries").filter(|entries| seen.insert(entries.clone())) else {
                continue;
            };
            let log = service.text("Id").unwrap_or_else(|| service.uri().id()).to_owned();
            match self.newest_of_log(&log, &entries, limit.min(DEEPEST)).await {
                Ok(entries) => all.extend(entries),
                Err(error @ (BmcError::BadCredentials { .. } | BmcError::Unreachable { .. })) => return Err(error),
                // One log that cannot be read does not hide the others.
                Err(error) => {
                    tracing::warn!(%error, log, "a log cannot be read");
                    unread = Some(error);
                }
            }
        }
        match unread {
            Some(error) if all.is_empty() => Err(error),
            _ => Ok(newest(all, limit)),
        }
    }

    async fn newest_of_log(&self, log: &str, at: &Reference, limit: usize) -> Result<Vec<Dated>, BmcError> {
        let Some(page) = self.log_page(log, at).await? else { return Ok(Vec::new()) };
        if page.entries.is_empty() && !page.named.is_empty() {
            return self.newest_of_named(log, page, limit).await;
        }
        let rising = is_rising(&page.entries);
        if rising && page.next.is_some() && page.total > limit {
            // The newest are at the end: begin there. A service that cannot skip gives the beginning again.
            let skipped = page.total - limit;
            let end = Reference::parse(&format!("{at}?$skip={skipped}"));
            let end = match end {
                Some(end) => self.log_page(log, &end).await.unwrap_or_else(|error| {
                    tracing::debug!(%error, log, "this log cannot be entered in its middle");
                    None
                }),
                None => None,
            };
            let first = |entries: &[Dated]| entries.first().map(|first| first.entry.id.clone());
            if let Some(end) = end.filter(|end| !end.entries.is_empty() && first(&end.entries) != first(&page.entries))
            {
                return self.rest_of_log(log, end, limit, true).await;
            }
        }
        self.rest_of_log(log, page, limit, rising).await
    }

    /// The newest of a log that is read on from `page`; all of it where it rises, only what is wanted where it falls.
    async fn rest_of_log(&self, log: &str, page: Page, limit: usize, rising: bool) -> Result<Vec<Dated>, BmcError> {
        let mut entries = page.entries;
        let mut next = page.next;
        let mut seen = HashSet::new();
        while let Some(at) = next.take().filter(|_| rising || entries.len() < limit) {
            if seen.len() >= PAGES || !seen.insert(at.clone()) {
                if rising {
                    return Err(self.no_end(log, seen.len()));
                }
                break;
            }
            let Some(page) = self.log_page(log, &at).await? else { break };
            entries.extend(page.entries);
            next = page.next;
            let surplus = entries.len().saturating_sub(DEEPEST);
            entries.drain(..if rising { surplus } else { 0 });
        }
        if rising {
            entries.reverse();
        }
        entries.truncate(limit);
        Ok(entries)
    }

    /// Where entries are only named they are read one by one; which end is the newest, the two ends of a page tell.
    async fn newest_of_named(&self, log: &str, page: Page, limit: usize) -> Result<Vec<Dated>, BmcError> {
        let mut named = page.named;
        let (Some(first), Some(last)) = (named.first(), named.last()) else { return Ok(Vec::new()) };
        let mut ends = Vec::new();
        for end in [first, last] {
            ends.extend(self.log_entry(log, end).await?);
        }
        let rising = is_rising(&ends);
        let mut next = page.next;
        let mut seen = HashSet::new();
        while let Some(at) = next.take().filter(|_| rising || named.len() < limit) {
            if seen.len() >= PAGES || !seen.insert(at.clone()) {
                if rising {
                    return Err(self.no_end(log, seen.len()));
                }
                break;
            }
            let Some(page) = self.log_page(log, &at).await? else { break };
            named.extend(page.named);
            next = page.next;
            let surplus = named.len().saturating_sub(DEEPEST);
            named.drain(..if rising { surplus } else { 0 });
        }
        let wanted: Vec<&Reference> =
            if rising { named.iter().rev().take(limit).collect() } else { named.iter().take(limit).collect() };
        let mut entries = Vec::new();
        for at in wanted {
            entries.extend(self.log_entry(log, at).await?);
        }
        Ok(entries)
    }

    /// Of a log whose end is not found the oldest entries would be called the newest.
    fn no_end(&self, log: &str, pages: usize) -> BmcError {
        BmcError::Protocol {
            address: self.address.to_string(),
            act: ACT.to_owned(),
            why: format!("log {log} shows its oldest entries first and has no end after {pages} pages; clear it"),
        }
    }

    async fn log_page(&self, log: &str, at: &Reference) -> Result<Option<Page>, BmcError> {
        let page = self.client.find(at).await.map_err(|error| self.explain(ACT, error))?;
        Ok(page.map(|page| Page::read(log, &page)))
    }

    async fn log_entry(&self, log: &str, at: &Reference) -> Result<Option<Dated>, BmcError> {
        let entry = self.client.find(at).await.map_err(|error| self.explain(ACT, error))?;
        Ok(entry.and_then(|entry| dated(log, entry.body())))
    }

    /// The log services of the server, of its managers and of its chassis.
    async fn log_services(&self) -> Result<Vec<Resource>, BmcError> {
        let explain = |error| self.explain(ACT, error);
        let system = self.system(ACT).await?;
        let mut owners = vec![system.clone()];
        let mut others = self.managers_of(ACT, &system).await?;
        others.extend(system.links("Links/Chassis"));
        for at in others {
            owners.extend(self.client.find(&at).await.map_err(explain)?);
        }
        let mut services: Vec<Resource> = Vec::new();
        for collection in owners.iter().filter_map(|owner| owner.link("LogServices")) {
            for service in self.client.members(collection.as_str()).await.map_err(explain)? {
                if !services.iter().any(|known| known.uri() == service.uri()) {
                    services.push(service);
                }
            }
        }
        Ok(services)
    }
}

/// What this room makes of `resource`, taken for each resource that it reads.
#[cfg(test)]
pub(super) fn decode_everything(resource: &Resource) -> String {
    let page = Page::read("log", resource);
    format!("{:?} {:?} {:?} {}", page.entries, page.named, dated("log", resource.body()), page.total)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_as_they_are_written() {
        let read = |body: Value| dated("SEL", &body).unwrap();
        let dell = read(json!({
            "Id": "83434", "Created": "2024-08-08T18:48:07-05:00", "Severity": "OK", "MessageId": "IDRAC.2.7.USR0030",
            "Message": "Successfully logged in\n using root.",
        }));
        assert_eq!(dell.at, Some(1_723_160_887));
        assert_eq!(
            dell.entry,
            LogEntry {
                log: "SEL".to_owned(),
                id: "83434".to_owned(),
                time: Some("2024-08-08T18:48:07-05:00".to_owned()),
                severity: Some(Health::Ok),
                message: "Successfully logged in using root.".to_owned(),
                message_id: Some("IDRAC.2.7.USR0030".to_owned()),
            }
        );
        let hpe = read(json!({"Id": "2", "Created": "0000-00-00T00:00:00Z", "MessageId": "iLOEvents.3.7.ServerReset"}));
        assert_eq!((hpe.at, hpe.entry.severity), (None, None));
        assert_eq!(
            (hpe.entry.time.as_deref(), &*hpe.entry.message),
            (Some("0000-00-00T00:00:00Z"), "iLOEvents.3.7.ServerReset")
        );
        assert!(dated("SEL", &json!({"Id": "3"})).is_none());
    }

    #[test]
    fn the_newest_come_first_and_the_timeless_last() {
        let entry = |id: &str, at| {
            let mut dated = dated("L", &json!({"Id": id, "Message": "m"})).unwrap();
            dated.at = at;
            dated
        };
        let all = vec![entry("a", Some(5)), entry("n", None), entry("b", Some(9)), entry("c", Some(9))];
        assert!(!is_rising(&all[..2]) && is_rising(&all));
        let numbered = |ids: [&str; 2], at| is_rising(&ids.map(|id| entry(id, at)));
        assert!(numbered(["9", "10"], None) && numbered(["SEL-9", "SEL-10"], Some(7)));
        assert!(!numbered(["83434", "83433"], Some(7)) && !numbered(["a", "b"], None));
        let ids = |limit| newest(all.clone(), limit).into_iter().map(|entry| entry.id).collect::<String>();
        assert_eq!((ids(9), ids(2)), ("bcan".to_owned(), "bc".to_owned()));
    }
}
