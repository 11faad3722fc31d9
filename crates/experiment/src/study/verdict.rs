//! Agreement of measurements with statements.
//!
//! A statement accepts a range of values: a number ± 10 % (± 5 points for percentages; none in any run if
//! the number is 0), a bound with the same tolerance on one side, a band as it is, an order what is above
//! zero, or not below it where equality is allowed. It agrees if the whole 90 % interval is accepted,
//! differs if nothing of it is, and is undecided otherwise. A value that is censored may lie anywhere on
//! that side.

use super::measure::Measurement;
use super::number::PaperNumber;
use super::statement::format::{Bound, Statement, Verdict};

/// Tolerance as a fraction of the number.
const TOLERANCE: f64 = 0.10;

/// Tolerance of a percentage: five points.
const PERCENTAGE_POINTS: f64 = 0.05;

/// The claim of a statement.
#[derive(Clone, Copy, Debug)]
pub enum Claim {
    /// A number or a range, possibly a bound.
    Number(PaperNumber, Option<Bound>),
    /// A value between these.
    Band(f64, f64),
    /// A value above zero.
    AboveZero,
    /// A value not below zero.
    NotBelowZero,
}

impl Claim {
    /// The claim of `statement`.
    pub fn from_statement(statement: &Statement) -> Self {
        match (statement.number, statement.band) {
            (Some(number), _) => Self::Number(number, statement.bound),
            (None, Some((low, high))) => Self::Band(low, high),
            _ if statement.order.as_ref().is_some_and(|order| order.or_equal) => Self::NotBelowZero,
            _ => Self::AboveZero,
        }
    }

    /// The values with which it agrees, from and to.
    fn accepted(&self) -> [f64; 2] {
        match *self {
            Self::AboveZero | Self::NotBelowZero => [0.0, f64::INFINITY],
            Self::Band(least, most) => [least, most],
            Self::Number(number, bound) => {
                let [least, most] = tolerance_range(&number);
                match bound {
                    Some(Bound::AtLeast) => [least, f64::INFINITY],
                    Some(Bound::AtMost) => [f64::NEG_INFINITY, most],
                    None => [least, most],
                }
            }
        }
    }
}

/// The verdict on one measurement; `None` without an interval.
pub fn verdict(said: &Claim, measured: &Measurement) -> Option<Verdict> {
    let [low, high] = measured.ci90?;
    let low = if measured.censoring.below { f64::NEG_INFINITY } else { low };
    let high = if measured.censoring.above { f64::INFINITY } else { high };
    let [least, most] = said.accepted();
    // Zero itself is accepted by all claims but that of a value above zero.
    let is_open = matches!(said, Claim::AboveZero);
    let (is_above, is_below) = match is_open {
        true => (low > least, high <= least),
        false => (low >= least, high < least),
    };
    Some(if is_above && high <= most {
        Verdict::Agrees
    } else if is_below || low > most {
        Verdict::Differs
    } else {
        Verdict::Undecided
    })
}

/// The range of a number, including its tolerance.
fn tolerance_range(number: &PaperNumber) -> [f64; 2] {
    let tolerance =
        |end: f64| if number.is_percent() { PERCENTAGE_POINTS } else { TOLERANCE * end.abs() };
    [number.low - tolerance(number.low), number.high + tolerance(number.high)]
}

