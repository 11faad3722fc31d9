//! Scale of an axis: its ends, its ticks, and the place of a value between the ends.

use crate::text::chosen_value;

/// Ratio of the largest to the smallest value from which a scale is logarithmic, as on pages.
const LOG_RATIO: f64 = 30.0;

/// Scale of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisScale {
    low: f64,
    high: f64,
    is_logarithmic: bool,
    /// Values with a tick, and their labels.
    pub ticks: Vec<(f64, String)>,
}

impl AxisScale {
    /// Scale for values and the ends of their intervals, with about `ticks` ticks: logarithmic if the values span orders of
    /// magnitude, otherwise from zero. It is below zero only if a value is, not for the end of an interval alone.
    pub fn of_values(values: &[f64], ends: &[f64], ticks: usize) -> Self {
        let (least, most) = extent(values);
        let highest = ends.iter().copied().filter(|end| end.is_finite()).fold(most, f64::max);
        if spans_magnitudes(least, most) {
            let lowest = ends.iter().copied().filter(|end| *end >= least / 10.0);
            return Self::logarithmic(lowest.fold(least, f64::min), highest);
        }
        let lowest = ends.iter().copied().filter(|end| end.is_finite()).fold(least, f64::min);
        let low = if least < 0.0 { lowest } else { 0.0 };
        Self::linear_to_ticks(low, if highest > low { highest } else { low + 1.0 }, ticks)
    }

    /// Scale from the smallest to the largest of positions, with about `ticks` ticks between them.
    pub fn of_positions(values: &[f64], ticks: usize) -> Self {
        let (least, most) = extent(values);
        if spans_magnitudes(least, most) {
            let (low, high) = (least, most);
            return Self { low, high, ..Self::logarithmic(least, most) }.within_ends();
        }
        if least == most {
            let ticks = vec![(least, chosen_value(least))];
            return Self { low: least - 1.0, high: least + 1.0, is_logarithmic: false, ticks };
        }
        Self::between(least, most, ticks)
    }

    /// Linear scale from `low` to `high` exactly, with ticks between them.
    pub fn between(low: f64, high: f64, ticks: usize) -> Self {
        let Self { ticks, .. } = Self::linear_to_ticks(low, high, ticks);
        Self { low, high, is_logarithmic: false, ticks }.within_ends()
    }

    /// Scale of named positions.
    pub fn of_names(places: Vec<(f64, String)>) -> Self {
        let values: Vec<f64> = places.iter().map(|(at, _)| *at).collect();
        Self { ticks: places, ..Self::of_positions(&values, 2) }
    }

    fn linear_to_ticks(low: f64, high: f64, ticks: usize) -> Self {
        let step = round_step((high - low) / ticks.max(1) as f64);
        let (first, last) = ((low / step).floor(), (high / step - 1e-9).ceil());
        let count = (last - first).clamp(1.0, 100.0) as usize;
        let decimals = (-libm::log10(step).floor()).clamp(0.0, 12.0) as usize;
        let tick = |index: usize| {
            let value = (first + index as f64) * step;
            (value, label(value, step, decimals))
        };
        let ticks = (0..=count).map(tick).collect();
        Self {
            low: first * step,
            high: (first + count as f64) * step,
            is_logarithmic: false,
            ticks,
        }
    }

    /// Ends at 1, 2 or 5 times a power of ten; ticks at the powers, or at all of these if there are fewer than three
    /// powers.
    fn logarithmic(low: f64, high: f64) -> Self {
        let decade = |value: f64| libm::log10(value).floor() as i32;
        let steps = |decade: i32| [1.0, 2.0, 5.0].map(|digit| digit * power_of_ten(decade));
        let all: Vec<f64> = (decade(low)..=decade(high) + 1).flat_map(steps).collect();
        let low = all.iter().copied().rfind(|step| *step <= low * (1.0 + 1e-9)).unwrap_or(low);
        let high = all.iter().copied().find(|step| *step >= high * (1.0 - 1e-9)).unwrap_or(high);
        let inside = |step: &f64| (low..=high).contains(step);
        let powers: Vec<f64> =
            (decade(low)..=decade(high) + 1).map(power_of_ten).filter(inside).collect();
        let shown =
            if powers.len() < 3 { all.into_iter().filter(inside).collect() } else { powers };
        let ticks = shown.into_iter().map(|value| (value, power_label(value))).collect();
        Self { low, high, is_logarithmic: true, ticks }
    }

    fn within_ends(mut self) -> Self {
        let room = (self.high - self.low) * 1e-9;
        self.ticks.retain(|(value, _)| (self.low - room..=self.high + room).contains(value));
        self
    }

