//! The propagation delay over a distance.

/// Returns the propagation delay over a squared distance (m²) in whole nanoseconds.
#[inline]
pub(super) fn propagation_delay_ns(distance_squared: f64, nanos_per_metre: f64) -> u64 {
    // 2⁵²: the sum holds its integer part in the low bits, which is faster than a conversion.
    const INTEGER: f64 = 4_503_599_627_370_496.0;
    (distance_squared.sqrt() * nanos_per_metre + INTEGER).to_bits() - INTEGER.to_bits()
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn delays_are_exact_to_the_nanosecond() {
        let nanos_per_metre = 1e9 / 299_792_458.0;
        for metres in [0.0, 0.1, 1.0, 33.3, 200.0, 250.0, 550.0, 12_345.6, 4e5, 9e8] {
            let nanos = (metres * 1e9_f64 / 299_792_458.0).round();
            assert_eq!(
                propagation_delay_ns(metres * metres, nanos_per_metre),
                nanos as u64,
                "{metres} m"
            );
        }
    }
}
