//! Sources of studies and of single scenarios, by the names of files and papers.

use std::path::Path;

use driftway_scenario::Scenario;

pub use super::files::{PAPER_FILE, PAPER_PREFIX, STUDY_FILE, Source, paper_names};
use super::point;
use crate::error::Error;

/// Loads the scenario in a file, or that of a paper named `paper:NAME/FILE` or
/// `paper:NAME#FIGURE/ARM/POINT` ([`point`]), with keys set.
///
/// # Errors
///
/// It does not exist, or is invalid.
pub fn load_scenario(file: &Path, set: &[(String, String)]) -> Result<Scenario, Error> {
    let named = file.to_str().and_then(|name| name.strip_prefix(PAPER_PREFIX));
    if let Some((paper, named)) = named.and_then(|named| named.split_once(point::SEPARATOR)) {
        return point::scenario(paper, named, set);
    }
    let Some((paper, name)) = named.and_then(|named| named.split_once('/')) else {
        if named.is_some() {
            let help = "a paper's scenario has a name such as paper:liu-singh-2001/figure-8.toml, \
                        or one with figure, arm and point, such as 'paper:yu-2004#50-1/elfn/20 m/s'";
            return Err(Error::refused_with(
                format!("{}: this is not the name of a scenario of a paper", file.display()),
                help,
            ));
        }
        return Ok(Scenario::load(file, set)?);
    };
    let source = Source::find(paper)?;
    Ok(Scenario::parse(&source.display_path(name), &source.read_file(name)?, set)?)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn scenarios_of_papers_have_names() {
        let load = |name: &str| load_scenario(Path::new(name), &[]);
        assert_eq!(load("paper:liu-singh-2001/figure-8.toml").unwrap().flows.len(), 1);
        for wrong in ["paper:liu-singh-2001", "paper:nobody/a.toml", "paper:liu-singh-2001/a.toml"]
        {
            assert!(load(wrong).unwrap_err().is_input(), "{wrong}");
        }
    }
}
