//! The texts of a README with the sources of their numbers.

use super::table::{END, TABLE};

/// Begin of a comment with the sources of the numbers since the last one.
const SOURCES: &str = "<!-- sources";

/// A part of a README that ends with a comment about its sources, or at the end of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passage {
    /// Line of the comment, or of the end of the file.
    pub line: usize,
    /// The prose: without tables, code, comments, and the numbers of lists.
    pub text: String,
    /// The lines of the comment.
    pub sources: String,
}

/// The region of a README that contains the current line.
#[derive(Clone, Copy, PartialEq)]
enum Region {
    Prose,
    Code,
    Table,
    Sources,
}

/// Splits a README into passages.
pub fn passages(readme: &str) -> Vec<Passage> {
    let mut all = Vec::new();
    let mut current = Passage::default();
    let (mut region, mut item) = (Region::Prose, 0);
    for (at, line) in readme.lines().enumerate() {
        current.line = at + 1;
        let trimmed = line.trim_start();
        let mut ends = None;
        match region {
            Region::Prose if trimmed.starts_with("```") => region = Region::Code,
            Region::Prose if trimmed.starts_with(TABLE) || trimmed.starts_with(NOT_CHECKED) => {
                region = Region::Table;
            }
            Region::Prose => match trimmed.strip_prefix(SOURCES) {
                Some(rest) => ends = Some(rest),
                None => add_prose(&mut current.text, trimmed, &mut item),
            },
            Region::Code if trimmed.starts_with("```") => region = Region::Prose,
            Region::Table if trimmed.starts_with(END) => region = Region::Prose,
            Region::Sources => ends = Some(trimmed),
            Region::Code | Region::Table => {}
        }
        let Some(rest) = ends else { continue };
        region = Region::Sources;
        let (sources, closed) = match rest.split_once("-->") {
            Some((sources, _)) => (sources, true),
            None => (rest, false),
        };
        current.sources += sources;
        current.sources += "\n";
        if closed {
            all.push(std::mem::take(&mut current));
            region = Region::Prose;
        }
    }
    all.push(current);
    all
}

/// Begin of a part whose numbers are not checked. It ends like a table.
const NOT_CHECKED: &str = "<!-- not checked";

/// Adds a line of prose. `item` is the last number of a list: the next one is not part of the text.
fn add_prose(text: &mut String, line: &str, item: &mut usize) {
    let number =
        line.split_once(". ").and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
    let line = match number {
        Some((number, rest)) if number == 1 || number == *item + 1 => {
            *item = number;
            rest
        }
        _ => line,
    };
    // Text between backticks is code.
    *text += &line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    *text += "\n";
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_passage_is_prose_and_its_sources() {
        let readme = "# A\n\n1. Takes 5 s,\n2. or 6.\n\n<!-- sources\n5 = 8:tcp:\ngiven 6\n-->\n\n\
                      <!-- table\nrows = []\n-->\n| 1 |\n<!-- end -->\n\nAbout 7 `code 8`.\n\n\
                      ```sh\n9\n```\n<!-- sources given 7 -->\n2. Last\n";
        let all = passages(readme);
        let words = |at: usize| all[at].text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(all.len(), 3);
        assert_eq!((words(0).as_str(), all[0].line), ("# A Takes 5 s, or 6.", 9));
        assert_eq!(all[0].sources.trim(), "5 = 8:tcp:\ngiven 6");
        assert_eq!((words(1).as_str(), all[1].sources.trim()), ("About 7 .", "given 7"));
        assert_eq!((words(2).as_str(), all[2].sources.as_str()), ("2. Last", ""));
    }

    #[test]
    fn an_open_comment_ends_with_the_file() {
        let all = passages("5\n<!-- sources\n5 = 8:tcp:");
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].sources.trim(), "5 = 8:tcp:");
    }
}
