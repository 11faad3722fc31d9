//! Counts and lists of things in sentences.

use driftway_scenario::nearest;

/// The maximum number of names that are suggested in place of a wrong one.
const MAX_SUGGESTED: usize = 5;

/// Metrics that a wrong name can be replaced by: the nearest, or else those with a word in common.
pub fn suggested_metrics<S: AsRef<str>>(wrong: &str, known: &[S]) -> String {
    const ALL: &str = "docs/results.md lists all metrics";
    let known = || known.iter().map(AsRef::as_ref);
    if let Some(near) = nearest(wrong, known()) {
        return format!("did you mean `{near}`? {ALL}");
    }
    let words = || wrong.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 2);
    let like = known().filter(|name| words().any(|word| name.contains(word)));
    let like: Vec<&str> = like.take(MAX_SUGGESTED).collect();
    if like.is_empty() { ALL.to_owned() } else { format!("similar: {}; {ALL}", like.join(", ")) }
}

/// `1 run`, `2 runs`
pub fn count(n: u64, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// `1`, `1 and 2`, `1, 2 and 3`; after the sixth, the number of remaining items.
pub fn list(items: &[String]) -> String {
    let (shown, more) = items.split_at(items.len().min(6));
    match shown {
        _ if !more.is_empty() => format!("{} and {} more", shown.join(", "), more.len()),
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The names that a wrong one can be replaced by: `available: a, b`, after the one that is probably meant.
pub fn available<S: AsRef<str>>(wrong: &str, names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let near = nearest(wrong, names.iter().copied());
    let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
    format!("{near}available: {}", names.join(", "))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_wrong_metric_has_suggestions() {
        let known = ["delay_s", "delay_p50_s", "throughput_bps", "mac.collisions"];
        let suggested = |wrong| suggested_metrics(wrong, &known);
        assert!(suggested("troughput_bps").starts_with("did you mean `throughput_bps`? docs/"));
        let like = suggested("end_to_end_delay");
        assert!(like.starts_with("similar: delay_s, delay_p50_s; docs/"), "{like}");
        assert_eq!(suggested("happiness"), "docs/results.md lists all metrics");
    }
}