/// Distance of a measurement from agreement: of several points at which a statement must hold, the
/// one with the largest distance is reported.
pub fn distance(said: &Claim, measured: &Measurement) -> f64 {
    let (low, high, bound) = match *said {
        Claim::AboveZero | Claim::NotBelowZero => return -measured.mean,
        Claim::Band(low, high) => (low, high, None),
        Claim::Number(number, bound) => (number.low, number.high, bound),
    };
    let below = low - measured.mean;
    let above = measured.mean - high;
    match bound {
        Some(Bound::AtLeast) => below,
        Some(Bound::AtMost) => above,
        None => below.max(above),
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::study::measure::Censoring;
    use crate::study::number::NumberUnit;
    use Verdict::{Agrees, Differs, Undecided};

    const CLOSED: Censoring = Censoring { above: false, below: false };
    const MORE: Censoring = Censoring { above: true, below: false };
    const LESS: Censoring = Censoring { above: false, below: true };

    fn measured(low: f64, high: f64, censoring: Censoring) -> Measurement {
        Measurement {
            mean: (low + high) / 2.0,
            ci90: Some([low, high]),
            ci95: None,
            n: 20,
            missing: 0,
            censoring,
        }
    }

    fn text(low: f64, high: f64, bound: Option<Bound>) -> Claim {
        Claim::Number(PaperNumber { low, high, unit: None }, bound)
    }

    fn of(said: &Claim, low: f64, high: f64) -> Verdict {
        verdict(said, &measured(low, high, CLOSED)).unwrap()
    }

    #[test]
    fn a_number_agrees_within_ten_per_cent() {
        let said = text(425.0, 425.0, None);
        assert_eq!(of(&said, 430.0, 440.0), Agrees);
        assert_eq!(of(&said, 383.0, 467.0), Agrees, "382.5 to 467.5 is accepted");
        assert_eq!(of(&said, 467.0, 480.0), Undecided);
        assert_eq!(of(&said, 468.0, 480.0), Differs);
        assert_eq!(of(&said, 370.0, 382.0), Differs);
        assert_eq!(of(&said, 370.0, 383.0), Undecided);
        let factor = text(2.0, 3.0, None);
        assert_eq!(of(&factor, 1.7, 1.79), Differs);
        assert_eq!(of(&factor, 1.81, 3.29), Agrees);
        assert_eq!(of(&factor, 3.2, 3.4), Undecided);
        assert_eq!(of(&factor, 3.4, 3.5), Differs);
    }

    /// The wider an interval is, the less it says.
    #[test]
    fn a_wide_interval_decides_nothing() {
        assert_eq!(of(&text(1.5, 1.5, None), -4.0, 24.0), Undecided);
        assert_eq!(of(&Claim::AboveZero, -400.0, 2400.0), Undecided);
        assert_eq!(of(&Claim::Band(1.0, 1.1), -4.0, 24.0), Undecided);
    }

    #[test]
    fn a_percentage_agrees_within_five_points() {
        let number = PaperNumber { low: 0.33, high: 0.33, unit: Some(NumberUnit::Percent) };
        let said = Claim::Number(number, None);
        assert_eq!(of(&said, 0.281, 0.379), Agrees);
        assert_eq!(of(&said, 0.20, 0.281), Undecided);
        assert_eq!(of(&said, 0.20, 0.279), Differs);
        assert_eq!(of(&said, 0.381, 0.50), Differs);
        let none = PaperNumber { low: 0.0, high: 0.0, ..number };
        let said = Claim::Number(none, None);
        assert_eq!(of(&said, 0.02, 0.05), Agrees);
    }

    #[test]
    fn zero_means_none_in_any_run() {
        let never = text(0.0, 0.0, None);
        assert_eq!(of(&never, 0.0, 0.0), Agrees);
        assert_eq!(of(&never, -0.1, 0.3), Undecided, "once in some run");
        assert_eq!(of(&never, 0.1, 0.3), Differs);
        let at_most = text(0.0, 0.0, Some(Bound::AtMost));
        assert_eq!(of(&at_most, -0.1, 0.3), Undecided);
        assert_eq!(of(&at_most, -2.0, -1.0), Agrees);
    }

    #[test]
    fn a_bound_has_the_same_tolerance_on_one_side() {
        let least = text(500.0, 500.0, Some(Bound::AtLeast));
        assert_eq!(of(&least, 900.0, 950.0), Agrees);
        assert_eq!(of(&least, 440.0, 451.0), Undecided);
        assert_eq!(of(&least, 440.0, 449.0), Differs);
        let most = text(500.0, 500.0, Some(Bound::AtMost));
        assert_eq!(of(&most, 10.0, 20.0), Agrees);
        assert_eq!(of(&most, 549.0, 600.0), Undecided);
        assert_eq!(of(&most, 551.0, 600.0), Differs);
    }

    #[test]
    fn a_shape_agrees_above_zero() {
        let said = Claim::AboveZero;
        assert_eq!(of(&said, 0.1, 5.0), Agrees);
        assert_eq!(of(&said, 0.0, 5.0), Undecided);
        assert_eq!(of(&said, -3.0, 9.0), Undecided);
        assert_eq!(of(&said, -3.0, -1.0), Differs);
        assert_eq!(of(&said, 0.0, 0.0), Differs, "no difference in any run");
    }

    #[test]
    fn not_below_allows_equality() {
        assert_eq!(of(&Claim::NotBelowZero, 0.0, 0.0), Agrees);
        assert_eq!(of(&Claim::NotBelowZero, 0.1, 0.3), Agrees);
        assert_eq!(of(&Claim::NotBelowZero, -0.1, 3.0), Undecided);
        assert_eq!(of(&Claim::NotBelowZero, -0.1, -0.01), Differs);
    }

    #[test]
    fn a_band_has_no_tolerance() {
        let band = Claim::Band(1.0, 1.1);
        assert_eq!(of(&band, 1.0, 1.1), Agrees);
        assert_eq!(of(&band, 1.02, 1.11), Undecided);
        assert_eq!(of(&band, 1.11, 1.2), Differs);
        assert_eq!(verdict(&band, &measured(1.02, 1.05, MORE)), Some(Undecided));
    }

    #[test]
    fn without_an_interval_there_is_no_verdict() {
        let one = Measurement { ci90: None, ..measured(425.0, 425.0, CLOSED) };
        assert_eq!(verdict(&text(425.0, 425.0, None), &one), None);
    }

    /// A transfer that did not complete took at least the time that it had.
    #[test]
    fn censoring_on_the_relevant_side_prevents_agreement() {
        let shape = Claim::AboveZero;
        let (exact, least, most) = (
            text(425.0, 425.0, None),
            text(400.0, 400.0, Some(Bound::AtLeast)),
            text(500.0, 500.0, Some(Bound::AtMost)),
        );
        for (said, open, right) in [
            (shape, MORE, Agrees),
            (shape, LESS, Undecided),
            (exact, MORE, Undecided),
            (exact, LESS, Undecided),
            (least, MORE, Agrees),
            (least, LESS, Undecided),
            (most, MORE, Undecided),
            (most, LESS, Agrees),
        ] {
            let found = verdict(&said, &measured(420.0, 430.0, open));
            assert_eq!(found, Some(right), "{said:?} {open:?}");
        }
    }

    #[test]
    fn the_worst_point_has_the_largest_distance() {
        let said = text(425.0, 425.0, None);
        let strain = |low, high| distance(&said, &measured(low, high, CLOSED));
        assert!(strain(500.0, 510.0) > strain(430.0, 440.0));
        assert!(strain(300.0, 310.0) > strain(430.0, 440.0));
    }
}
