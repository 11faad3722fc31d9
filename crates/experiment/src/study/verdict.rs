//! Agreement of measurements with statements.
//!
//! A number agrees if the 90 % interval overlaps it ± 10 % (± 5 points for percentages; none in any
//! run if the number is 0). An order agrees if the paired 90 % interval lies above zero, or does
//! not extend below it where equality is allowed. A band agrees if the whole interval lies in it.
//! There is no other tolerance. A value that is censored on the relevant side does not agree.

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
}

/// The verdict on one measurement; `None` without an interval.
pub fn verdict(said: &Claim, measured: &Measurement) -> Option<Verdict> {
    let [low, high] = measured.ci90?;
    let open = measured.censoring;
    let agrees = match *said {
        Claim::AboveZero => low > 0.0 && !open.below,
        Claim::NotBelowZero => low >= 0.0 && !open.below,
        Claim::Band(least, most) => low >= least && high <= most && is_exact(measured),
        Claim::Number(number, bound) => {
            let [least, most] = tolerance_range(&number);
            match bound {
                Some(Bound::AtLeast) => high >= least && !open.below,
                Some(Bound::AtMost) if most == 0.0 => high <= 0.0 && !open.above,
                Some(Bound::AtMost) => low <= most && !open.above,
                None if least == 0.0 && most == 0.0 => {
                    low == 0.0 && high == 0.0 && is_exact(measured)
                }
                None => low <= most && high >= least && is_exact(measured),
            }
        }
    };
    Some(if agrees { Verdict::Agrees } else { Verdict::Differs })
}

fn is_exact(measured: &Measurement) -> bool {
    !measured.censoring.above && !measured.censoring.below
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
    use Verdict::{Agrees, Differs};

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
        assert_eq!(of(&said, 467.0, 480.0), Agrees, "467.5 is met");
        assert_eq!(of(&said, 468.0, 480.0), Differs);
        assert_eq!(of(&said, 370.0, 382.0), Differs);
        assert_eq!(of(&said, 370.0, 383.0), Agrees, "382.5 is met");
        let factor = text(2.0, 3.0, None);
        assert_eq!(of(&factor, 1.7, 1.79), Differs);
        assert_eq!(of(&factor, 1.7, 1.81), Agrees);
        assert_eq!(of(&factor, 3.2, 3.4), Agrees);
        assert_eq!(of(&factor, 3.4, 3.5), Differs);
    }

    #[test]
    fn a_percentage_agrees_within_five_points() {
        let number = PaperNumber { low: 0.33, high: 0.33, unit: Some(NumberUnit::Percent) };
        let said = Claim::Number(number, None);
        assert_eq!(of(&said, 0.20, 0.281), Agrees);
        assert_eq!(of(&said, 0.20, 0.279), Differs);
        assert_eq!(of(&said, 0.379, 0.50), Agrees);
        assert_eq!(of(&said, 0.381, 0.50), Differs);
        let none = PaperNumber { low: 0.0, high: 0.0, ..number };
        let said = Claim::Number(none, None);
        assert_eq!(of(&said, 0.04, 0.06), Agrees);
    }

    #[test]
    fn zero_means_none_in_any_run() {
        let never = text(0.0, 0.0, None);
        assert_eq!(of(&never, 0.0, 0.0), Agrees);
        assert_eq!(of(&never, -0.1, 0.3), Differs, "once in some run");
        let at_most = text(0.0, 0.0, Some(Bound::AtMost));
        assert_eq!(of(&at_most, -0.1, 0.3), Differs);
        assert_eq!(of(&at_most, -2.0, -1.0), Agrees);
    }

    #[test]
    fn a_bound_has_the_same_tolerance_on_one_side() {
        let least = text(500.0, 500.0, Some(Bound::AtLeast));
        assert_eq!(of(&least, 900.0, 950.0), Agrees);
        assert_eq!(of(&least, 440.0, 451.0), Agrees);
        assert_eq!(of(&least, 440.0, 449.0), Differs);
        let most = text(500.0, 500.0, Some(Bound::AtMost));
        assert_eq!(of(&most, 10.0, 20.0), Agrees);
        assert_eq!(of(&most, 549.0, 600.0), Agrees);
        assert_eq!(of(&most, 551.0, 600.0), Differs);
    }

    #[test]
    fn a_shape_agrees_above_zero() {
        let said = Claim::AboveZero;
        assert_eq!(of(&said, 0.1, 5.0), Agrees);
        assert_eq!(of(&said, 0.0, 5.0), Differs);
        assert_eq!(of(&said, -3.0, 9.0), Differs);
        assert_eq!(of(&said, -3.0, -1.0), Differs);
    }

    #[test]
    fn not_below_allows_equality() {
        assert_eq!(of(&Claim::NotBelowZero, 0.0, 0.0), Agrees);
        assert_eq!(of(&Claim::NotBelowZero, 0.1, 0.3), Agrees);
        assert_eq!(of(&Claim::NotBelowZero, -0.1, 3.0), Differs);
    }

    #[test]
    fn a_band_has_no_tolerance() {
        let band = Claim::Band(1.0, 1.1);
        assert_eq!(of(&band, 1.0, 1.1), Agrees);
        assert_eq!(of(&band, 1.02, 1.11), Differs);
        assert_eq!(of(&band, 0.99, 1.05), Differs);
        assert_eq!(verdict(&band, &measured(1.02, 1.05, MORE)), Some(Differs));
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
            (shape, LESS, Differs),
            (exact, MORE, Differs),
            (exact, LESS, Differs),
            (least, MORE, Agrees),
            (least, LESS, Differs),
            (most, MORE, Differs),
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
