//! Derivation of cited numbers: expressions over recorded results.
//!
//! A cell is `FIGURE:ARM:X` or `FIGURE:ARM:X:METRIC` (by default the figure's first metric);
//! figures and arms may be lists separated by commas; `*` selects all points, `first` and `last`
//! the ends of the axis. `A / B` is a ratio, `A - B + C` a sum, point by point. Operators precede
//! it: `least` and `most` select from several numbers; `saved` and `more` are 1 − A / B and A /
//! B − 1 in per cent, `percent` is A / B in per cent; `k` divides by 1000.

use crate::study::format::Study;
use crate::study::stored_results::{ResultKey, StoredResults};

/// Evaluates `text`.
///
/// # Errors
///
/// A message for the user.
pub fn evaluate(text: &str, study: &Study, kept: &StoredResults) -> Result<f64, String> {
    let mut rest = text.trim();
    let mut words = Vec::new();
    while let Some((word, after)) = rest.split_once(' ')
        && OPERATORS.contains(&word)
    {
        words.push(word);
        rest = after.trim_start();
    }
    let values = match rest.split_once(" / ") {
        Some((a, b)) => combine(a, b, study, kept, |a, b| (b != 0.0).then_some(a / b))?,
        None => sum(rest, study, kept)?,
    };
    let mut values: Vec<f64> = values;
    for word in words.iter().rev() {
        let each = |of: fn(f64) -> f64| values.iter().copied().map(of).collect();
        values = match *word {
            "least" => values.into_iter().reduce(f64::min).into_iter().collect(),
            "most" => values.into_iter().reduce(f64::max).into_iter().collect(),
            "saved" => each(|ratio| 100.0 * (1.0 - ratio)),
            "more" => each(|ratio| 100.0 * (ratio - 1.0)),
            "percent" => each(|ratio| 100.0 * ratio),
            _ => each(|value| value / 1000.0),
        };
    }
    match values[..] {
        [value] => Ok(value),
        [] => Err(format!("`{text}` selects no numbers")),
        _ => Err(format!("`{text}` is {} numbers: use `least` or `most`", values.len())),
    }
}

const OPERATORS: [&str; 6] = ["least", "most", "saved", "more", "percent", "k"];

/// The terms between ` + ` and ` - `, point by point.
fn sum(text: &str, study: &Study, kept: &StoredResults) -> Result<Vec<f64>, String> {
    let (mut total, mut rest, mut sign): (Option<Vec<f64>>, _, _) = (None, text, 1.0);
    loop {
        let next = [" + ", " - "].iter().filter_map(|by| rest.find(by)).min();
        let term = read_cells(&rest[..next.unwrap_or(rest.len())], study, kept)?;
        total = Some(match total {
            None => term,
            Some(sum) if sum.len() != term.len() => {
                return Err(format!("the terms of `{text}` have different numbers of values"));
            }
            Some(sum) => sum.iter().zip(term).map(|(sum, term)| sum + sign * term).collect(),
        });
        let Some(at) = next else { return Ok(total.unwrap_or_default()) };
        sign = if rest[at..].starts_with(" + ") { 1.0 } else { -1.0 };
        rest = &rest[at + 3..];
    }
}

fn combine(
    a: &str,
    b: &str,
    study: &Study,
    kept: &StoredResults,
    of: fn(f64, f64) -> Option<f64>,
) -> Result<Vec<f64>, String> {
    let (above, below) = (read_cells(a, study, kept)?, read_cells(b, study, kept)?);
    if above.len() != below.len() {
        let (above, below) = (above.len(), below.len());
        return Err(format!("`{a}` is {above} numbers, `{b}` is {below}"));
    }
    let pair = |(a, b): (f64, f64)| of(a, b).ok_or_else(|| "division by 0".to_owned());
    above.into_iter().zip(below).map(pair).collect()
}

