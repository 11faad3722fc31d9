//! The lines with which the README of a paper begins: what was claimed, what was found.

/// A line: its first words, which the README has in bold, and the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryLine {
    /// Such as `Claimed:`.
    pub head: String,
    /// The rest.
    pub text: String,
}

/// The first numbered list of a README in Markdown; empty if it has none.
pub fn summary_lines(readme: &str) -> Vec<SummaryLine> {
    let list = readme.lines().skip_while(|line| item(line).is_none());
    let list = list.take_while(|line| !line.trim().is_empty());
    let mut items: Vec<String> = Vec::new();
    for line in list {
        match (item(line), items.last_mut()) {
            (Some(text), _) => items.push(text.to_owned()),
            (None, Some(last)) => *last += &format!(" {}", line.trim()),
            (None, None) => {}
        }
    }
    items.iter().map(|item| split(item)).collect()
}

/// The text of a line that begins an item.
fn item(line: &str) -> Option<&str> {
    let (number, text) = line.split_once(". ")?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

fn split(item: &str) -> SummaryLine {
    let bold = item.strip_prefix("**").and_then(|rest| rest.split_once("**"));
    let (head, text) = bold.unwrap_or(("", item));
    SummaryLine { head: plain(head), text: plain(text.trim()) }
}

/// `text` without Markdown's signs for bold type and code.
fn plain(text: &str) -> String {
    text.replace("**", "").replace('`', "")
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_first_list_is_read() {
        let readme = "# A paper\n\n1. **Claimed:** that `it`\n   helps.\n2. **Result:** 2. it does\n\n1. other\n";
        let line = |head: &str, text: &str| SummaryLine { head: head.into(), text: text.into() };
        let lines = [line("Claimed:", "that it helps."), line("Result:", "2. it does")];
        assert_eq!(summary_lines(readme), lines);
        assert_eq!(summary_lines("# No list\n\ntext. more\n"), []);
        assert_eq!(summary_lines("1. plain\n"), [line("", "plain")]);
    }
}
