//! Keys and their values on the command line: `--vary KEY=a,b,c`.

use std::str::FromStr;

use driftway_scenario::Unit;

use crate::units;

/// A key and its values, or several keys whose values go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    /// Dotted names, as in a scenario file.
    pub keys: Vec<String>,
    /// Values in the syntax of `--set`: at each place one for each key.
    pub values: Vec<Vec<String>>,
}

impl Vary {
    /// The keys as on the command line.
    pub fn key_text(&self) -> String {
        self.keys.join(",")
    }

    /// The assignments at each place.
    pub fn places(&self) -> impl Iterator<Item = Vec<(String, String)>> {
        let pairs = |values: &Vec<String>| self.keys.iter().cloned().zip(values.clone()).collect();
        self.values.iter().map(pairs)
    }

    /// Returns whether the values of the first key are different positions on one axis.
    pub fn is_axis(&self) -> bool {
        let place = |values: &Vec<String>| units::number(values.first()?);
        let places: Option<Vec<_>> = self.values.iter().map(place).collect();
        places.is_some_and(|places| {
            let of_one_unit = |(_, unit): &(f64, Unit)| *unit == places[0].1;
            let is_new = |at: usize| places[..at].iter().all(|other| other.0 != places[at].0);
            places.len() > 1 && places.iter().all(of_one_unit) && (0..places.len()).all(is_new)
        })
    }
}

impl FromStr for Vary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const RIGHT: &str = "expected KEY=VALUE,VALUE…, such as network.link.delay=5ms,50ms, or \
                             KEY,KEY=VALUE:VALUE,VALUE:VALUE… for keys that vary together";
        let (keys, values) = text.split_once('=').ok_or(RIGHT)?;
        let keys = split(keys, ',');
        let together = |place: String| match keys.len() {
            1 => vec![place],
            _ => split(&place, ':'),
        };
        let values: Vec<Vec<String>> = split(values, ',').into_iter().map(together).collect();
        if keys.iter().chain(values.iter().flatten()).any(String::is_empty) {
            return Err(RIGHT.to_owned());
        }
        if let Some(wrong) = values.iter().find(|values| values.len() != keys.len()) {
            let (found, wanted) = (wrong.join(":"), keys.len());
            return Err(format!("`{found}` is not {wanted} values, one for each key; {RIGHT}"));
        }
        Ok(Self { keys, values })
    }
}

/// Splits at separators outside brackets and quotes.
fn split(text: &str, separator: char) -> Vec<String> {
    let (mut parts, mut depth, mut quote) = (vec![String::new()], 0_usize, None);
    for c in text.chars() {
        match (c, quote) {
            (c, None) if c == separator && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth = depth.saturating_sub(1),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).collect()
}

#[cfg(test)]
mod test {
    use super::*;

    fn read(text: &str) -> Vary {
        text.parse().unwrap()
    }

    #[test]
    fn values_may_hold_commas() {
        let vary = read("a.b = 1 m, [2, 3],\"x,y\" ");
        assert_eq!(vary.keys, ["a.b"]);
        assert_eq!(vary.values, [["1 m"], ["[2, 3]"], ["\"x,y\""]]);
        for wrong in ["a", "=1", "a=", "a=1,,2", "a,=1:2", "a,b=1:2,3", "a,b=1:2:3"] {
            assert!(wrong.parse::<Vary>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn keys_that_vary_together_take_their_values_in_pairs() {
        let vary = read("network.nodes, network.area = 20:['500 m', '500 m'], 40:['9 m', '1 m']");
        let place = |nodes: &str, area: &str| {
            [("network.nodes", nodes), ("network.area", area)]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .to_vec()
        };
        let expected = [place("20", "['500 m', '500 m']"), place("40", "['9 m', '1 m']")];
        assert_eq!(vary.places().collect::<Vec<_>>(), expected);
        assert!(vary.is_axis());
        assert_eq!(read("a=x:y").values, [["x:y"]], "one key has no pairs");
    }

    #[test]
    fn an_axis_has_different_numbers_of_one_unit() {
        for (text, is_axis) in [
            ("a=1,2", true),
            ("a=1 m,2 m", true),
            ("a=1", false),
            ("a=1 m,2 s", false),
            ("a=x,2", false),
            ("a,b=1:2,1:3", false),
        ] {
            assert_eq!(read(text).is_axis(), is_axis, "{text}");
        }
    }
}
