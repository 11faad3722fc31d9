//! Commands that reproduce a run.

/// `text`, quoted as one word of a shell command.
pub fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The command that runs a scenario with these keys set.
pub fn run_command(file: &str, set: &[(String, String)]) -> String {
    let mut command = format!("driftway run {}", shell_quoted(file));
    for (key, value) in set {
        command += &format!(" --set {}", shell_quoted(&format!("{key}={value}")));
    }
    command
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn quoting_yields_one_shell_word() {
        assert_eq!(shell_quoted("a/b-1.toml"), "a/b-1.toml");
        assert_eq!(shell_quoted("duration=\"3 s\""), "'duration=\"3 s\"'");
        assert_eq!(shell_quoted("it's"), r"'it'\''s'");
        assert_eq!(shell_quoted(""), "''");
    }

    #[test]
    fn overrides_follow_the_file() {
        let set = [("duration".to_owned(), "9 s".to_owned())];
        assert_eq!(run_command("a b.toml", &set), "driftway run 'a b.toml' --set 'duration=9 s'");
    }
}
