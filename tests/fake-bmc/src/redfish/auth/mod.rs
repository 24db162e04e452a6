//! Who asks, and whether he may: Basic authentication, session tokens, roles, and passwords that must be changed first.

pub(super) mod accounts;
pub(super) mod sessions;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::ROOT;
use super::answer::Answer;
use super::service::Service;
use crate::host::users::{Account, Refused};

/// The session's token.
pub(super) const TOKEN: &str = "x-auth-token";

/// Somebody who was let in.
#[derive(Debug, Clone)]
pub(super) struct Who {
    pub(super) name: String,
    pub(super) role: String,
    pub(super) must_change_password: bool,
    id: u8,
}

impl From<Account> for Who {
    fn from(account: Account) -> Self {
        let Account { id, name, role, must_change_password, .. } = account;
        Self { name, role, must_change_password, id }
    }
}

impl Service {
    /// Lets somebody in, or says why not. None for what needs nobody: the root, and making a session.
    pub(super) fn authorise(&self, method: &str, path: &str, headers: &HeaderMap) -> Result<Option<Who>, Answer> {
        if self.is_open(method, path) {
            return Ok(None);
        }
        let who = self.who(headers)?;
        let own = self.account_path(who.id);
        let of_session = method == "DELETE" && path.starts_with(&self.tree.facts.sessions);
        if who.must_change_password && own.as_deref() != Some(path) && !of_session {
            return Err(password_change_required(&own.unwrap_or_default()));
        }
        let reads = matches!(method, "GET" | "HEAD" | "OPTIONS");
        let of_accounts = self.tree.facts.accounts.as_ref().is_some_and(|accounts| path.starts_with(accounts));
        let may = match who.role.as_str() {
            "Administrator" => true,
            "Operator" => reads || !of_accounts || own.as_deref() == Some(path),
            _ => reads || of_session || own.as_deref() == Some(path),
        };
        if may { Ok(Some(who)) } else { Err(insufficient()) }
    }

    fn is_open(&self, method: &str, path: &str) -> bool {
        let reads = matches!(method, "GET" | "HEAD");
        let open = ["/redfish".to_owned(), ROOT.to_owned(), format!("{ROOT}/odata"), format!("{ROOT}/$metadata")];
        let made = path.strip_suffix("/Members").unwrap_or(path);
        (reads && open.iter().any(|open| open == path)) || (method == "POST" && made == self.tree.facts.sessions)
    }

    fn who(&self, headers: &HeaderMap) -> Result<Who, Answer> {
        if let Some(token) = headers.get(TOKEN).and_then(|token| token.to_str().ok()) {
            let timeout = self.behaviour().session_timeout;
            let user = self.sessions().user(token, timeout).ok_or_else(|| unauthorised("no such session"))?;
            let users = self.host.users();
            return users.named(&user).cloned().map(Who::from).ok_or_else(|| unauthorised("no such account"));
        }
        let basic = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Basic "));
        let Some(basic) = basic.filter(|_| self.behaviour().basic) else { return Err(unauthorised("nobody said who")) };
        let pair = BASE64_STANDARD.decode(basic).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let Some((name, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) else {
            return Err(unauthorised("malformed credentials"));
        };
        self.log_in(name, password)
    }

    pub(super) fn log_in(&self, name: &str, password: &str) -> Result<Who, Answer> {
        let result = self.host.users().log_in(name, password);
        result.map(Who::from).map_err(|refused| match refused {
            Refused::Wrong => unauthorised("these are no valid credentials"),
            Refused::Locked => unauthorised("the account is locked"),
            Refused::Disabled => unauthorised("the account is disabled"),
        })
    }
}

fn unauthorised(sentence: &str) -> Answer {
    Answer::error(401, "ResourceAtUriUnauthorized", sentence, &[]).with("WWW-Authenticate", "Basic realm=\"Redfish\"")
}

fn insufficient() -> Answer {
    Answer::error(403, "InsufficientPrivilege", "the account's role does not allow this", &[])
}

pub(super) fn password_change_required(account: &str) -> Answer {
    Answer::error(403, "PasswordChangeRequired", "the password must be changed first", &[account])
}
