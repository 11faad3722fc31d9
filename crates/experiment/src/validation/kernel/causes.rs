//! Causes of rows that are outside, `causes.toml`.

use std::path::Path;

use driftway_scenario::TomlFile;
use serde::Deserialize;

use super::cases::KernelCase;
use crate::error::Error;

/// The file, in the directory of the study.
pub const CAUSES_FILE: &str = "causes.toml";

/// The causes that are known.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the key `cause`")]
pub struct Causes {
    #[serde(default, rename = "cause")]
    causes: Vec<RowCause>,
}

/// The reason why a simulated TCP is not within the tolerance of the kernel's, `[[cause]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a cause")]
struct RowCause {
    /// A path, or the first parts of its name.
    path: String,
    /// The preset.
    preset: String,
    /// Rows beside another flow, or those without one. Default: both.
    beside: Option<bool>,
    /// The cause.
    text: String,
}

impl Causes {
    /// Reads the file in this directory; none if there is no file.
    ///
    /// # Errors
    ///
    /// The file is invalid.
    pub fn load(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(CAUSES_FILE);
        if !path.is_file() {
            return Ok(Self::default());
        }
        let text = TomlFile::text(&path)?;
        Ok(TomlFile::parse(&path.display().to_string(), text)?.read()?)
    }

    /// The cause of the row of a flow: the first one of the file that fits.
    pub fn of(&self, case: &KernelCase, flow: usize) -> Option<&str> {
        let preset = case.flows.get(flow)?.preset;
        let fits = |cause: &&RowCause| {
            case.is_named(&cause.path)
                && cause.preset == preset
                && cause.beside.is_none_or(|beside| beside == (case.flows.len() > 1))
        };
        self.causes.iter().find(fits).map(|cause| cause.text.as_str())
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::validation::kernel::cases::test::case;

    const TEXT: &str = "\
        [[cause]]\npath = 'lossy'\npreset = 'linux'\nbeside = false\ntext = 'alone'\n\
        [[cause]]\npath = 'lossy/10 ms'\npreset = 'linux'\ntext = 'short'\n";

    #[test]
    fn a_cause_is_found_by_path_preset_and_neighbour() {
        let causes: Causes =
            TomlFile::parse("causes.toml", TEXT.to_owned()).unwrap().read().unwrap();
        let of = |path, flows: &[&'static str]| causes.of(&case(path, flows), 0);
        assert_eq!(of("lossy/10 ms", &["linux"]), Some("alone"));
        assert_eq!(of("lossy/10 ms", &["linux", "sack"]), Some("short"));
        assert_eq!(of("lossy/200 ms", &["linux", "sack"]), None);
        assert_eq!(of("lossy/10 ms", &["sack"]), None);
        assert_eq!(of("lossy-2/10 ms", &["linux"]), None);
    }

    #[test]
    fn the_file_of_this_repository_is_valid() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/validation/kernel");
        assert!(dir.join(CAUSES_FILE).is_file());
        Causes::load(&dir).unwrap();
        assert!(Causes::load(Path::new("/nowhere")).unwrap().causes.is_empty());
    }
}
