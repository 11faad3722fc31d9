//! Keys that were renamed: an error names the present key.

/// A key that was renamed.
struct Renamed {
    old: &'static str,
    new: &'static str,
    /// Another key of the same table, which distinguishes it from other tables with the key `new`.
    beside: &'static str,
    /// The old value true is false now.
    inverted: bool,
}

const RENAMED: [Renamed; 6] = [
    Renamed { old: "again", new: "retry", beside: "requests", inverted: false },
    Renamed { old: "first_at_once", new: "backoff_before_first", beside: "cw_min", inverted: true },
    Renamed { old: "last_place", new: "count_arriving", beside: "packets", inverted: true },
    Renamed { old: "rescue", new: "reroute_queued", beside: "local_repair", inverted: false },
    Renamed { old: "spread", new: "jitter", beside: "size", inverted: false },
    Renamed { old: "spread", new: "multipath", beside: "hops", inverted: false },
];

/// Hint for an old key of the table with the keys `known`; `None` if it never had this key.
pub(crate) fn renamed_key(key: &str, known: &[&str]) -> Option<String> {
    let had_key = |renamed: &&Renamed| {
        renamed.old == key && known.contains(&renamed.new) && known.contains(&renamed.beside)
    };
    let Renamed { old, new, inverted, .. } = RENAMED.iter().find(had_key)?;
    let values = if *inverted {
        format!(", with the inverted meaning: `{old} = true` is `{new} = false`")
    } else {
        String::new()
    };
    Some(format!("its name is now `{new}`{values}"))
}
