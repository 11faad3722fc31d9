//! Names with `*` in lists of figures, arms, groups and readings.

/// Returns whether `pattern` is `name`, or becomes it if each `*` is replaced by some text or none.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name) in [
            ("50-*", "50-1-tap"),
            ("*-tap", "50-1-tap"),
            ("50-*-tap", "50-1-tap"),
            ("*", ""),
            ("a*", "a"),
            ("a*b*c", "a-b-b-c"),
            ("a", "a"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("50-*", "load-50-1"), ("*-tap", "50-1"), ("a*a", "a"), ("a", "ab"), ("a*b*c", "acb")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
