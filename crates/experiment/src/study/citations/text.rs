//! Numbers in texts: which are cited, and whether they agree with the results.

/// A passage of a text with its cited numbers, which a file writes in braces.
#[derive(Clone, Debug, PartialEq)]
pub struct AnnotatedPassage {
    /// The text without braces, with whitespace collapsed.
    pub text: String,
    /// The numbers as written.
    pub numbers: Vec<String>,
}

impl AnnotatedPassage {
    /// Parses a passage.
    ///
    /// # Errors
    ///
    /// A message for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut plain, mut numbers) = (String::new(), Vec::new());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (number, behind) =
                after.split_once('}').ok_or_else(|| format!("`{text}` has no closing `}}`"))?;
            parse_number(number).ok_or_else(|| format!("`{number}` is not a number"))?;
            numbers.push(number.to_owned());
            plain += before;
            plain += number;
            rest = behind;
        }
        if numbers.is_empty() {
            return Err(format!("`{text}` has no number in braces"));
        }
        Ok(Self { text: collapse_whitespace(&(plain + rest)), numbers })
    }
}

/// Collapses whitespace to single spaces.
pub fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A number as written in a text: `1,198`, `2.5`, `−60`.
fn parse_number(text: &str) -> Option<f64> {
    let plain: String = text.chars().filter(|c| *c != ',').collect();
    let plain = plain.replace('−', "-");
    let digits = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    plain.parse().ok().filter(|_| plain.chars().all(digits))
}

/// Returns whether `found` agrees with the cited number to the decimals of the latter.
pub fn agrees(cited: &str, found: f64) -> bool {
    let Some(value) = parse_number(cited) else { return false };
    let decimals = cited.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let unit = (0..decimals).fold(1.0, |unit, _| unit / 10.0);
    // Results are recorded with six digits: a value half-way may round either way.
    (value - found).abs() <= 0.5 * unit + 5e-6 * found.abs()
}

/// The numbers of `text` outside all passages of `known`, each with its context. Numbers after
/// `RFC`, `§`, `figure` and `section` are names.
pub fn find_uncited(text: &str, known: &[String]) -> Vec<String> {
    let text = collapse_whitespace(text);
    let mut covered = vec![false; text.len()];
    for passage in known.iter().filter(|passage| !passage.is_empty()) {
        for (at, _) in text.match_indices(passage.as_str()) {
            covered[at..at + passage.len()].fill(true);
        }
    }
    let mut found = Vec::new();
    let mut last_end = 0;
    for (at, c) in text.char_indices() {
        if !c.is_ascii_digit() || at < last_end {
            continue;
        }
        let more = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
        let length = text[at..].find(|c| !more(c)).unwrap_or(text.len() - at);
        let number = text[at..at + length].trim_end_matches(['.', ',']);
        last_end = at + length;
        let before = &text[..at];
        let word = before.trim_end_matches([' ', '\u{a0}']).rsplit([' ', '(']).next().unwrap_or("");
        let names = ["RFC", "§", "figure", "figures", "Figure", "Figures", "section", "sections"];
        let is_name = names.contains(&word)
            || before.ends_with('§')
            || before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '-');
        if !is_name && !covered[at..at + number.len()].iter().all(|covered| *covered) {
            let start = before.char_indices().rev().nth(30).map_or(0, |(at, _)| at);
            let behind = &text[at..];
            let end = behind.char_indices().nth(30).map_or(text.len(), |(more, _)| at + more);
            found.push(format!("…{}…", &text[start..end]));
        }
    }
    found
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn braces_mark_the_numbers() {
        let passage = AnnotatedPassage::parse("takes {1,198} s\n  at {2.5} ms").unwrap();
        assert_eq!(passage.text, "takes 1,198 s at 2.5 ms");
        assert_eq!(passage.numbers, ["1,198", "2.5"]);
        for wrong in ["no number", "{12", "{soon}", "{inf}", "{1e3}"] {
            assert!(AnnotatedPassage::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_number_agrees_to_its_own_digits() {
        for (cited, found, right) in [
            ("1198", 1198.3, true),
            ("1198", 1198.6, false),
            ("1,198", 1198.3, true),
            ("2.5", 2.549, true),
            ("2.5", 2.56, false),
            ("−60", -60.4, true),
            ("0", 0.0, true),
            ("0", 0.6, false),
        ] {
            assert_eq!(agrees(cited, found), right, "{cited} {found}");
        }
    }

    #[test]
    fn uncited_numbers_are_found() {
        let known = ["takes 925 s".to_owned(), "20 runs".to_owned()];
        let text = "It takes 925 s in\n20 runs (RFC 6298, §5.2, figure 8, 4.4BSD), and 3.5 s more.";
        let found = find_uncited(text, &known);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("4.4BSD") && found[1].contains("3.5 s more"), "{found:?}");
    }
}
