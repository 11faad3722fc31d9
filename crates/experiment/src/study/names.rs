//! The names of a study as its file means them: those that patterns stand for, and what depends on them.

use driftway_scenario::{Error, TomlFile};

use super::check::{find_name, keys};
use super::format::Study;
use super::pattern::matches;
use super::product::Exception;
use crate::words::available;

/// The names that patterns may stand for, in the order of the file.
struct Names<'a> {
    file: &'a TomlFile,
    what: &'static str,
    known: Vec<String>,
    /// Names that may be written, but that no pattern stands for.
    also: Vec<String>,
}

impl<'a> Names<'a> {
    fn new<'n>(
        file: &'a TomlFile,
        what: &'static str,
        known: impl Iterator<Item = &'n String>,
    ) -> Self {
        Self { file, what, known: known.cloned().collect(), also: Vec::new() }
    }

    /// Replaces the patterns of `list`, which is at `place` in the file, by the names that match.
    fn expand(&self, place: &[String], list: &mut Vec<String>) -> Result<(), Error> {
        if !list.iter().any(|name| name.contains('*')) {
            return Ok(());
        }
        let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
        let mut all: Vec<String> = Vec::new();
        for (at, pattern) in list.iter().enumerate() {
            let keys = [place, &keys![at]].concat();
            if !pattern.contains('*') {
                if !self.also.contains(pattern) {
                    find_name(self.file, &keys, self.what, pattern, &known)?;
                }
                all.push(pattern.clone());
                continue;
            }
            let found: Vec<&str> =
                known.iter().copied().filter(|name| matches(pattern, name)).collect();
            if found.is_empty() {
                let help = available(&pattern.replace('*', ""), &known);
                let message = format!("no {} matches `{pattern}`\n{help}", self.what);
                return Err(self.file.error(&keys, &message));
            }
            for name in found {
                if all.iter().all(|of| of != name) {
                    all.push(name.to_owned());
                }
            }
        }
        *list = all;
        Ok(())
    }
}

impl Names<'_> {
    /// Checks that each name or pattern of the exceptions of the table at `place` stands for an arm.
    fn check_exceptions(&self, place: &[String], exceptions: &[Exception]) -> Result<(), Error> {
        let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
        for (number, exception) in exceptions.iter().enumerate() {
            for (at, pattern) in exception.arms.iter().enumerate() {
                if !known.iter().any(|name| matches(pattern, name)) {
                    let help = available(&pattern.replace('*', ""), &known);
                    let message = format!("no {} matches `{pattern}`\n{help}", self.what);
                    let keys = [place, &keys!["except", number, "arms", at]].concat();
                    return Err(self.file.error(&keys, &message));
                }
            }
        }
        Ok(())
    }
}

