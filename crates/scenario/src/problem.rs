//! Invalid values, and the conditions that values must meet.

use crate::Time;
use crate::error::Diagnostic;
use crate::tree::Node;

/// An invalid value.
pub(crate) struct Problem {
    /// Dotted key.
    pub(crate) key: String,
    /// Message, and a hint after a line break.
    pub(crate) message: String,
}

impl Problem {
    /// Adds the location of the key in `tree`.
    pub fn locate(self, tree: &Node) -> Diagnostic {
        Diagnostic::new(&self.message).at(tree.origin_of(&self.key))
    }
}

pub(crate) type CheckResult = Result<(), Problem>;

/// Returns an error for `key` unless `right` holds.
pub(crate) fn require(
    right: bool,
    key: impl Into<String>,
    message: impl FnOnce() -> String,
) -> CheckResult {
    if right { Ok(()) } else { Err(Problem { key: key.into(), message: message() }) }
}

pub(crate) fn require_range(
    key: String,
    what: &str,
    found: u64,
    low: u64,
    high: u64,
) -> CheckResult {
    require((low..=high).contains(&found), key, || {
        format!("{what} {found} out of range {low}–{high}")
    })
}

pub(crate) fn require_positive(key: String, Time(found): Time) -> CheckResult {
    require(!found.is_zero(), key, || "this must be longer than 0 s".into())
}

/// Maximum of any time of a protocol, so that sums of a few of them do not overflow.
pub(crate) const MAX_PROTOCOL_TIME: Time = Time::from_secs(100_000_000);

pub(crate) fn require_at_most(key: String, found: Time, most: Time) -> CheckResult {
    require(found <= most, key, || format!("{found} is too long\nthe maximum is {most}"))
}
