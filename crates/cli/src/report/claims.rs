//! What a name or a description says of a set, or of one of its scenarios, that is not true of it.

use std::collections::BTreeMap;

use driftway_scenario::quantity;

/// The values of each key that varies, and what of them a text may not claim.
pub struct Claims<'a> {
    values: &'a BTreeMap<String, Vec<String>>,
    /// The scenario that a text is about; `None`: all of them.
    of: Option<&'a BTreeMap<String, String>>,
}

/// What parts the clauses of a name.
const CLAUSE_SEPARATORS: [&str; 5] = [", ", "; ", ": ", " – ", " ("];

/// Counts in words, which names have as well as digits.
const NUMBER_WORDS: [&str; 16] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twenty",
    "thirty", "forty", "fifty", "sixty", "hundred",
];

/// Keys whose number stands in names before this word.
const COUNTED_KEYS: [(&str, &str); 3] =
    [("flows", "flow"), ("network.hops", "hop"), ("network.nodes", "node")];

impl<'a> Claims<'a> {
    /// What may not be said of all scenarios of a set.
    pub const fn of_all(values: &'a BTreeMap<String, Vec<String>>) -> Self {
        Self { values, of: None }
    }

    /// What may not be said of one scenario.
    pub const fn of_one(
        values: &'a BTreeMap<String, Vec<String>>,
        keys: &'a BTreeMap<String, String>,
    ) -> Self {
        Self { values, of: Some(keys) }
    }

    /// The clauses of a name that are true; empty where none is.
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

    /// Is nothing in `text` known to be false?
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
            // Two numbers are the ends of a range.
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

/// How a value would stand in a text; empty where it could not be recognised.
fn value_words(key: &str, value: &str) -> Vec<String> {
    match value {
        "none" if key.ends_with(".aid") => vec!["tcp".to_owned()],
        "" | "none" | "true" | "false" | "standard" => Vec::new(),
        // A bare number could be any.
        _ if value.parse::<f64>().is_ok() => Vec::new(),
        _ => words(value),
    }
}

/// Takes `what` out of `words`; false where it is not there.
fn remove_words(words: &mut Vec<String>, what: &[String]) -> bool {
    let found = words.windows(what.len()).position(|window| window == what);
    if let Some(at) = found {
        words.drain(at..at + what.len());
    }
    found.is_some()
}

/// `two lossy hops`, `50 nodes`
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
    fn a_set_is_not_called_after_some_of_its_scenarios() {
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
    fn a_scenario_is_not_called_after_another() {
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
