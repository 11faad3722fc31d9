//! Tables of a README, generated from recorded results.

use super::expression::evaluate;
use super::format::ReadmeTable;
use crate::study::format::Study;
use crate::study::stored_results::StoredResults;

/// The end of a table in a README.
const END: &str = "<!-- end -->";

impl ReadmeTable {
    /// The start of the table in a README.
    fn begin(&self) -> String {
        format!("<!-- table {} -->", self.name)
    }

    /// The table as Markdown.
    ///
    /// # Errors
    ///
    /// A cell that is not a number.
    pub fn markdown(&self, study: &Study, kept: &StoredResults) -> Result<String, String> {
        let titles = self.columns.iter().map(|(title, _)| title.as_str());
        let mut text = format!("| {} |", self.corner);
        titles.for_each(|title| text += &format!(" {title} |"));
        text += "\n|---|";
        text += &"---|".repeat(self.columns.len());
        text += "\n";
        for row in &self.rows {
            let (title, values) = row
                .split_first()
                .map_or(("", row.as_slice()), |(title, rest)| (title.as_str(), rest));
            text += &format!("| {title} |");
            for (_, cell) in &self.columns {
                let values = values.iter().enumerate();
                let cell = values.fold(cell.clone(), |cell, (number, value)| {
                    cell.replace(&format!("{{{number}}}"), value)
                });
                let cell = fill_cell(&cell, study, kept)
                    .map_err(|error| format!("table {}, row {title}: {error}", self.name))?;
                text += &format!(" {cell} |");
            }
            text += "\n";
        }
        Ok(text)
    }

    /// Returns `readme` with this table updated.
    ///
    /// # Errors
    ///
    /// The table has no markers there, or a cell is not a number.
    pub fn insert_into(
        &self,
        readme: &str,
        study: &Study,
        kept: &StoredResults,
    ) -> Result<String, String> {
        let begin = self.begin();
        let place = readme.split_once(&begin).and_then(|(before, after)| {
            let (_, behind) = after.split_once(END)?;
            Some((before, behind))
        });
        let (before, behind) =
            place.ok_or_else(|| format!("{} has no `{begin}` followed by `{END}`", self.file))?;
        let table = self.markdown(study, kept)?;
        Ok(format!("{before}{begin}\n\n{table}\n{END}{behind}"))
    }
}

/// Returns `readme` without its tables, code and comments.
pub fn prose(readme: &str) -> String {
    let mut text = String::new();
    let (mut code, mut table) = (false, false);
    for line in readme.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            code = !code;
        } else if trimmed.starts_with("<!-- table ") || trimmed.starts_with("<!-- not checked") {
            table = true;
        } else if trimmed.starts_with(END) {
            table = false;
        } else if !code && !table {
            // Text between backticks is code.
            let plain = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
            text += &plain;
            text += "\n";
        }
    }
    text
}

/// Replaces the expressions in `cell` by numbers.
fn fill_cell(cell: &str, study: &Study, kept: &StoredResults) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = cell;
    while let Some((before, after)) = rest.split_once('{') {
        let (expression, behind) =
            after.split_once('}').ok_or_else(|| format!("`{cell}` has no closing `}}`"))?;
        text += before;
        text += &format_number(expression, study, kept)?;
        rest = behind;
    }
    Ok(text + rest)
}

fn format_number(expression: &str, study: &Study, kept: &StoredResults) -> Result<String, String> {
    if let Some(of) = expression.strip_prefix("± ") {
        return Ok(format!("{:.0}", evaluate(of, study, &with_half_widths(kept))?));
    }
    let (decimals, of) = match expression.split_once(' ') {
        Some((digits, of)) if digits.len() == 1 => match digits.parse::<usize>() {
            Ok(decimals) => (decimals, of),
            Err(_) => (0, expression),
        },
        _ => (0, expression),
    };
    let text = format!("{:.decimals$}", evaluate(of, study, kept)?);
    // A value that rounds to zero has no sign.
    let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    Ok(text.replace('-', if is_zero { "" } else { "−" }))
}

/// Replaces the means by the half-widths of the intervals.
fn with_half_widths(kept: &StoredResults) -> StoredResults {
    let mut kept = kept.clone();
    kept.0.values_mut().for_each(|number| number.mean = number.ci90_half);
    kept
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::study::stored_results::{ResultKey, StoredValue};

    const README: &str =
        "# A\n\n<!-- table t -->\nold 1\n<!-- end -->\n\nProse 5 `code 6`.\n\n```sh\n7\n```\n";

    fn filled(readme: &str, cell: &str) -> Result<String, String> {
        let study = "title = 't'\n[[figure]]\nid = '8'\ntitle = 't'\n\
                     y = [{ metric = 'm', label = 'l' }]";
        let study =
            driftway_scenario::TomlFile::parse("p.toml", study.to_owned()).unwrap().read().unwrap();
        let name = ResultKey {
            figure: "8".into(),
            metric: "m".into(),
            arm: "tcp".into(),
            x: "10 ms".into(),
        };
        let number = StoredValue { mean: Some(-12.345), ci90_half: Some(1.6), quick: None };
        let kept = StoredResults([(name, number)].into());
        let table = ReadmeTable {
            name: "t".to_owned(),
            file: "README.md".to_owned(),
            corner: "at".to_owned(),
            rows: vec![vec!["ten".to_owned(), "10 ms".to_owned()]],
            columns: vec![("TCP".to_owned(), cell.to_owned())],
        };
        table.insert_into(readme, &study, &kept)
    }

    #[test]
    fn a_table_is_updated_in_place() {
        let text = filled(README, "{1 8:tcp:{0}} ± {± 8:tcp:{0}}").unwrap();
        assert!(
            text.contains(
                "<!-- table t -->\n\n| at | TCP |\n|---|---|\n| ten | −12.3 ± 2 |\n\n<!--"
            )
        );
        assert!(text.starts_with("# A\n") && text.contains("Prose 5") && !text.contains("old"));
        assert_eq!(filled(&text, "{1 8:tcp:{0}} ± {± 8:tcp:{0}}").unwrap(), text, "stays");
    }

    #[test]
    fn missing_parts_are_reported() {
        assert!(filled("# A", "{8:tcp:{0}}").unwrap_err().contains("has no `<!-- table t -->`"));
        assert!(filled(README, "{9:tcp:{0}}").unwrap_err().contains("row ten: there is no figure"));
        assert!(filled(README, "{8:tcp:10 ms").unwrap_err().contains("no closing"));
    }

    #[test]
    fn prose_excludes_tables_and_code() {
        assert_eq!(
            prose(README).split_whitespace().collect::<Vec<_>>(),
            ["#", "A", "Prose", "5", "."]
        );
    }
}
