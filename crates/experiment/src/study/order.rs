//! The order of arms in a statement.

use std::borrow::Cow;

use driftway_scenario::Coordinate;
use driftway_scenario::value_or::{Forms, Found, by_forms};

/// Arms below others: `"atcp < tcp"`, `"a, b <= c, d at 10 ms"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The arms with the lower values, for each of which it must hold.
    pub below: Vec<String>,
    /// The arm with the higher values, or one for each arm below.
    pub above: Vec<String>,
    /// Point.
    pub x: Option<Coordinate>,
    /// Equal values agree.
    pub or_equal: bool,
}

impl Order {
    fn parse(text: &str) -> Option<Self> {
        let (below, above) = text.split_once('<')?;
        let (above, or_equal) = match above.strip_prefix('=') {
            Some(above) => (above, true),
            None => (above, false),
        };
        let (above, x) = match above.split_once(" at ") {
            Some((above, x)) => (above, Some(x.trim())),
            None => (above, None),
        };
        let names = |list: &str| {
            let names = list.split(',').map(|name| name.trim().to_owned());
            let is_name = |name: &String| !name.is_empty() && !name.contains([' ', '<', '>']);
            names.map(|name| Some(name).filter(is_name)).collect::<Option<Vec<String>>>()
        };
        let x = x.map(|x| match x.parse() {
            Ok(number) => Coordinate::Number(number),
            Err(_) => Coordinate::Quantity(x.to_owned()),
        });
        Some(Self { below: names(below)?, above: names(above)?, x, or_equal })
    }
}

impl Forms for Order {
    fn expecting() -> Cow<'static, str> {
        "an order of arms such as \"atcp < tcp\" or \"atcp <= tcp at 10 ms\"".into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        let Found::Text(text) = found else { return None };
        Self::parse(text).map(Ok)
    }
}

by_forms!(Order);

#[cfg(test)]
mod test {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn an_order_has_arms_on_both_sides() {
        let of = |text: &str| Order::parse(text).unwrap();
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let order =
            Order { below: names(&["a"]), above: names(&["b-c"]), x: None, or_equal: false };
        assert_eq!(of("a < b-c"), order);
        assert_eq!(of("a<=b-c"), Order { or_equal: true, ..order.clone() });
        let x = Some(Coordinate::Quantity("10 ms".to_owned()));
        assert_eq!(of("a < b-c at 10 ms"), Order { x, ..order.clone() });
        let x = Some(Coordinate::Number(4.0));
        let both =
            Order { below: names(&["a", "d"]), above: names(&["b", "c"]), x, or_equal: true };
        assert_eq!(of("a, d <= b, c at 4"), both);
        for wrong in ["a", "a > b", "< b", "a <", "a < b < c", "a, < b", "a < b c", "a < b at10 ms"]
        {
            assert_eq!(Order::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_no_order_gets_an_example() {
        #[derive(Debug, Deserialize)]
        struct Example {
            #[expect(dead_code, reason = "only errors are looked at")]
            order: Order,
        }
        for wrong in ["order = 'a > b'", "order = { below = 'a', above = 'b' }", "order = 3"] {
            let error = toml::from_str::<Example>(wrong).unwrap_err().to_string();
            assert!(error.contains("an order of arms such as \"atcp < tcp\""), "{error}");
        }
    }
}
