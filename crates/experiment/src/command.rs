//! Commands that reproduce a run.

/// `text`, quoted as one word of a shell command.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The command that runs a scenario with these keys set.
pub fn run(file: &str, set: &[(String, String)]) -> String {
    let mut command = format!("driftway run {}", quoted(file));
    for (key, value) in set {
        command += &format!(" --set {}", quoted(&format!("{key}={value}")));
    }
    command
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn quoting_yields_one_shell_word() {
        assert_eq!(quoted("a/b-1.toml"), "a/b-1.toml");
        assert_eq!(quoted("duration=\"3 s\""), "'duration=\"3 s\"'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn overrides_follow_the_file() {
        let set = [("duration".to_owned(), "9 s".to_owned())];
        assert_eq!(run("a b.toml", &set), "driftway run 'a b.toml' --set 'duration=9 s'");
    }
}