fn read_cells(text: &str, study: &Study, kept: &StoredResults) -> Result<Vec<f64>, String> {
    let parts: Vec<&str> = text.trim().split(':').collect();
    let (figures, arms, x, metric) = match parts[..] {
        [figures, arms, x] => (figures, arms, x, None),
        [figures, arms, x, metric] => (figures, arms, x, Some(metric)),
        _ => return Err(format!("`{text}` is not FIGURE:ARM:X or FIGURE:ARM:X:METRIC")),
    };
    let all = matches!(x, "*" | "first" | "last");
    let mut values = Vec::new();
    for figure in figures.split(',') {
        let of = study.figures.iter().find(|of| of.id == figure);
        let of = of.ok_or_else(|| format!("there is no figure `{figure}`"))?;
        let first = of.y.first().map(|measure| measure.name()).unwrap_or_default();
        let metric = metric.unwrap_or(&first);
        for arm in arms.split(',') {
            let is_it = |name: &&ResultKey| {
                name.figure == figure
                    && name.metric == metric
                    && name.arm == arm
                    && (all || name.x == x)
            };
            let mut points: Vec<&ResultKey> = kept.0.keys().filter(is_it).collect();
            if points.is_empty() {
                return Err(format!("there is no recorded result of {figure}:{arm}:{x}:{metric}"));
            }
            // In the order of the axis, if its values are numbers.
            points.sort_by(|a, b| leading_number(&a.x).total_cmp(&leading_number(&b.x)));
            let points = match x {
                "first" => &points[..1],
                "last" => &points[points.len() - 1..],
                _ => &points[..],
            };
            for name in points {
                let mean = kept.0.get(name).and_then(|number| number.mean);
                let none = || format!("{figure}:{arm}:{}:{metric} has no value", name.x);
                values.push(mean.ok_or_else(none)?);
            }
        }
    }
    Ok(values)
}

fn leading_number(x: &str) -> f64 {
    x.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::study::stored_results::StoredValue;

    fn of(text: &str) -> Result<f64, String> {
        let study = r#"
            title = "t"
            [[figure]]
            id = "8"
            title = "t"
            y = [{ metric = "completion_s", label = "time" }, { metric = "timeouts", label = "n" }]
        "#;
        let study =
            driftway_scenario::TomlFile::parse("p.toml", study.to_owned()).unwrap().read().unwrap();
        let row = |metric: &str, arm: &str, x: &str, mean| {
            let name = ResultKey {
                figure: "8".into(),
                metric: metric.into(),
                arm: arm.into(),
                x: x.into(),
            };
            (name, StoredValue { mean: Some(mean), ..StoredValue::default() })
        };
        let kept = StoredResults(
            [
                row("completion_s", "tcp", "10 ms", 1200.0),
                row("completion_s", "tcp", "50 ms", 2000.0),
                row("completion_s", "atcp", "10 ms", 480.0),
                row("completion_s", "atcp", "50 ms", 500.0),
                row("timeouts", "tcp", "10 ms", 134.0),
            ]
            .into(),
        );
        evaluate(text, &study, &kept)
    }

    #[test]
    fn expressions_have_values() {
        for (text, value) in [
            ("8:tcp:10 ms", 1200.0),
            ("8:tcp:10 ms:timeouts", 134.0),
            ("k 8:tcp:10 ms", 1.2),
            ("8:tcp:10 ms / 8:atcp:10 ms", 2.5),
            ("8:tcp:50 ms - 8:tcp:10 ms", 800.0),
            ("most 8:tcp:* - 8:atcp:* - 8:tcp:* + 8:atcp:*", 0.0),
            ("8:tcp:last - 8:tcp:first + 8:atcp:first", 1280.0),
            ("saved 8:atcp:10 ms / 8:tcp:10 ms", 60.0),
            ("more 8:atcp:50 ms / 8:atcp:10 ms", 100.0 / 24.0),
            ("least 8:tcp:* / 8:atcp:*", 2.5),
            ("most 8:tcp:* / 8:atcp:*", 4.0),
            ("most saved 8:atcp:* / 8:tcp:*", 75.0),
            ("least 8:tcp,atcp:10 ms", 480.0),
        ] {
            let found = of(text).unwrap();
            assert!((found - value).abs() < 1e-9, "{text}: {found}");
        }
    }

    #[test]
    fn invalid_expressions_are_rejected() {
        for (text, says) in [
            ("8:tcp:*", "is 2 numbers: use `least` or `most`"),
            ("8:tcp", "is not FIGURE:ARM:X"),
            ("9:tcp:10 ms", "there is no figure `9`"),
            ("8:reno:10 ms", "there is no recorded result of 8:reno:10 ms:completion_s"),
            ("8:tcp:* / 8:tcp:10 ms", "is 2 numbers, `8:tcp:10 ms` is 1"),
            ("8:tcp:* - 8:tcp:10 ms", "different numbers of values"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
