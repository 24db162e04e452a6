//! From a request to an answer: faults before, who asks, which resource and method, faults after. It must not know how a
//! resource is read or written.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use http::header::IF_NONE_MATCH;
use serde_json::Value;
use tokio::time::Instant;

use super::answer::{Answer, Body};
use super::faults::{Fault, Twist};
use super::json::{clean, kind};
use super::service::Service;
use super::{ROOT, metadata};

/// A request as it came.
#[derive(Debug)]
pub struct Request {
    /// HTTP method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Headers.
    pub headers: HeaderMap,
    /// Body, whole.
    pub body: Bytes,
}

impl Service {
    /// Answers a request. None ends the connection without an answer.
    pub async fn handle(self: &Arc<Self>, request: Request) -> Option<Answer> {
        let path = clean(&request.target);
        self.recorder().add(&request.method, &request.target, &request.headers, &request.body);
        let faults = self.faults().take(&request.method, &path);
        for fault in &faults {
            match fault {
                Fault::Delay(delay) => tokio::time::sleep(*delay).await,
                Fault::Status(status, retry_after) => {
                    let answer = Answer::error(*status, "ServiceTemporarilyUnavailable", "not now", &[]);
                    let after = retry_after.map(|after| after.as_secs().to_string());
                    return Some(after.map_or(answer.clone(), |after| answer.with("Retry-After", after)));
                }
                Fault::Redirect(status, to) => {
                    return Some(Answer::new(*status, Body::Empty).with("Location", to.as_str()));
                }
                Fault::Html(status) => {
                    let page = Bytes::from_static(b"<!DOCTYPE html>\n<html><body><h1>Please wait</h1></body></html>\n");
                    return Some(Answer::new(*status, Body::Raw("text/html", page)));
                }
                Fault::Hang => std::future::pending().await,
                Fault::Disconnect => return None,
                Fault::NotFound => return Some(Answer::not_found(&path)),
                Fault::DropSessions => self.sessions().drop_all(),
                _ => {}
            }
        }
        let answer = self.answer(&request, &path, &Twist::of(&faults));
        mangle(answer, &faults)
    }

    fn answer(self: &Arc<Self>, request: &Request, path: &str, twist: &Twist) -> Answer {
        if self.is_away(Instant::now()) {
            let sentence = "the controller is starting";
            return Answer::error(503, "ServiceTemporarilyUnavailable", sentence, &["1"]).with("Retry-After", "1");
        }
        if self.behaviour().needs_odata_version && !request.headers.contains_key("odata-version") {
            return Answer::error(412, "HeaderMissing", "OData-Version is needed", &["OData-Version"]);
        }
        if let Some(version) = request.headers.get("odata-version").filter(|version| *version != "4.0") {
            let version = String::from_utf8_lossy(version.as_bytes()).into_owned();
            return Answer::error(412, "HeaderInvalid", "OData-Version is 4.0 here", &[&version]);
        }
        if let Err(answer) = self.authorise(&request.method, path, &request.headers) {
            return answer;
        }
        match request.method.as_str() {
            "GET" | "HEAD" => self.get(request, path),
            "PATCH" => match object(&request.body) {
                Some(body) => self.patch(path, body, &request.headers, twist),
                None => Answer::malformed(),
            },
            "POST" => self.post(request, path, twist),
            "DELETE" => self.delete(path, twist),
            "OPTIONS" => match self.read(path) {
                Some(body) => Answer::no_content().with("Allow", self.allow(path, &body)),
                None => Answer::not_found(path),
            },
            method => self.unfit(method, path),
        }
    }

