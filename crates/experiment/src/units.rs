//! Units of metrics and axes. The name of a metric ends with its unit.

use driftway_scenario::{Unit, quantity};

/// The ends of names, by unit.
const SUFFIXES: [(Unit, &str); 6] = [
    (Unit::Second, "_s"),
    (Unit::BitPerSecond, "_bps"),
    (Unit::Byte, "_bytes"),
    (Unit::Metre, "_m"),
    (Unit::MetrePerSecond, "_mps"),
    (Unit::Hertz, "_hz"),
];

/// A quantity in base units, or a bare number.
pub fn number(text: &str) -> Option<(f64, Unit)> {
    quantity(text).or_else(|| Some((text.parse().ok()?, Unit::One)))
}

/// The unit of a metric; a ratio of two metrics has none.
pub fn metric_unit(metric: &str) -> Unit {
    if metric.contains('/') {
        return Unit::One;
    }
    let has_end = |end: &str| metric == &end[1..] || metric.ends_with(end);
    SUFFIXES.iter().find(|(_, end)| has_end(end)).map_or(Unit::One, |(unit, _)| *unit)
}

/// The name of a metric without its unit.
pub fn without_suffix(metric: &str) -> &str {
    SUFFIXES.iter().find_map(|(_, end)| metric.strip_suffix(end)).unwrap_or(metric)
}

/// The end of the name of a value in this unit, such as `_s`; empty for counts and ratios.
pub fn suffix(unit: Unit) -> &'static str {
    SUFFIXES.iter().find(|(of, _)| *of == unit).map_or("", |(_, end)| end)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_name_ends_with_its_unit() {
        for (name, unit, bare) in [
            ("rtt_s", Unit::Second, "rtt"),
            ("throughput_bps", Unit::BitPerSecond, "throughput"),
            ("bytes", Unit::Byte, "bytes"),
            ("drops", Unit::One, "drops"),
            ("delivered_packets/duration_s", Unit::One, "delivered_packets/duration"),
            ("", Unit::One, ""),
        ] {
            assert_eq!((metric_unit(name), without_suffix(name)), (unit, bare));
        }
        assert_eq!((suffix(Unit::Hertz), suffix(Unit::One)), ("_hz", ""));
    }
}
