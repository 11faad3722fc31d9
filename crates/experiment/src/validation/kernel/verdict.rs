//! The verdict on a ratio of throughputs.

use crate::validation::compare::Interval;

/// Largest deviation of a ratio from 1.
const TOLERANCE: f64 = 0.05;

/// Position of the 90 % interval of a ratio relative to 1 ± 0.05.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval lies inside.
    Within,
    /// The interval lies outside.
    Outside,
    /// It contains an edge, or there are too few runs for an interval.
    Undecided,
}

impl Verdict {
    /// Judges a ratio.
    pub fn of(ratio: Option<Interval>) -> Self {
        let Some([low, high]) = ratio.and_then(|ratio| ratio.ci90) else { return Self::Undecided };
        let (least, most) = (1.0 - TOLERANCE, 1.0 + TOLERANCE);
        if least <= low && high <= most {
            Self::Within
        } else if high < least || most < low {
            Self::Outside
        } else {
            Self::Undecided
        }
    }

    /// The word for readers.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Outside => "outside",
            Self::Undecided => "undecided",
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_whole_interval_decides() {
        let of = |low, high| {
            let ci90 = Some([low, high]);
            Verdict::of(Some(Interval { mean: (low + high) / 2.0, ci90 }))
        };
        assert_eq!(of(0.96, 1.04), Verdict::Within);
        assert_eq!(of(0.95, 1.05), Verdict::Within);
        assert_eq!(of(1.06, 1.3), Verdict::Outside);
        assert_eq!(of(0.5, 0.949), Verdict::Outside);
        // Over the lower edge, over the upper one, over both.
        for (low, high) in [(0.94, 0.96), (1.04, 1.06), (0.9, 1.1)] {
            assert_eq!(of(low, high), Verdict::Undecided, "{low} {high}");
        }
    }

    #[test]
    fn without_an_interval_nothing_is_decided() {
        assert_eq!(Verdict::of(None), Verdict::Undecided);
        let one_run = Interval { mean: 1.0, ci90: None };
        assert_eq!(Verdict::of(Some(one_run)), Verdict::Undecided);
        let nan = Interval { mean: f64::NAN, ci90: Some([f64::NAN; 2]) };
        assert_eq!(Verdict::of(Some(nan)), Verdict::Undecided);
    }
}