    fn get(self: &Arc<Self>, request: &Request, path: &str) -> Answer {
        match path.strip_prefix(ROOT) {
            None if path == "/redfish" => return metadata::versions(),
            Some("/odata") => return metadata::service_document(&self.tree),
            Some("/$metadata") => return metadata::metadata(&self.tree),
            _ => {}
        }
        if let Some(answer) = self.monitor(path) {
            return answer;
        }
        if let Some(page) = self.crawled_page(&request.target) {
            return Answer::ok(page);
        }
        let Some(body) = self.read(path) else {
            return self.unfit("GET", path);
        };
        let allow = self.allow(path, &body);
        let described = format!("<{}/{}.json>; rel=describedby", metadata::SCHEMAS, kind(&body));
        let query = request.target.split_once('?').map_or("", |(_, query)| query);
        let mut body = match self.query(body, path, query) {
            Ok(body) => body,
            Err(answer) => return answer,
        };
        let etag = self.stamp(&mut body);
        let known = request.headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
        let answer = match etag.as_deref() {
            Some(etag) if known == Some(etag) => Answer::new(304, Body::Empty),
            _ => Answer::ok(body),
        };
        let answer = answer.with("Allow", allow).with("Link", described);
        if let Some(etag) = etag { answer.with("ETag", etag) } else { answer }
    }

    fn post(self: &Arc<Self>, request: &Request, path: &str, twist: &Twist) -> Answer {
        let facts = &self.tree.facts;
        let body = if request.body.is_empty() { Some(serde_json::json!({})) } else { object(&request.body) };
        let Some(body) = body else { return Answer::malformed() };
        if let Some(action) = facts.actions.get(path) {
            return self.act(action, body, &request.headers, twist);
        }
        let collection = path.strip_suffix("/Members").unwrap_or(path);
        if collection == facts.sessions {
            self.create_session(&body)
        } else if facts.subscriptions.as_deref() == Some(collection) {
            self.subscribe(collection, &body)
        } else if facts.accounts.as_deref() == Some(collection) {
            self.create_account(&body)
        } else {
            self.unfit("POST", path)
        }
    }

    fn delete(self: &Arc<Self>, path: &str, twist: &Twist) -> Answer {
        let facts = &self.tree.facts;
        let below = |collection: &str| path.strip_prefix(collection).is_some_and(|rest| rest.starts_with('/'));
        if twist.ignore {
            Answer::no_content()
        } else if below(&facts.sessions) {
            self.delete_session(path)
        } else if facts.subscriptions.as_deref().is_some_and(below) {
            self.unsubscribe(path)
        } else if facts.accounts.as_deref().is_some_and(below) {
            self.delete_account(path)
        } else if below(&facts.tasks) {
            self.delete_task(path)
        } else {
            self.unfit("DELETE", path)
        }
    }

    /// A method that the resource does not take, or no resource.
    fn unfit(&self, method: &str, path: &str) -> Answer {
        match self.read(path) {
            Some(body) => Answer::not_allowed(method, self.allow(path, &body)),
            None if self.tree.facts.actions.contains_key(path) => Answer::not_allowed(method, "POST"),
            None => Answer::not_found(path),
        }
    }

    /// A page of a collection that the seed holds under its own address, query and all.
    pub(super) fn crawled_page(&self, target: &str) -> Option<Value> {
        let held = target.contains('?') && self.tree.get(target).is_some();
        held.then(|| self.read(target)).flatten()
    }
}

fn object(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body).ok().filter(Value::is_object)
}

/// What faults make of an answer.
fn mangle(answer: Answer, faults: &[Fault]) -> Option<Answer> {
    let mut answer = answer;
    for fault in faults {
        match fault {
            Fault::LoseAnswer => return None,
            Fault::Garbage => {
                answer.body = Body::Raw("application/json", Bytes::from_static(b"\x00\xff{\"Members\": [,,]} \x1f"));
            }
            Fault::EmptyBody => answer.body = Body::Empty,
            Fault::Truncate => answer.cut = true,
            Fault::Huge(bytes) => answer.padding = *bytes,
            Fault::ContentType(name) => answer.content_type = Some(name.clone()),
            Fault::NoLocation => answer.headers.retain(|(name, _)| *name != "Location"),
            Fault::NoEtag => {
                answer.headers.retain(|(name, _)| *name != "ETag");
                if let Body::Json(Value::Object(body)) = &mut answer.body {
                    body.remove("@odata.etag");
                }
            }
            _ => {}
        }
    }
    Some(answer)
}
