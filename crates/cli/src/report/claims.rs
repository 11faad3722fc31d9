//! Claims in names and descriptions that are not true of a set of scenarios, or of one of them.

use std::collections::BTreeMap;

use driftway_scenario::quantity;

/// Values of each varying key, against which texts are checked.
pub struct Claims<'a> {
    values: &'a BTreeMap<String, Vec<String>>,
    /// Keys of the scenario that a text is about; `None` for all scenarios.
    of: Option<&'a BTreeMap<String, String>>,
}

/// Separators of the clauses of a name.
const CLAUSE_SEPARATORS: [&str; 5] = [", ", "; ", ": ", " – ", " ("];

/// Counts in words, which names use besides digits.
const NUMBER_WORDS: [&str; 16] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twenty",
    "thirty", "forty", "fifty", "sixty", "hundred",
];

/// Keys of counts, each with the noun that follows the count in a name.
const COUNTED_KEYS: [(&str, &str); 3] =
    [("flows", "flow"), ("network.hops", "hop"), ("network.nodes", "node")];

impl<'a> Claims<'a> {
    /// Checks texts about all scenarios of a set.
    pub const fn of_all(values: &'a BTreeMap<String, Vec<String>>) -> Self {
        Self { values, of: None }
    }

    /// Checks texts about one scenario.
    pub const fn of_one(
        values: &'a BTreeMap<String, Vec<String>>,
        keys: &'a BTreeMap<String, String>,
    ) -> Self {
        Self { values, of: Some(keys) }
    }

    /// The clauses of a name that are true; empty if none is.
    pub fn true_part(&self, name: &str) -> String {
        let mut rest = name;
        let (mut kept, mut all) = (Vec::new(), true);
        loop {
            let end =
                CLAUSE_SEPARATORS.iter().filter_map(|end| Some((rest.find(end)?, end.len()))).min();
            let clause = end.map_or(rest, |(at, _)| &rest[..at]);
            if self.are_consistent_with(clause) {
                kept.push(clause);
            } else {
                all = false;
            }
            match end {
                Some((at, length)) => rest = &rest[at + length..],
                None => break,
            }
        }
        let kept = || kept.iter().map(|clause| clause.trim_end_matches(')'));
        if all { name.to_owned() } else { kept().collect::<Vec<_>>().join(", ") }
    }

    /// Returns true if nothing in `text` contradicts the values.
    pub fn are_consistent_with(&self, text: &str) -> bool {
        let words = words(text);
        self.values.iter().all(|(key, values)| self.is_key_consistent(key, values, &words))
    }

    fn is_key_consistent(&self, key: &str, values: &[String], words: &[String]) -> bool {
        if COUNTED_KEYS.iter().any(|(of, thing)| *of == key && is_counted(thing, words)) {
            return self.of.is_some();
        }
        let mut left = words.to_vec();
        let mut named: Vec<&str> = Vec::new();
        let mut longest_first: Vec<&String> = values.iter().collect();
        longest_first.sort_by_key(|value| std::cmp::Reverse(value.len()));
        for value in longest_first {
            let names = value_words(key, value);
            if !names.is_empty() && remove_words(&mut left, &names) {
                named.push(value);
            }
        }
        match self.of {
            Some(keys) => named.is_empty() || named.contains(&keys.get(key).map_or("", |v| v)),
            // Two numbers may be the ends of a range.
            None if values.iter().all(|value| quantity(value).is_some()) => named.len() != 1,
            None => {
                let spoken =
                    values.iter().filter(|value| !value_words(key, value).is_empty()).count();
                named.is_empty() || (named.len() == spoken && named.len() > 1)
            }
        }
    }
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '.');
    words
        .map(|word| word.trim_matches('.').to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

/// Words by which a text would name a value; empty if they cannot be recognised.
fn value_words(key: &str, value: &str) -> Vec<String> {
    match value {
        "none" if key.ends_with(".aid") => vec!["tcp".to_owned()],
        "" | "none" | "true" | "false" | "standard" => Vec::new(),
        // A number without a unit may have any meaning.
        _ if value.parse::<f64>().is_ok() => Vec::new(),
        _ => words(value),
    }
}

/// Removes `what` from `words`; false if it is not there.
fn remove_words(words: &mut Vec<String>, what: &[String]) -> bool {
    let found = words.windows(what.len()).position(|window| window == what);
    if let Some(at) = found {
        words.drain(at..at + what.len());
    }
    found.is_some()
}

/// Returns true if a count precedes the noun, as in `two lossy hops` or `50 nodes`.
fn is_counted(thing: &str, words: &[String]) -> bool {
    let is_thing = |word: &String| word == thing || word.strip_suffix('s') == Some(thing);
    let is_count = |word: &String| {
        NUMBER_WORDS.contains(&word.as_str()) || word.bytes().all(|b| b.is_ascii_digit())
    };
    words
        .iter()
        .position(is_thing)
        .is_some_and(|at| words[at.saturating_sub(2)..at].iter().any(is_count))
}

#[cfg(test)]
mod test {
    use super::*;

    fn values() -> BTreeMap<String, Vec<String>> {
        [
            ("network.routing.protocol", &["aodv", "dsr"][..]),
            ("flow.0.aid", &["none", "atcp"]),
            ("network.mobility.pause", &["0 s", "10 s", "30 s"]),
            ("network.nodes", &["10", "50"]),
        ]
        .map(|(key, values)| (key.to_owned(), values.iter().map(|v| (*v).to_owned()).collect()))
        .into()
    }

    #[test]
    fn the_name_of_a_set_has_no_clause_about_some_scenarios_only() {
        let values = values();
        let claims = Claims::of_all(&values);
        for (name, part) in [
            ("moving nodes, AODV", "moving nodes"),
            ("AODV, moving nodes", "moving nodes"),
            ("moving nodes (AODV)", "moving nodes"),
            ("AODV and DSR, moving nodes", "AODV and DSR, moving nodes"),
            ("pause 10 s: moving nodes", "moving nodes"),
            ("pauses from 0 s to 30 s", "pauses from 0 s to 30 s"),
            ("TCP and ATCP", "TCP and ATCP"),
            ("ATCP, figure 8", "figure 8"),
            ("fifty nodes, two ways", "two ways"),
            ("AODV", ""),
        ] {
            assert_eq!(claims.true_part(name), part, "{name}");
        }
    }

    #[test]
    fn the_name_of_a_scenario_has_no_clause_about_another() {
        let values = values();
        let keys = [("network.routing.protocol", "dsr"), ("flow.0.aid", "none")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let claims = Claims::of_one(&values, &keys);
        assert_eq!(claims.true_part("moving nodes, AODV"), "moving nodes");
        assert_eq!(claims.true_part("moving nodes, DSR"), "moving nodes, DSR");
        assert!(
            claims.are_consistent_with("AODV and DSR with TCP")
                && !claims.are_consistent_with("DSR with ATCP")
        );
    }
}
