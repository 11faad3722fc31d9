//! The points of a figure's axis, checked.

use driftway_scenario::{Error, TomlFile, Unit};

use super::axis::{Axis, Point, axis_position, coordinate_text};
use super::check::{keys, place};

/// The points of an axis, and its unit.
///
/// # Errors
///
/// An axis without points, a point that is not a quantity, or one of another unit.
pub fn axis_points(
    file: &TomlFile,
    axis: &Axis,
    figure: usize,
) -> Result<(Vec<Point>, Unit), Error> {
    let by_value = !axis.key.0.is_empty() || !axis.set.is_empty();
    let by_points = !axis.points.is_empty();
    if by_value == by_points || by_value == axis.values.is_empty() {
        let help = "an axis has either `values` with `key` or `set`, or `points`";
        let message = format!("invalid axis\n{help}");
        return Err(file.error(&place(file, figure, &keys!["x"]), &message));
    }
    let points: Vec<Point> = match by_value {
        true => axis.values.iter().map(|x| axis.point_at(x)).collect(),
        false => axis.points.clone(),
    };
    let table = if by_value { "values" } else { "points" };
    for (key, value) in points.iter().flat_map(|point| &point.set).filter(|_| by_value) {
        if let Some((_, rest)) = value.0.split_once("{x") {
            let found = rest.split('}').next().unwrap_or_default();
            let help = "it is {x}, {x+N} or {x-N}, with a number N";
            let message = format!("`{{x{found}}}` is not a value that follows the axis\n{help}");
            return Err(file.error(&place(file, figure, &keys!["x", "set", key]), &message));
        }
    }
    let mut unit = None;
    let mut seen = Vec::new();
    for (number, Point { at: x, .. }) in points.iter().enumerate() {
        let wrong = |message: &str| {
            Err(file.error(&place(file, figure, &keys!["x", table, number]), message))
        };
        let Some((value, of)) = axis_position(x) else {
            let help = "a valid value is, for example, \"10 ms\" or 3";
            return wrong(&format!("`{}` is not a quantity\n{help}", coordinate_text(x)));
        };
        if *unit.get_or_insert(of) != of {
            return wrong("this value has a different unit than the first");
        }
        if seen.contains(&value) {
            return wrong("duplicate value");
        }
        seen.push(value);
    }
    Ok((points, unit.unwrap_or(Unit::One)))
}

#[cfg(test)]
mod test {
    use serde::Deserialize;

    use super::super::number::SettingValue;
    use super::*;

    /// The points of an axis with the values `values` and the overrides `set`, as text.
    fn points(values: &str, set: &str) -> Result<Vec<String>, String> {
        let text = format!("x = {{ label = 'l', values = {values}, set = {set} }}");
        let file = TomlFile::parse("s.toml", text).map_err(|error| error.to_string())?;
        #[derive(Deserialize)]
        struct Example {
            x: Axis,
        }
        let Example { x } = file.read().map_err(|error| error.to_string())?;
        let (points, _) = axis_points(&file, &x, 0).map_err(|error| error.to_string())?;
        let text = |(key, value): (&String, &SettingValue)| format!("{key}={}", value.0);
        let of = |point: Point| point.set.iter().map(text).collect::<Vec<_>>().join(" ");
        Ok(points.into_iter().map(of).collect())
    }

    #[test]
    fn overrides_may_follow_the_value() {
        let hops = points("[1, 2.5]", "{ nodes = '{x+1}', 'flow.0.to' = '{x}', other = 3 }");
        assert_eq!(
            hops.unwrap(),
            ["flow.0.to=1 nodes=2 other=3", "flow.0.to=2.5 nodes=3.5 other=3"]
        );
        let speed = points("['5 m/s', '10 m/s']", "{ speed = ['{x-1}', '{x+1}'] }").unwrap();
        assert_eq!(speed, [r#"speed=["4 m/s", "6 m/s"]"#, r#"speed=["9 m/s", "11 m/s"]"#]);
        let nested = points("[3]", "{ aid = { name = 'cwnd-limit', segments = '{x}' } }").unwrap();
        assert_eq!(nested, [r#"aid={ name = "cwnd-limit", segments = 3 }"#]);
        assert_eq!(points("[3]", "{ name = 'the {x}rd' }").unwrap(), ["name=the 3rd"]);
    }

    #[test]
    fn what_does_not_follow_the_value_is_an_error() {
        for wrong in ["{x*2}", "{x1}", "{x+}", "{x+inf}"] {
            let error = points("[3]", &format!("{{ nodes = '{wrong}' }}")).unwrap_err();
            let expected = format!("`{wrong}` is not a value that follows the axis");
            assert!(error.starts_with("s.toml:1:") && error.contains(&expected), "{error}");
        }
        let error = points("[]", "{ nodes = '{x}' }").unwrap_err();
        assert!(error.contains("invalid axis"), "{error}");
        let error = points("[3]", "{}").unwrap_err();
        assert!(error.contains("`values` with `key` or `set`, or `points`"), "{error}");
    }
}
