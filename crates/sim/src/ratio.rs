//! Ratios in results.

/// `value` over `by`; `None` if that is zero.
pub fn ratio(value: f64, by: f64) -> Option<f64> {
    (by > 0.0).then(|| value / by)
}