impl Study {
    /// Replaces names with `*` by those that they stand for, and the names of reasons by their texts; gives causes without
    /// readings those of their definition; and makes statements about our figures ours.
    ///
    /// # Errors
    ///
    /// A name with `*` that stands for none, or an unknown name beside one.
    pub fn expand_names(&mut self, file: &TomlFile) -> Result<(), Error> {
        let figures = Names::new(file, "figure", self.figures.iter().map(|of| &of.id));
        let groups = Names::new(file, "group", self.groups.iter().map(|of| &of.name));
        let readings = Names::new(file, "reading", self.readings.iter().map(|of| &of.name));
        let mut arms = Names::new(file, "arm", self.arms.iter().map(|of| &of.name));
        for reading in &self.readings {
            arms.also.extend(self.arms.iter().map(|arm| reading.name_of(&arm.name)));
        }
        for (number, product) in self.products.iter().enumerate() {
            let names = product.names();
            let own = Names::new(file, "arm of this product", names.iter());
            own.check_exceptions(&keys!["product", number], &product.except)?;
        }
        for (number, reading) in self.readings.iter().enumerate() {
            arms.check_exceptions(&keys!["reading", number], &reading.except)?;
        }
        for (number, figure) in self.figures.iter_mut().enumerate() {
            let place = |key: &str| keys!["figure", number, key];
            arms.expand(&place("arms"), &mut figure.arms)?;
            groups.expand(&place("groups"), &mut figure.groups)?;
            readings.expand(&place("readings"), &mut figure.readings)?;
        }
        for (number, reading) in self.readings.iter_mut().enumerate() {
            figures.expand(&keys!["reading", number, "figures"], &mut reading.figures)?;
        }
        figures.expand(&keys!["quick", "figures"], &mut self.quick.figures)?;
        if let Some(kernel) = &mut self.kernel {
            figures.expand(&keys!["kernel", "figures"], &mut kernel.figures)?;
        }
        for (name, cause) in &mut self.causes {
            readings.expand(&keys!["cause", name, "readings"], &mut cause.readings)?;
        }
        for (number, statement) in self.statements.iter_mut().enumerate() {
            let place = |key: &str| keys!["statement", number, key];
            figures.expand(&place("figure"), &mut statement.figure.0)?;
            readings.expand(&place("readings"), &mut statement.readings)?;
            let mut about = self.figures.iter().filter(|of| statement.figure.0.contains(&of.id));
            statement.ours |= !statement.figure.0.is_empty() && about.all(|figure| figure.ours);
            let capped = statement.capped.as_ref().and_then(|name| self.causes.get(name));
            if let Some(cause) = capped {
                statement.capped = Some(cause.text.trim().to_owned());
            }
            // Those of a cause are among those of its statement.
            let own = Names::new(file, "figure in this statement", statement.figure.0.iter());
            for (at, placed) in statement.because.0.iter_mut().enumerate() {
                let place = |key: &str| keys!["statement", number, "because", at, key];
                own.expand(&place("figures"), &mut placed.figures)?;
                readings.expand(&place("readings"), &mut placed.readings)?;
                if placed.readings.is_empty()
                    && let Some(cause) = self.causes.get(&placed.cause)
                {
                    placed.readings.clone_from(&cause.readings);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// The study of this text, with the names that its patterns stand for.
    fn expanded(statement: &str) -> Result<Study, String> {
        let text = format!(
            "title = 't'\ncause = {{ c = {{ text = 'c', readings = ['*t'] }}, d = 'why ' }}\narm = [{{ name = 'a', label = 'A' }}, {{ name = 'ab', label = 'B' }}]\n\
             reading = [{{ name = 'text', label = 't' }}, {{ name = 'wire', label = 'w' }}]\n\
             figure = [{{ id = '5', title = 't', arms = ['a*'] }}, {{ id = '5-tap', title = 't', arms = ['ab-wire', 'a*'] }}, {{ id = '8', title = 't', ours = true }}]\n\
             [[statement]]\nid = 's'\nsays = 's'\n{statement}"
        );
        let file = TomlFile::parse("s.toml", text).map_err(|error| error.to_string())?;
        let mut study: Study = file.read().map_err(|error| error.to_string())?;
        study.expand_names(&file).map_err(|error| error.to_string())?;
        Ok(study)
    }

    #[test]
    fn exceptions_are_about_arms() {
        let check = |except: &str| {
            let text = format!(
                "title = 't'\narm = [{{ name = 'aodv', label = 'A' }}]\n\
                 [[reading]]\nname = 'r'\nlabel = 'r'\nexcept = [{{ arms = [{except}], omit = true }}]\n\
                 [[product]]\nfactors = [{{ name = 'f', levels = [{{ name = 'x', label = 'X' }}] }}]\n\
                 except = [{{ arms = ['x'], omit = true }}]"
            );
            let file = TomlFile::parse("s.toml", text).unwrap();
            let mut study: Study = file.read().unwrap();
            study.expand_names(&file).map_err(|error| error.to_string())
        };
        check("'aodv', 'a*'").unwrap();
        let error = check("'aodv', 'dsr*'").unwrap_err();
        assert!(
            error.starts_with("s.toml:6:") && error.contains("no arm matches `dsr*`"),
            "{error}"
        );
    }

    #[test]
    fn lists_of_names_may_have_patterns() {
        let study = expanded(
            "figure = ['8', '5*']\nreadings = ['*']\n\
             because = [{ cause = 'c', figures = ['*-tap'], readings = ['w*'] }, 'd']",
        )
        .unwrap();
        let statement = &study.statements[0];
        assert_eq!(statement.figure.0, ["8", "5", "5-tap"], "in the order of the file, each once");
        assert_eq!(statement.readings, ["text", "wire"]);
        assert_eq!(statement.because.0[0].figures, ["5-tap"]);
        assert_eq!(statement.because.0[0].readings, ["wire"]);
        let restricted = expanded("figure = '8'\nbecause = 'c'").unwrap();
        let capped = |reason| expanded(&format!("figure = '8'\ncapped = '{reason}'")).unwrap();
        let reason = |study: Study| study.statements[0].capped.clone().unwrap();
        assert_eq!(reason(capped("d")), "why");
        assert_eq!(reason(capped("by the rate")), "by the rate");
        assert!(restricted.statements[0].ours && !statement.ours, "as all its figures");
        assert_eq!(restricted.statements[0].because.0[0].readings, ["text"]);
        assert_eq!(study.figures[0].arms, ["a", "ab"]);
        assert_eq!(study.figures[1].arms, ["ab-wire", "a", "ab"]);
    }

    #[test]
    fn a_pattern_stands_for_something() {
        for (statement, says) in [
            ("figure = '9-*'", "no figure matches `9-*`"),
            ("figure = ['5*', '9']", "there is no figure `9`"),
            ("figure = ['*-tpa']", "did you mean `5-tap`?"),
            ("figure = '8'\nreadings = ['wore*']", "no reading matches `wore*`"),
            (
                "figure = '8'\nbecause = [{ cause = 'c', figures = ['5*'] }]",
                "no figure in this statement matches `5*`",
            ),
        ] {
            let error = expanded(statement).unwrap_err();
            assert!(error.starts_with("s.toml:") && error.contains(says), "{error}");
        }
    }
}
