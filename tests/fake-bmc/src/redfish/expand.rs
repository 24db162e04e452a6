//! Query parameters of reads: `$expand` by one level, `only`, and pages of collections.

use serde_json::Value;

use super::answer::Answer;
use super::json::{clean, members, set, text};
use super::service::Service;

impl Service {
    /// Applies what the query asks for.
    pub(super) fn query(&self, body: Value, path: &str, query: &str) -> Result<Value, Answer> {
        let mut body = body;
        let mut skip = 0;
        let mut expand = false;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match name.replace("%24", "$").as_str() {
                "$expand" => expand = true,
                "$skip" => skip = value.parse().unwrap_or(0),
                "only" if !value.is_empty() => {
                    let sentence = format!("only takes no value, and not {value}");
                    return Err(Answer::error(400, "QueryParameterValueFormatError", &sentence, &[value, "only"]));
                }
                "only" => {
                    if let [member] = members(&body).as_slice() {
                        body = self.read(member).unwrap_or(body);
                    }
                }
                // unknown without a dollar is to be ignored
                name if !name.starts_with('$') => {}
                name => {
                    let sentence = format!("{name} is not supported");
                    return Err(Answer::error(501, "QueryNotSupported", &sentence, &[]));
                }
            }
        }
        self.page(&mut body, path, skip);
        if expand {
            self.expand(&mut body);
        }
        Ok(body)
    }

    fn page(&self, body: &mut Value, path: &str, skip: usize) {
        let page = self.behaviour().page.unwrap_or(usize::MAX);
        let Some(all) = body.get_mut("Members").and_then(Value::as_array_mut) else { return };
        let total = all.len();
        *all = all.drain(..).skip(skip).take(page).collect();
        let next = skip.saturating_add(page);
        if next < total {
            set(body, "Members@odata.nextLink", format!("{path}?$skip={next}"));
        }
    }

    /// Puts bodies in the place of members and of links to other resources, not below `Links`.
    fn expand(&self, body: &mut Value) {
        let Some(object) = body.as_object_mut() else { return };
        for (name, value) in object.iter_mut().filter(|(name, _)| *name != "Links") {
            let links = match value {
                Value::Array(array) if name == "Members" => array.iter_mut().collect::<Vec<_>>(),
                Value::Object(_) => vec![value],
                _ => Vec::new(),
            };
            for link in links {
                let alone = link.as_object().is_some_and(|object| object.len() == 1);
                let target = text(link, "@odata.id").filter(|_| alone).and_then(|path| self.read(&clean(path)));
                *link = target.unwrap_or_else(|| link.take());
            }
        }
    }
}
