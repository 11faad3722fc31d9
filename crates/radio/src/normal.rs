//! Normal deviates.

use driftway_base::RandomStream;

/// Draws a standard normal deviate of at most `limit` in absolute value, by the polar method (Marsaglia & Bray 1964)
/// with rejection.
pub(crate) fn truncated_normal(random: &mut RandomStream, limit: f64) -> f64 {
    loop {
        let (u, v) = (2.0 * random.uniform_f64() - 1.0, 2.0 * random.uniform_f64() - 1.0);
        let s = u * u + v * v;
        if s <= 0.0 || s >= 1.0 {
            continue;
        }
        let normal = u * (-2.0 * libm::log(s) / s).sqrt();
        if normal.abs() <= limit {
            return normal;
        }
    }
}
