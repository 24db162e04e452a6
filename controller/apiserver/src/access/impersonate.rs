//! Acting as somebody else (`kubectl --as`), for those who may. Nothing that asks for it is passed over: a header that
//! cannot be read, or that is not known, is refused.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::user::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED};
use super::{Attributes, User, authorize};
use crate::gotext;
use crate::status::ApiError;
use crate::store::Index;

const PREFIX: &str = "impersonate-";
const EXTRA: &str = "extra-";
/// Where uids and extras are asked for; users and groups are in the core group.
const GROUP: &str = "authentication.k8s.io";

/// Whom somebody wants to be taken for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    name: String,
    uid: String,
    groups: Vec<String>,
    extra: Vec<(String, Vec<String>)>,
}

/// The user whose rights count: the one who asks, or the one they want to be taken for.
pub(crate) fn impersonate(index: &Index, headers: &HeaderMap, user: User) -> Result<User, ApiError> {
    let Some(wanted) = Wanted::read(headers)? else { return Ok(user) };
    wanted.asks().iter().try_for_each(|asked| authorize(index, &user, asked))?;
    Ok(wanted.into_user())
}

impl Wanted {
    /// `None` when the headers ask for nobody.
    fn read(headers: &HeaderMap) -> Result<Option<Self>, ApiError> {
        let (mut wanted, mut asks) = (Self::default(), false);
        for (header, value) in headers {
            let Some(what) = header.as_str().strip_prefix(PREFIX) else { continue };
            let text = text(header, value)?;
            match what {
                // Of several the first counts, and an empty one says nothing; both as upstream.
                "user" if wanted.name.is_empty() => wanted.name = text,
                "uid" if wanted.uid.is_empty() => wanted.uid = text,
                "user" | "uid" => {}
                "group" => {
                    asks = true;
                    wanted.groups.push(text);
                }
                _ => {
                    let key = what.strip_prefix(EXTRA).and_then(extra_key);
                    let key = key.ok_or_else(|| ApiError::bad_request(format!("the header {header} is not known")))?;
                    asks = true;
                    match wanted.extra.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, values)) => values.push(text),
                        None => wanted.extra.push((key, vec![text])),
                    }
                }
            }
        }
        asks |= !wanted.uid.is_empty();
        match (wanted.name.is_empty(), asks) {
            (false, _) => Ok(Some(wanted)),
            (true, false) => Ok(None),
            (true, true) => {
                let why = format!("requested {} without impersonating a user name", wanted.shown());
                Err(ApiError::bad_request(why))
            }
        }
    }

    /// Namespace and name, when a service account is wanted.
    fn account(&self) -> Option<(&str, &str)> {
        let (namespace, name) = self.name.strip_prefix("system:serviceaccount:")?.split_once(':')?;
        (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
    }

    /// What one must be allowed to.
    fn asks(&self) -> Vec<Attributes> {
        let core = |resource: &str, name: &str, namespace: &str| Attributes {
            verb: "impersonate".to_owned(),
            resource: resource.to_owned(),
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            ..Attributes::default()
        };
        let other = |resource: &str, subresource: &str, name: &str| Attributes {
            group: GROUP.to_owned(),
            subresource: subresource.to_owned(),
            ..core(resource, name, "")
        };
        let mut asked = vec![match self.account() {
            Some((namespace, account)) => core("serviceaccounts", account, namespace),
            None => core("users", &self.name, ""),
        }];
        if !self.uid.is_empty() {
            asked.push(other("uids", "", &self.uid));
        }
        asked.extend(self.groups.iter().map(|group| core("groups", group, "")));
        for (key, values) in &self.extra {
            asked.extend(values.iter().map(|value| other("userextras", key, value)));
        }
        asked
    }

    fn into_user(self) -> User {
        let mut groups = self.groups.clone();
        if let Some((namespace, _)) = self.account().filter(|_| groups.is_empty()) {
            groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
        }
        let has = |group: &str| groups.iter().any(|found| found == group);
        if self.name == ANONYMOUS {
            if !has(UNAUTHENTICATED) {
                groups.push(UNAUTHENTICATED.to_owned());
            }
        } else if !has(AUTHENTICATED) && !has(UNAUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        User { name: self.name.into(), uid: self.uid, groups, extra: self.extra }
    }

    /// As Go shows such a user.
    fn shown(&self) -> String {
        let list = |items: &[String]| match items {
            [] => "[]string(nil)".to_owned(),
            items => {
                let quoted: Vec<_> = items.iter().map(|item| gotext::quoted(item)).collect();
                format!("[]string{{{}}}", quoted.join(", "))
            }
        };
        let extra: Vec<String> =
            self.extra.iter().map(|(key, values)| format!("{}:{}", gotext::quoted(key), list(values))).collect();
        let extra = if extra.is_empty() { "(nil)".to_owned() } else { format!("{{{}}}", extra.join(", ")) };
        format!(
            "&user.DefaultInfo{{Name:\"\", UID:{}, Groups:{}, Extra:map[string][]string{extra}}}",
            gotext::quoted(&self.uid),
            list(&self.groups)
        )
    }
}

/// A header's value. One that is no text must not be taken for none.
fn text(header: &HeaderName, value: &HeaderValue) -> Result<String, ApiError> {
    let text = std::str::from_utf8(value.as_bytes());
    text.map(str::to_owned).map_err(|_| ApiError::bad_request(format!("the header {header} is not UTF-8")))
}

/// The key of an extra in the name of its header, where it is lower case and what no header name may have is escaped.
fn extra_key(escaped: &str) -> Option<String> {
    let mut plain = Vec::with_capacity(escaped.len());
    let mut bytes = escaped.bytes();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(plain).ok().map(|key| key.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Sent<'a> = &'a [(&'a str, &'a [u8])];

    fn read(pairs: Sent<'_>) -> Result<Option<Wanted>, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::try_from(*name).unwrap(), HeaderValue::from_bytes(value).unwrap());
        }
        Wanted::read(&headers).map_err(|error| error.to_string())
    }

    fn named(name: &str) -> Wanted {
        Wanted { name: name.to_owned(), ..Wanted::default() }
    }

    #[test]
    fn headers_say_who_is_wanted() {
        assert_eq!(read(&[("accept", b"*/*")]), Ok(None));
        assert_eq!(read(&[("impersonate-user", b"")]), Ok(None));
        assert_eq!(read(&[("impersonate-user", b"u"), ("impersonate-user", b"v")]), Ok(Some(named("u"))));
        assert_eq!(read(&[("impersonate-user", "j\u{e4}".as_bytes())]), Ok(Some(named("j\u{e4}"))));
        let all: Sent<'_> = &[
            ("Impersonate-User", b"u"),
            ("Impersonate-Uid", b"7"),
            ("Impersonate-Group", b"g"),
            ("Impersonate-Group", b"h"),
            ("Impersonate-Extra-Foo%2Fa", b"1"),
            ("Impersonate-Extra-foo%2fA", b"2"),
        ];
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let extra = vec![("foo/a".to_owned(), texts(&["1", "2"]))];
        let wanted = Wanted { uid: "7".to_owned(), groups: texts(&["g", "h"]), extra, ..named("u") };
        assert_eq!(read(all), Ok(Some(wanted)));
    }

    /// The first two are a real server's answers; it takes the others as if they were not there, or as other text.
    #[test]
    fn what_cannot_be_understood_is_refused() {
        let alone = |shown: &str| format!("requested {shown} without impersonating a user name (400 BadRequest)");
        let cases: [(Sent<'_>, String); 6] = [
            (
                &[("impersonate-group", b"g")],
                alone("&user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"g\"}, Extra:map[string][]string(nil)}"),
            ),
            (
                &[("impersonate-extra-a", b"7"), ("impersonate-group", b"g"), ("impersonate-uid", b"7")],
                alone(
                    "&user.DefaultInfo{Name:\"\", UID:\"7\", Groups:[]string{\"g\"}, \
                     Extra:map[string][]string{\"a\":[]string{\"7\"}}}",
                ),
            ),
            (&[("impersonate-user", b"j\xff")], "the header impersonate-user is not UTF-8 (400 BadRequest)".into()),
            (
                &[("impersonate-user", b"u"), ("impersonate-group", b"\x80")],
                "the header impersonate-group is not UTF-8 (400 BadRequest)".into(),
            ),
            (
                &[("impersonate-user", b"u"), ("impersonate-foo", b"x")],
                "the header impersonate-foo is not known (400 BadRequest)".into(),
            ),
            (
                &[("impersonate-user", b"u"), ("impersonate-extra-%zz", b"x")],
                "the header impersonate-extra-%zz is not known (400 BadRequest)".into(),
            ),
        ];
        for (headers, wanted) in cases {
            assert_eq!(read(headers), Err(wanted), "{headers:?}");
        }
    }

    #[test]
    fn each_part_must_be_allowed() {
        let wanted = Wanted {
            uid: "7".into(),
            groups: vec!["g".into()],
            extra: vec![("foo/a".into(), vec!["1".into(), "2".into()])],
            ..named("system:serviceaccount:ns:a")
        };
        let shown = |wanted: &Wanted| {
            let asks = wanted.asks().into_iter();
            let asks = asks.map(|a| format!("{} {} {} {} {}", a.verb, a.group, a.full_resource(), a.namespace, a.name));
            asks.collect::<Vec<_>>()
        };
        assert_eq!(
            shown(&wanted),
            [
                "impersonate  serviceaccounts ns a",
                "impersonate authentication.k8s.io uids  7",
                "impersonate  groups  g",
                "impersonate authentication.k8s.io userextras/foo/a  1",
                "impersonate authentication.k8s.io userextras/foo/a  2",
            ]
        );
        for name in ["u", "system:serviceaccount:ns:a:b", "system:serviceaccount::a", "system:serviceaccount:ns:"] {
            assert_eq!(shown(&named(name)), [format!("impersonate  users  {name}")]);
        }
    }

    /// As a real server shows whom it takes one for.
    #[test]
    fn groups_are_those_that_go_with_the_user() {
        let cases: [(&str, &[&str], &[&str]); 6] = [
            ("u", &[], &["system:authenticated"]),
            ("u", &["g"], &["g", "system:authenticated"]),
            ("u", &["system:unauthenticated"], &["system:unauthenticated"]),
            (
                "system:serviceaccount:ns:a",
                &[],
                &["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
            ),
            ("system:serviceaccount:ns:a", &["g"], &["g", "system:authenticated"]),
            ("system:anonymous", &["g"], &["g", "system:unauthenticated"]),
        ];
        for (name, groups, wanted) in cases {
            let groups = groups.iter().map(|group| (*group).to_owned()).collect();
            assert_eq!(Wanted { groups, ..named(name) }.into_user().groups, wanted, "{name}");
        }
    }
}
