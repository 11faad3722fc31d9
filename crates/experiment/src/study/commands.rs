//! Commands of causes and open questions, which show what they say: `shown_by`.

use driftway_scenario::{Error, TomlFile};

use super::cause::filled_in;
use super::check::keys;
use super::files::Source;
use super::format::Study;
use super::number::{SettingValue, Settings};
use crate::command::shell_quoted;

impl Study {
    /// Gives causes without a command the study's, and replaces `{paper}` and `{run FILE}` in all commands, and `{set ARM}` in those of open questions.
    ///
    /// # Errors
    ///
    /// A file that the study does not have.
    pub fn fill_commands(&mut self, file: &TomlFile, source: &Source) -> Result<(), Error> {
        let command = if self.is_paper() { "paper" } else { "sweep" };
        let paper = format!("driftway {command} {}", shell_quoted(&source.command_argument()));
        let fill = |place: &[String], text: &mut String| -> Result<(), Error> {
            let mut unknown = None;
            let filled = filled_in(text, |name| match name.split_once(' ') {
                None if name == "paper" => Some(paper.clone()),
                Some(("run", of)) => {
                    unknown = unknown.take().or((!source.has_file(of)).then(|| of.to_owned()));
                    Some(format!("driftway run {}", shell_quoted(&source.command_path(of))))
                }
                _ => None,
            });
            if let Some(name) = unknown {
                let message = format!("there is no file {}", source.display_path(&name));
                return Err(file.error(place, &message));
            }
            *text = filled;
            Ok(())
        };
        for (name, cause) in &mut self.causes {
            if cause.shown_by.is_empty() {
                cause.shown_by.clone_from(&self.shown_by);
            }
            fill(&keys!["cause", name, "shown_by"], &mut cause.shown_by)?;
        }
        for (number, statement) in self.statements.iter_mut().enumerate() {
            for (at, placed) in statement.because.0.iter_mut().enumerate() {
                if let Some(command) = &mut placed.shown_by {
                    fill(&keys!["statement", number, "because", at, "shown_by"], command)?;
                }
            }
        }
        let arms = &self.arms;
        for (number, question) in self.open.iter_mut().enumerate() {
            let command = &mut question.shown_by;
            *command = filled_in(command, |name| {
                let name = name.strip_prefix("set ")?;
                Some(set_options([&arms.iter().find(|arm| arm.name == name)?.set]))
            });
            fill(&keys!["open", number, "shown_by"], command)?;
        }
        Ok(())
    }
}

/// Overrides as options of `driftway run`.
pub fn set_options<'a>(settings: impl IntoIterator<Item = &'a Settings>) -> String {
    let option = |(key, value): (&String, &SettingValue)| {
        format!("--set {}", shell_quoted(&format!("{key}={}", value.0)))
    };
    settings.into_iter().flatten().map(option).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod test {
    use super::super::files::PAPER_FILE;
    use super::super::plan::plan;
    use super::*;

    const PAPER: &str = r#"title = "t"
authors = ["a"]
source = "s"
scenario = "s.toml"
y = ["completion_s"]
arm = [{ name = "atcp", label = "ATCP", set = { "flow.0.aid" = "atcp" } }]
figure = [{ id = "8", title = "t" }]

[[open]]
what = "w"
tried = ["a", "b"]
because = "b"
shown_by = "{run s.toml} {set atcp} --runs 2"

[[statement]]
id = "s"
figure = "8"
says = "s"
value = { arm = "atcp" }
number = 1
because = [{ cause = "slow", readings = [] }]

[cause]
slow = "it is slow"
fast.text = "it is fast"
fast.shown_by = "{paper} --figure 7 && {run s.toml}"
"#;

    const SCENARIO: &str = r#"
name = "a path"
duration = "60 s"
network = { kind = "path", hops = 1, link = { rate = "1 Mbit/s", delay = "5 ms" } }
flow = [{ from = 0, to = 1, application = { transfer = "10 kB" } }]
"#;

    fn planned(text: &str) -> Result<Study, String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(PAPER_FILE), text).unwrap();
        std::fs::write(dir.path().join("s.toml"), SCENARIO).unwrap();
        let source = Source::find(&dir.path().display().to_string()).unwrap();
        let found = plan(source).map_err(|error| error.to_string())?;
        let cause = found.statements[0].cause.as_ref().unwrap();
        let name = dir.path().display();
        assert_eq!(cause.shown_by, format!("driftway paper {name} --figure 8"));
        let run = format!("driftway run {name}/s.toml");
        let fast = format!("driftway paper {name} --figure 7 && {run}");
        assert_eq!(found.study.causes["fast"].shown_by, fast);
        assert_eq!(found.study.open[0].shown_by, format!("{run} --set flow.0.aid=atcp --runs 2"));
        Ok(found.study)
    }

    #[test]
    fn commands_have_short_forms() {
        let study = planned(PAPER).unwrap();
        assert_eq!(study.causes["slow"].text, "it is slow");
        assert_eq!(study.open[0].run, "a");
        assert_eq!(study.figures[0].y[0].label, "completion time");
    }

    #[test]
    fn a_command_runs_a_file_of_the_study() {
        let error = planned(&PAPER.replace("7 && {run s", "7 && {run t")).unwrap_err();
        assert!(error.contains("there is no file") && error.contains("t.toml"), "{error}");
        let error = planned(&PAPER.replace("slow = \"it is slow\"", "slow = 3")).unwrap_err();
        assert!(error.contains("a text, or a table with the keys of a cause"), "{error}");
        let error = planned(&PAPER.replace("\"it is slow\"", "\" \"")).unwrap_err();
        assert!(error.contains("a cause needs a text"), "{error}");
    }
}
