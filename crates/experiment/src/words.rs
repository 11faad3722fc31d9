//! Counts and lists of things in sentences.

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
