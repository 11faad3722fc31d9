//! Counts and lists of things in sentences.

use driftway_scenario::nearest;

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
