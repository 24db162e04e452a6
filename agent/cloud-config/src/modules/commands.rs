//! `bootcmd` and `runcmd`. cloud-init makes one shell script of all commands of a list, so that a `cd` or a variable of one holds for the next; here
//! each is a step of its own, and the caller carries the shell's state from one to the next.

use super::ConfigError;
use crate::yaml::Node;

/// One command: a line for the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// For `sh -c`. Words of a list are in single quotes.
    pub line: String,
    /// For people: the words without quotes.
    pub words: String,
}

pub(super) fn read(config: &Node, key: &str) -> Result<Vec<Command>, ConfigError> {
    let Some(list) = config.get(key) else { return Ok(Vec::new()) };
    let Node::List(items) = list else { return Err(ConfigError::new(key, "is no list")) };
    let mut commands = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let wrong = || ConfigError::new(format!("{key}[{index}]"), "is neither a command nor a list of words");
        match item {
            null if null.is_null() => {}
            Node::List(words) if words.is_empty() => {}
            Node::List(words) => {
                let words = words.iter().map(word).collect::<Option<Vec<String>>>().ok_or_else(wrong)?;
                let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
                commands.push(Command { line: quoted.collect::<Vec<_>>().join(" "), words: words.join(" ") });
            }
            Node::Scalar { text, .. } => commands.push(Command { line: text.clone(), words: text.clone() }),
            _ => return Err(wrong()),
        }
    }
    Ok(commands)
}

/// One word as Python's `str` writes what YAML made of it.
fn word(word: &Node) -> Option<String> {
    match word {
        null if null.is_null() => Some("None".to_owned()),
        flag if flag.is_plain_flag() => Some(if flag.flag() == Some(true) { "True" } else { "False" }.to_owned()),
        Node::Scalar { text, plain: true } => {
            Some(word.number().map_or_else(|| text.clone(), |number| number.to_string()))
        }
        Node::Scalar { text, .. } => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    #[test]
    fn words_are_quoted_and_lines_are_not() {
        let config = yaml::parse("runcmd:\n- echo $X\n- [echo, it's, 1, yes, ~, \"yes\"]\n-\n- []\n- 5\n").unwrap();
        let lines: Vec<String> = read(&config, "runcmd").unwrap().into_iter().map(|command| command.line).collect();
        assert_eq!(lines, ["echo $X", r"'echo' 'it'\''s' '1' 'True' 'None' 'yes'", "5"]);
        let wrong = read(&yaml::parse("runcmd: [{a: b}]").unwrap(), "runcmd").unwrap_err();
        assert_eq!(wrong.to_string(), "cloud-config: runcmd[0]: is neither a command nor a list of words");
        assert!(read(&yaml::parse("runcmd: ls").unwrap(), "runcmd").is_err());
    }
}
