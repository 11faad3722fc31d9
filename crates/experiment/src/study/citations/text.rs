//! Numbers in texts: where they are, and whether they agree with the results.

/// A number in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Occurrence {
    /// The number as written, without its sign.
    pub number: String,
    /// The number with the words around it.
    pub context: String,
}

/// Collapses whitespace to single spaces.
pub fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A number as written in a text: `1,198`, `2.5`, `−60`.
pub fn parse_number(text: &str) -> Option<f64> {
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

/// Words after which a number is a name.
const NAMED: [&str; 4] = ["RFC", "§", "figure", "section"];

/// Words after which all numbers of a list are names: `figures 8, 9 and 13`.
const NAMED_LISTS: [&str; 2] = ["figures", "sections"];

/// Separators of the numbers of a list.
const SEPARATORS: [&str; 4] = [",", "and", "or", "to"];

/// The numbers of `text`. Numbers after `RFC`, `§`, `figure` and `section`, and in words such as
/// `ns-2`, `4.4BSD` and 802.11, are names.
pub fn numbers_in(text: &str) -> Vec<Occurrence> {
    let text = collapse_whitespace(text);
    let mut found = Vec::new();
    let (mut last_end, mut in_named_list) = (0, false);
    for (at, c) in text.char_indices() {
        if !c.is_ascii_digit() || at < last_end {
            continue;
        }
        let more = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
        let length = text[at..].find(|c| !more(c)).unwrap_or(text.len() - at);
        let number = text[at..at + length].trim_end_matches(['.', ',']);
        let since = text[last_end..at].trim();
        let after_number = text[..last_end].ends_with(',') && since.is_empty();
        in_named_list &= after_number || SEPARATORS.contains(&since);
        last_end = at + length;
        let (before, behind) = (&text[..at], &text[at + number.len()..]);
        let word = before.trim_end_matches([' ', '\u{a0}']).rsplit([' ', '(']).next().unwrap_or("");
        let word = word.to_lowercase();
        in_named_list |= NAMED_LISTS.contains(&word.as_str());
        let is_name = in_named_list
            || NAMED.iter().any(|name| name.to_lowercase() == word)
            || number == "802.11"
            || before.ends_with('§')
            || behind.starts_with(char::is_alphabetic)
            || before.ends_with(|c: char| c.is_alphanumeric() || c == '-');
        if !is_name {
            let start = before.char_indices().rev().nth(30).map_or(0, |(at, _)| at);
            let behind = &text[at..];
            let end = behind.char_indices().nth(30).map_or(text.len(), |(more, _)| at + more);
            let context = format!("…{}…", &text[start..end]);
            found.push(Occurrence { number: number.to_owned(), context });
        }
    }
    found
}

#[cfg(test)]
mod test {
    use super::*;

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
    fn numbers_are_found_and_names_are_not() {
        let text = "It takes 1,925 s in\n20 runs (RFC 6298, §5.2, figure 8, ns-2), and 3.5 s, 4. \
                    Figures 8, 9 and 13 to 15 have 802.11 and 4.4BSD, 16 not; figure 8 and 17.";
        let found = numbers_in(text);
        let numbers: Vec<_> = found.iter().map(|of| of.number.as_str()).collect();
        assert_eq!(numbers, ["1,925", "20", "3.5", "4", "16", "17"]);
        assert_eq!(found[1].context, "…It takes 1,925 s in 20 runs (RFC 6298, §5.2, figur…");
    }
}
