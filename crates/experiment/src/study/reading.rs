//! Readings of the open questions of a paper, `[[reading]]`: each is a patch of the arms.

use super::arm::Arm;
use super::number::Settings;
use super::product::Exception;
use super::table::table;

table! {
    /// A reading of the open questions of a paper, `[[reading]]`. Each statement of the paper is judged and
    /// counted in each reading; the first reading is the literal one.
    ///
    /// Its overrides are applied to each arm that a statement names, key by key, where the scenario with this
    /// arm has the key. The arm is then called `ARM-READING`. Where nothing changes, nothing is counted again.
    pub struct Reading expecting "a table with the keys of a reading" {
        /// Name in statements, such as `"text"`.
        name: String,
        /// Label for readers, such as `"as the text says"`.
        label: String,
        /// Name of an earlier reading, whose overrides it has besides its own, and whose exceptions if it has none.
        like: Option<String>,
        /// Words that it adds to the label of an arm.
        suffix: Option<String> => "its name",
        /// Overrides of the arms, which take precedence over those of an arm.
        set: Settings = default,
        /// Arms that have other overrides in this reading, or none (`omit = true`).
        except: Vec<Exception> = default,
        /// Figures in which statements are judged in this reading.
        figures: Vec<String> = default => "all",
        /// It is a variant of ours, and no reading of the paper: its score is shown apart.
        ours: bool = default => "false",
    }
}

impl Reading {
    /// Gives each reading what it has from the one that it is like.
    pub fn fill_all(readings: &mut [Self]) {
        for number in 1..readings.len() {
            let (earlier, rest) = readings.split_at_mut(number);
            let reading = &mut rest[0];
            // An unknown name is an error of the check.
            if let Some(other) = earlier.iter().find(|of| reading.like.as_ref() == Some(&of.name)) {
                reading.fill_from(other);
            }
        }
    }

    /// Takes the overrides of another reading that it does not have, and its exceptions if it has none.
    fn fill_from(&mut self, other: &Self) {
        let own = std::mem::replace(&mut self.set, other.set.clone());
        self.set.extend(own);
        if self.except.is_empty() {
            self.except.clone_from(&other.except);
        }
    }

    /// Returns whether statements about a figure are judged in it.
    pub fn is_of_figure(&self, figure: &str) -> bool {
        self.figures.is_empty() || self.figures.iter().any(|of| of == figure)
    }

    /// The overrides of an arm.
    pub fn settings_of(&self, arm: &str) -> Settings {
        match self.except.iter().find(|of| of.is_about(arm)) {
            Some(Exception { omit: true, .. }) => Settings::new(),
            Some(other) => other.set.clone(),
            None => self.set.clone(),
        }
    }

    /// Name of the arm that represents the arm `name`.
    pub fn name_of(&self, arm: &str) -> String {
        format!("{arm}-{}", self.name)
    }

    /// The arm with these overrides; `number` determines its colour.
    pub fn derived(&self, arm: &Arm, set: Settings, number: usize) -> Arm {
        let suffix = self.suffix.as_ref().unwrap_or(&self.name);
        let mut derived = Arm {
            name: self.name_of(&arm.name),
            label: format!("{}, {suffix}", arm.label),
            group: self.name.clone(),
            number,
            ..arm.clone()
        };
        derived.set.extend(set);
        derived
    }
}

#[cfg(test)]
mod test {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn a_reading_may_be_like_an_earlier_one() {
        #[derive(Deserialize)]
        struct Example {
            reading: Vec<Reading>,
        }
        let mut readings = toml::from_str::<Example>(
            r#"reading = [
                { name = "a", label = "A", set = { x = 1, y = 2 }, except = [{ arms = ["linux"], omit = true }] },
                { name = "b", label = "B", like = "a", set = { y = 3 } },
                { name = "c", label = "C", like = "b", except = [{ arms = ["linux"], set = { y = 4 } }] },
            ]"#,
        )
        .unwrap()
        .reading;
        Reading::fill_all(&mut readings);
        let of = |number: usize, arm: &str| {
            let set = readings[number].settings_of(arm);
            set.iter().map(|(key, value)| format!("{key}={}", value.0)).collect::<Vec<_>>()
        };
        assert_eq!(of(1, "reno"), ["x=1", "y=3"]);
        assert!(of(1, "linux").is_empty());
        assert_eq!(of(2, "reno"), ["x=1", "y=3"]);
        assert_eq!(of(2, "linux"), ["y=4"]);
    }
}
