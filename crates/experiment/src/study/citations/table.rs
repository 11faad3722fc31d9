//! Tables of a README, generated from recorded results. A comment before a table defines it:
//!
//! ```text
//! <!-- table
//! corner = "arm"
//! rows = [["Reno alone", "plain"], ["EPLN", "epln"]]
//! columns = ["5 m/s", "20 m/s"]
//! cell = "{k parts:{0}:{column}}"
//! -->
//!
//! | arm | 5 m/s | 20 m/s |
//!
//! <!-- end -->
//! ```
//!
//! In a file that several papers share, `<!-- table NAME` has the name of the paper.

use serde::Deserialize;

use super::expression::evaluate;
use crate::study::format::Study;
use crate::study::stored_results::StoredResults;

/// Begin of the comment that defines a table.
pub const TABLE: &str = "<!-- table";

/// The end of a table.
pub const END: &str = "<!-- end -->";

/// The definition of a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a table")]
struct TableDefinition {
    /// Heading of the column with the rows' names.
    #[serde(default)]
    corner: String,
    /// Rows.
    rows: Vec<Line>,
    /// Columns.
    columns: Vec<Line>,
    /// The cell of all columns. `{0}`, `{1}` and so on are the texts of the row, `{column}` that of
    /// the column; the remaining braces contain expressions. `{8:tcp:10 ms}` has no decimals;
    /// `{2 8:tcp:10 ms}` has two; `{± 8:tcp:10 ms}` is the half-width of a result's interval.
    cell: Option<String>,
}

/// A row or column.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a text, or an array of texts")]
enum Line {
    /// Its name, which is also its text.
    Name(String),
    /// Its name, and its texts: of a column without `cell` the cell.
    Texts(Vec<String>),
}

impl Line {
    /// Name.
    fn name(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Texts(texts) => texts.first().map_or("", String::as_str),
        }
    }

    /// Texts.
    fn texts(&self) -> &[String] {
        match self {
            Self::Name(name) => std::slice::from_ref(name),
            Self::Texts(texts) => texts.get(1..).unwrap_or_default(),
        }
    }
}

impl TableDefinition {
    /// The table as Markdown.
    fn markdown(&self, study: &Study, kept: &StoredResults) -> Result<String, String> {
        let mut text = format!("| {} |", self.corner);
        self.columns.iter().for_each(|column| text += &format!(" {} |", column.name()));
        text += "\n|---|";
        text += &"---|".repeat(self.columns.len());
        text += "\n";
        for row in &self.rows {
            text += &format!("| {} |", row.name());
            for column in &self.columns {
                let cell = self.cell(row, column);
                let cell = fill_cell(&cell, study, kept)
                    .map_err(|error| format!("row {}: {error}", row.name()))?;
                text += &format!(" {cell} |");
            }
            text += "\n";
        }
        Ok(text)
    }

    /// A cell, with the texts of its row and column.
    fn cell(&self, row: &Line, column: &Line) -> String {
        let text = column.texts().first().map_or("", String::as_str);
        let cell = match &self.cell {
            Some(cell) => cell.replace("{column}", text),
            None => text.to_owned(),
        };
        let texts = row.texts().iter().enumerate();
        texts.fold(cell, |cell, (number, text)| cell.replace(&format!("{{{number}}}"), text))
    }
}

/// Returns `text` with its tables updated: those with the name `paper`, in a README those without
/// a name.
///
/// # Errors
///
/// A definition is invalid, has no end, or a cell is not a number: the line, and a message.
pub fn update_tables(
    text: &str,
    paper: &str,
    study: &Study,
    kept: &StoredResults,
) -> Result<String, (usize, String)> {
    let mut updated = String::new();
    let mut rest = text;
    while let Some(at) = find_table(rest) {
        let line = text[..text.len() - rest.len() + at].lines().count() + 1;
        let open = |what: &str| (line, format!("the table has no `{what}`"));
        let (definition, behind) = rest[at + TABLE.len()..].split_once("-->").ok_or(open("-->"))?;
        let (rows, behind) = behind.split_once(END).ok_or(open(END))?;
        // Without an end of its own, what stands up to that of the next table would be replaced.
        if find_table(rows).is_some() {
            return Err(open(END));
        }
        let kept_length = rest.len() - behind.len();
        let (name, definition) = definition.split_once('\n').unwrap_or((definition, ""));
        if name.trim() == paper {
            let definition: TableDefinition = toml::from_str(definition)
                .map_err(|error| (line, format!("the table is invalid: {}", error.message())))?;
            let table = definition.markdown(study, kept).map_err(|what| (line, what))?;
            let comment_end = at + rest[at..].find("-->").unwrap_or(0) + 3;
            updated += &format!("{}\n\n{table}\n{END}", &rest[..comment_end]);
        } else {
            updated += &rest[..kept_length];
        }
        rest = behind;
    }
    Ok(updated + rest)
}