    /// Place of a value: 0 at the low end, 1 at the high one; a value beyond an end is outside.
    pub fn place(&self, value: f64) -> f64 {
        if !self.is_logarithmic {
            return (value - self.low) / (self.high - self.low);
        }
        let low = libm::log10(self.low);
        (libm::log10(value.max(f64::MIN_POSITIVE)) - low) / (libm::log10(self.high) - low)
    }

    /// The low end.
    #[cfg(test)]
    pub const fn low(&self) -> f64 {
        self.low
    }
}

fn spans_magnitudes(least: f64, most: f64) -> bool {
    least > 0.0 && most / least >= LOG_RATIO
}

/// The smallest and the largest finite value; 0 without any.
fn extent(values: &[f64]) -> (f64, f64) {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let least = finite().reduce(f64::min).unwrap_or(0.0);
    (least, finite().reduce(f64::max).unwrap_or(0.0))
}

/// 1, 2 or 5 times a power of ten, at least `step`.
fn round_step(step: f64) -> f64 {
    if !(step.is_finite() && step > 0.0) {
        return 1.0;
    }
    let power = power_of_ten(libm::log10(step).floor() as i32);
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= step * (1.0 - 1e-9));
    digit.unwrap_or(10.0) * power
}

fn power_of_ten(exponent: i32) -> f64 {
    libm::pow(10.0, f64::from(exponent))
}

/// Label of a tick of a linear axis.
fn label(value: f64, step: f64, decimals: usize) -> String {
    if value.abs() < step / 2.0 {
        return "0".to_owned();
    }
    if value.abs() >= 1e6 || step < 1e-6 {
        return chosen_value(value).replace('-', "−");
    }
    format!("{value:.decimals$}").replace('-', "−")
}

/// Label of a tick of a logarithmic axis: a plain number from 0.001 to 10,000, otherwise with a power of ten.
fn power_label(value: f64) -> String {
    let exponent = (libm::log10(value) + 1e-9).floor() as i32;
    let digit = (value / power_of_ten(exponent)).round();
    if (-3..=4).contains(&exponent) {
        let decimals = usize::try_from(-exponent).unwrap_or(0);
        return format!("{value:.decimals$}");
    }
    let raised: String = exponent.to_string().chars().map(superscript).collect();
    if digit == 1.0 { format!("10{raised}") } else { format!("{digit}·10{raised}") }
}

fn superscript(letter: char) -> char {
    match letter {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        _ => '⁹',
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn labels(scale: &AxisScale) -> Vec<&str> {
        scale.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn an_axis_is_below_zero_only_for_values_below_zero() {
        let scale = AxisScale::of_values(&[0.3, 4.2], &[-2.0, 9.1], 5);
        assert_eq!((scale.low(), labels(&scale)), (0.0, vec!["0", "2", "4", "6", "8", "10"]));
        let scale = AxisScale::of_values(&[0.0], &[], 5);
        assert_eq!((scale.low(), labels(&scale)[0], scale.place(0.0)), (0.0, "0", 0.0));
        let scale = AxisScale::of_values(&[-0.3, 0.2], &[-0.45], 4);
        assert_eq!(labels(&scale), ["−0.6", "−0.4", "−0.2", "0", "0.2"]);
        let scale = AxisScale::of_values(&[1.0, 900.0], &[-5.0, 1200.0], 5);
        assert_eq!((scale.low(), labels(&scale)), (1.0, vec!["1", "10", "100", "1000"]));
        assert!(scale.place(-5.0) < 0.0);
    }

    #[test]
    fn positions_are_from_end_to_end() {
        let scale = AxisScale::of_positions(&[0.0, 30.0, 900.0], 5);
        assert_eq!(labels(&scale), ["0", "200", "400", "600", "800"]);
        assert_eq!((scale.place(0.0), scale.place(900.0)), (0.0, 1.0));
        let scale = AxisScale::of_positions(&[1e-6, 1e-5, 1e-4], 5);
        assert_eq!(labels(&scale), ["10⁻⁶", "10⁻⁵", "10⁻⁴"]);
        assert!((scale.place(1e-5) - 0.5).abs() < 1e-9);
        let scale = AxisScale::of_positions(&[4.0], 5);
        assert_eq!((labels(&scale), scale.place(4.0)), (vec!["4"], 0.5));
        let names = vec![(1.0, "near".to_owned()), (2.0, "far".to_owned())];
        assert_eq!(labels(&AxisScale::of_names(names)), ["near", "far"]);
    }

    #[test]
    fn any_numbers_give_a_scale() {
        for values in [&[][..], &[f64::NAN], &[f64::INFINITY, 1.0], &[1e300, -1e300], &[1e-300]] {
            for scale in
                [AxisScale::of_values(values, values, 5), AxisScale::of_positions(values, 5)]
            {
                assert!(scale.ticks.len() <= 101, "{values:?}");
                assert!(scale.place(1.0).is_finite(), "{values:?} {scale:?}");
            }
        }
    }
}
