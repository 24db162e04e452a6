//! Numbers, strings and bytes as they are written in source.

use super::lex::Token;

/// A number at the start of `rest` and its length.
pub(super) fn number(rest: &[char]) -> Result<(Token, usize), String> {
    let text: String = rest.iter().take(64).collect();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let digits = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        let digits = hex.get(..digits).unwrap_or_default();
        let number = u64::from_str_radix(digits, 16).map_err(|_| format!("invalid number 0x{digits}"))?;
        return Ok(whole(number, &text, digits.len().saturating_add(2)));
    }
    let digits = |from: usize| text.get(from..).map_or(0, |t| t.find(|c: char| !c.is_ascii_digit()).unwrap_or(t.len()));
    let mut length = digits(0);
    let mut is_double = false;
    if text.get(length..).is_some_and(|t| t.starts_with('.')) && digits(length.saturating_add(1)) > 0 {
        is_double = true;
        length = length.saturating_add(1).saturating_add(digits(length.saturating_add(1)));
    }
    let exponent = text.get(length..).and_then(|t| t.strip_prefix(['e', 'E']));
    if let Some(exponent) = exponent {
        let sign = usize::from(exponent.starts_with(['+', '-'])).saturating_add(1);
        let count = digits(length.saturating_add(sign));
        if count > 0 {
            is_double = true;
            length = length.saturating_add(sign).saturating_add(count);
        }
    }
    let written = text.get(..length).unwrap_or_default();
    let bad = || format!("invalid number {written}");
    if is_double {
        return Ok((Token::Double(written.parse().map_err(|_| bad())?), length));
    }
    let number = written.parse().map_err(|_| bad())?;
    Ok(whole(number, &text, length))
}

fn whole(number: u64, text: &str, length: usize) -> (Token, usize) {
    if text.get(length..).is_some_and(|after| after.starts_with(['u', 'U'])) {
        return (Token::UInt(number), length.saturating_add(1));
    }
    (Token::Int(number), length)
}

/// A string or bytes at the start of `rest`, with its length; `None` when there is none.
pub(super) fn quoted(rest: &[char]) -> Result<Option<(Token, usize)>, String> {
    let (mut raw, mut bytes, mut start) = (false, false, 0_usize);
    while let Some(c @ ('r' | 'R' | 'b' | 'B')) = rest.get(start) {
        let flag = if c.eq_ignore_ascii_case(&'r') { &mut raw } else { &mut bytes };
        if *flag {
            return Ok(None);
        }
        *flag = true;
        start = start.saturating_add(1);
    }
    let Some(quote @ ('"' | '\'')) = rest.get(start).copied() else { return Ok(None) };
    let inside = rest.get(start..).unwrap_or_default();
    let width = if inside.starts_with(&[quote, quote, quote]) { 3 } else { 1 };
    let mut at = start.saturating_add(width);
    let mut out = Vec::new();
    loop {
        let left = rest.get(at..).unwrap_or_default();
        let Some(c) = left.first().copied() else { return Err("unterminated string".to_owned()) };
        if left.iter().take_while(|c| **c == quote).count() >= width {
            at = at.saturating_add(width);
            break;
        }
        if c == '\n' && width == 1 {
            return Err("unterminated string".to_owned());
        }
        if c != '\\' || raw {
            push(&mut out, c);
            at = at.saturating_add(1);
            continue;
        }
        at = at.saturating_add(escape(left, bytes, &mut out)?);
    }
    let token = if bytes {
        Token::Bytes(out)
    } else {
        Token::Text(String::from_utf8(out).map_err(|_| "string is not UTF-8".to_owned())?)
    };
    Ok(Some((token, at)))
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Appends what an escape stands for; answers its length.
fn escape(left: &[char], bytes: bool, out: &mut Vec<u8>) -> Result<usize, String> {
    let bad = || "invalid escape in string".to_owned();
    let c = left.get(1).copied().ok_or_else(bad)?;
    let plain = match c {
        'a' => Some('\u{7}'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'v' => Some('\u{b}'),
        '\\' | '?' | '"' | '\'' | '`' => Some(c),
        _ => None,
    };
    if let Some(plain) = plain {
        push(out, plain);
        return Ok(2);
    }
    let (radix, skip, count) = match c {
        'x' | 'X' => (16, 2, 2),
        'u' if !bytes => (16, 2, 4),
        'U' if !bytes => (16, 2, 8),
        '0'..='3' => (8, 1, 3),
        _ => return Err(bad()),
    };
    let digits: String = left.iter().skip(skip).take(count).collect();
    if digits.chars().count() != count {
        return Err(bad());
    }
    let code = u32::from_str_radix(&digits, radix).map_err(|_| bad())?;
    if bytes {
        out.push(u8::try_from(code).map_err(|_| bad())?);
    } else {
        push(out, char::from_u32(code).ok_or_else(bad)?);
    }
    Ok(count.saturating_add(skip))
}