/// The place of the next table, which begins a line.
fn find_table(text: &str) -> Option<usize> {
    if text.starts_with(TABLE) { Some(0) } else { text.find("\n<!-- table").map(|at| at + 1) }
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
        let (decimals, of) = split_decimals(of);
        if [" / ", " + ", " - "].iter().any(|operator| of.contains(operator)) {
            return Err(format!(
                "`{expression}`: the interval of one result is known, not of several"
            ));
        }
        return Ok(format!("{:.decimals$}", evaluate(of, study, &with_half_widths(kept))?));
    }
    let (decimals, of) = split_decimals(expression);
    let text = format!("{:.decimals$}", evaluate(of, study, kept)?);
    // A value that rounds to zero has no sign.
    let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    Ok(text.replace('-', if is_zero { "" } else { "−" }))
}

/// The number of decimals before an expression, 0 if there is none, and the expression.
fn split_decimals(text: &str) -> (usize, &str) {
    let digits = text.split_once(' ').filter(|(digits, _)| digits.len() == 1);
    let decimals = digits.and_then(|(digits, of)| Some((digits.parse().ok()?, of)));
    decimals.unwrap_or((0, text))
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

    fn filled(text: &str) -> Result<String, (usize, String)> {
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
        update_tables(text, "", &study, &StoredResults([(name, number)].into()))
    }

    fn readme(rows: &str, columns: &str) -> String {
        let definition = format!("corner = 'at'\nrows = [{rows}]\ncolumns = [{columns}]");
        format!("# A\n\n<!-- table\n{definition}\n-->\nold 1\n<!-- end -->\n\nProse 5.\n")
    }

    #[test]
    fn a_table_is_updated_in_place() {
        let before = readme("['ten', '10 ms']", "['TCP', '{1 8:tcp:{0}} ± {± 1 8:tcp:{0}}']");
        let text = filled(&before).unwrap();
        let table = "-->\n\n| at | TCP |\n|---|---|\n| ten | −12.3 ± 1.6 |\n\n<!-- end";
        assert!(text.contains(table), "{text}");
        assert!(text.starts_with("# A\n") && text.contains("Prose 5") && !text.contains("old"));
        assert_eq!(filled(&text).unwrap(), text, "stays");
        let other = before.replace("<!-- table", "<!-- table yu-2004");
        assert_eq!(filled(&other).unwrap(), other, "of another paper");
    }

    #[test]
    fn one_cell_serves_all_columns() {
        let columns = "'tcp', ['again', 'tcp']]\ncell = '{8:{column}:{0}}'\n#";
        let text = filled(&readme("'10 ms'", columns)).unwrap();
        assert!(
            text.contains("| at | tcp | again |\n|---|---|---|\n| 10 ms | −12 | −12 |"),
            "{text}"
        );
    }

    #[test]
    fn missing_parts_are_reported() {
        for (text, says) in [
            (readme("['ten', '10 ms']", "['TCP', '{9:tcp:{0}}']"), "row ten: there is no figure"),
            (readme("'ten'", "['TCP', '{8:tcp:10 ms']"), "no closing"),
            (readme("'ten'", "3"), "a text, or an array of texts"),
            (readme("'ten'", "'t']\ncels = ['x'"), "unknown field `cels`"),
            (readme("'ten'", "'t'").replace(END, ""), "has no `<!-- end -->`"),
            ("# A\n\n<!-- table\n".to_owned(), "has no `-->`"),
            (readme("['ten', '10 ms']", "['TCP', '{± 8:tcp:{0} - 8:tcp:{0}}']"), "not of several"),
            (
                format!("{}\n<!-- table\n-->\n{END}", readme("'t'", "'t'").replace(END, "Prose")),
                "has no `<!-- end -->`",
            ),
        ] {
            let (line, what) = filled(&text).unwrap_err();
            assert!(line == 3 && what.contains(says), "{line}: {what}");
        }
    }
}
