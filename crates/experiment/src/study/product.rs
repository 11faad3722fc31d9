//! Arms as products of factors, `[[product]]`: one arm for each combination of the factors' levels.

use super::arm::Arm;
use super::cause::filled_in;
use super::number::Settings;
use super::pattern::matches;
use super::table::table;

table! {
    /// Arms as the product of factors, `[[product]]`. The name of an arm is that of its levels, joined by `-`,
    /// its label that of theirs, joined by a comma; a level without a name or a label adds none.
    pub struct Product expecting "a table with the keys of a product" {
        /// Name of the group of the arms, if there are groups; `{FACTOR}` stands for the name of the factor's
        /// level.
        group: String = default,
        /// The factors; the last one varies fastest.
        factors: Vec<Factor>,
        /// Overrides of all arms; those of levels come after them.
        set: Settings = default,
        /// The arm with which the others are compared, unless a level has its own.
        against: Option<String>,
        /// Arms that are not as the product has them.
        except: Vec<Exception> = default,
    }
}

table! {
    /// A factor, such as the routing protocol.
    pub struct Factor expecting "a table with the keys of a factor" {
        /// Name for readers of the file, such as `"routing"`.
        name: String,
        /// Its levels.
        levels: Vec<Level>,
        /// Name of the level with which the others are compared; it may be one of other arms.
        against: Option<String>,
    }
}

table! {
    /// A level of a factor.
    pub struct Level expecting "a table with the keys of a level" {
        /// Its part of the arm's name; empty: none.
        name: String = default,
        /// Its part of the arm's label; empty: none.
        label: String = default,
        /// Overrides.
        set: Settings = default,
        /// Name of the level of this factor with which it is compared: `against` of the arm is the same arm
        /// with that level.
        against: Option<String> => "that of the factor",
    }
}

table! {
    /// Arms that are not as their product, or their reading, has them.
    pub struct Exception expecting "a table with the keys of an exception" {
        /// The arms, by name; `*` stands for any text.
        arms: Vec<String>,
        /// The arms are left out.
        omit: bool = default => "false",
        /// Overrides: of a product, besides its own; of a reading, in their place.
        set: Settings = default,
        /// Label of the arm.
        label: Option<String>,
    }
}

impl Exception {
    /// Returns whether it is about the arm `name`.
    pub fn is_about(&self, name: &str) -> bool {
        self.arms.iter().any(|pattern| matches(pattern, name))
    }
}

impl Product {
    /// The arms, in order.
    pub fn arms(&self) -> Vec<Arm> {
        self.rows().iter().filter_map(|row| self.arm(row)).collect()
    }

    /// The names of all combinations, with those that exceptions leave out.
    pub fn names(&self) -> Vec<String> {
        let rows = self.rows().into_iter();
        rows.map(|row| joined(row.iter().map(|level| level.name.as_str()), "-")).collect()
    }

    /// The combinations of levels.
    fn rows(&self) -> Vec<Vec<&Level>> {
        let mut rows: Vec<Vec<&Level>> = vec![Vec::new()];
        for factor in &self.factors {
            let with = |row: &Vec<_>| {
                let row = row.clone();
                factor.levels.iter().map(move |level| [row.clone(), vec![level]].concat())
            };
            rows = rows.iter().flat_map(with).collect();
        }
        rows
    }

    fn arm(&self, levels: &[&Level]) -> Option<Arm> {
        let name = joined(levels.iter().map(|level| level.name.as_str()), "-");
        let mut set = self.set.clone();
        levels.iter().for_each(|level| set.extend(level.set.clone()));
        let against = levels.iter().enumerate().find_map(|(at, level)| {
            let of_factor = self.factors[at].against.as_deref();
            let of_factor = of_factor.filter(|other| *other != level.name);
            let other = level.against.as_deref().or(of_factor)?;
            let names = levels.iter().enumerate();
            let names = names.map(|(n, of)| if n == at { other } else { of.name.as_str() });
            Some(joined(names, "-"))
        });
        let common = self.against.clone().filter(|other| *other != name);
        let against = against.or(common);
        let mut label = joined(levels.iter().map(|level| level.label.as_str()), ", ");
        for exception in self.except.iter().filter(|of| of.is_about(&name)) {
            if exception.omit {
                return None;
            }
            set.extend(exception.set.clone());
            label = exception.label.clone().unwrap_or(label);
        }
        let of_factor = |name: &str| {
            let at = self.factors.iter().position(|factor| factor.name == name)?;
            Some(levels[at].name.clone())
        };
        let group = filled_in(&self.group, of_factor);
        Some(Arm { name, label, group, set, against, ..Arm::default() })
    }
}

fn joined<'a>(parts: impl Iterator<Item = &'a str>, by: &str) -> String {
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(by)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_factor_compares_its_levels_with_one() {
        let product: Product = toml::from_str(
            r#"factors = [
                { name = "tcp", levels = [{ name = "reno" }, { name = "sack" }] },
                { name = "aid", against = "", levels = [{}, { name = "atcp" }, { name = "elfn", against = "atcp" }] },
            ]"#,
        )
        .unwrap();
        let arms = product.arms();
        let against: Vec<_> = arms[..3].iter().map(|arm| arm.against.as_deref()).collect();
        assert_eq!(against, [None, Some("reno"), Some("reno-atcp")]);
    }

    #[test]
    fn an_arm_for_each_combination_but_the_exceptions() {
        let product: Product = toml::from_str(
            r#"
            group = "g-{routing}"
            factors = [
              { name = "routing", levels = [
                { name = "dsr", label = "DSR" },
                { name = "aodv", label = "AODV", set = { "network.routing.protocol" = "aodv" } },
              ] },
              { name = "aid", levels = [
                { label = "TCP" },
                { name = "atcp", label = "ATCP", set = { "flow.0.aid" = "atcp" }, against = "" },
              ] },
            ]
            against = "dsr"
            except = [
              { arms = ["aodv"], omit = true },
              { arms = ["aodv-*"], set = { "duration" = "9 s" }, label = "both" },
            ]
            "#,
        )
        .unwrap();
        let arms = product.arms();
        let names: Vec<_> =
            arms.iter().map(|arm| (arm.name.as_str(), arm.label.as_str())).collect();
        assert_eq!(names, [("dsr", "DSR, TCP"), ("dsr-atcp", "DSR, ATCP"), ("aodv-atcp", "both")]);
        let against: Vec<_> = arms.iter().map(|arm| arm.against.as_deref()).collect();
        assert_eq!(against, [None, Some("dsr"), Some("aodv")], "not with itself, a level first");
        let keys: Vec<_> = arms[2].set.keys().map(String::as_str).collect();
        assert_eq!(keys, ["duration", "flow.0.aid", "network.routing.protocol"]);
        let groups: Vec<_> = arms.iter().map(|arm| arm.group.as_str()).collect();
        assert_eq!(groups, ["g-dsr", "g-dsr", "g-aodv"]);
    }
}
