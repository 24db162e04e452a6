//! Files that hold the checksums of images, in the forms that Metal3's documentation and Ironic accept.

use bessemer_protocol::{Digest, DigestAlgorithm};
use reqwest::StatusCode;

use super::SourceError;
use super::http::Http;

/// Largest file that is read, in bytes; one line an image.
const LARGEST: usize = 1 << 20;

/// The digest that the file at `url` has for the image at `image`.
pub(super) async fn fetch(
    http: &Http,
    url: &str,
    image: &str,
    algorithm: Option<DigestAlgorithm>,
) -> Result<Digest, SourceError> {
    let response = http.send(http.get(url)).await?;
    if response.status() != StatusCode::OK {
        return Err(SourceError::Answer(format!("checksum file {url}: status {}", response.status().as_u16())));
    }
    let text = http.text(response, LARGEST).await?;
    find(&text, name_of(image), algorithm).map_err(|why| SourceError::Answer(format!("checksum file {url}: {why}")))
}

/// The last part of a URL's path.
fn name_of(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default()
}

/// The digest for the file `name` in a checksum file: a single bare digest, `digest  name` lines as `sha256sum` writes them (`*name` for
/// binary), or `SHA256 (name) = digest` lines as BSD's tools do.
fn find(text: &str, name: &str, algorithm: Option<DigestAlgorithm>) -> Result<Digest, String> {
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let digest = |hex: &str| {
        Digest::parse(hex, algorithm)
            .ok_or_else(|| format!("{:?} is no digest of the wanted kind", hex.chars().take(140).collect::<String>()))
    };
    if let [line] = lines.as_slice()
        && !line.contains(char::is_whitespace)
    {
        return digest(line);
    }
    for line in &lines {
        if let Some((hex, file)) = entry(line)
            && file == name
        {
            return digest(hex);
        }
    }
    Err(match lines.len() {
        0 => "it is empty".to_owned(),
        count => format!("none of its {count} lines is for {name:?}"),
    })
}

/// Digest and bare name of a line.
fn entry(line: &str) -> Option<(&str, &str)> {
    if let Some((start, hex)) = line.rsplit_once(") = ") {
        let (_, file) = start.split_once(" (")?;
        return Some((hex, name_of(file)));
    }
    let (hex, file) = line.split_once(char::is_whitespace)?;
    let file = file.trim_start();
    Some((hex, name_of(file.strip_prefix('*').unwrap_or(file))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// File, name looked for, algorithm asked for, digest or a part of the reason.
    type Case<'a> = (String, &'a str, Option<DigestAlgorithm>, Result<&'a str, &'a str>);

    #[test]
    fn every_form_that_metal3_takes_is_read() {
        let (a, b) = ("ab".repeat(32), "cd".repeat(32));
        let md5 = "ef".repeat(16);
        let sha512 = "12".repeat(64);
        let table: &[Case] = &[
            (format!("{a}\n"), "x.raw", None, Ok(&a)),
            (format!("{a}  other.raw\n{b}  x.raw\n"), "x.raw", None, Ok(&b)),
            (format!("{a} *other.raw\n{b} *x.raw\n"), "x.raw", None, Ok(&b)),
            (format!("{b}  ./images/x.raw\n"), "x.raw", None, Ok(&b)),
            (format!("# comment\nSHA256 (x.raw) = {b}\nSHA512 (y.raw) = {sha512}\n"), "y.raw", None, Ok(&sha512)),
            (format!("{}  x.raw\r\n", md5.to_uppercase()), "x.raw", Some(DigestAlgorithm::Md5), Ok(&md5)),
            (format!("{a}  other.raw\n"), "x.raw", None, Err("none of its 1 lines")),
            (format!("{a}  x.raw\n"), "x.raw", Some(DigestAlgorithm::Sha512), Err("no digest of the wanted kind")),
            ("<html>404</html>".to_owned(), "x.raw", None, Err("no digest")),
            (String::new(), "x.raw", None, Err("empty")),
        ];
        for (text, name, algorithm, expected) in table {
            match (find(text, name, *algorithm), expected) {
                (Ok(digest), Ok(hex)) => assert_eq!(digest.hex, *hex, "{text}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{text}: {why}"),
                (other, _) => panic!("{text}: {other:?}"),
            }
        }
        assert_eq!(name_of("http://h/a/x.raw?sig=1/2#frag"), "x.raw");
    }
}
