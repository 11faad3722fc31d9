//! Movement files by seed, `"rwp-{seed}.mov"`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::mobility::MovementFile;

/// Stands for the seed in the name of a movement file.
const SEED: &str = "{seed}";

impl MovementFile {
    /// Returns whether there is a file for each seed.
    pub fn is_seeded(&self) -> bool {
        self.file.iter().any(|name| name.contains(SEED))
    }

    /// The file or files of a seed; the same for all seeds if there are not several.
    pub fn at_seed(&self, seed: u64) -> Self {
        let seed = seed.to_string();
        Self { file: self.file.map(|name| name.replace(SEED, &seed)), ..self.clone() }
    }

    /// The names of all files, of several for each seed those of the files in `folder`.
    pub fn files(&self, folder: &Path) -> Vec<String> {
        let all = |name: &str| match name.contains(SEED) {
            true => seeds(name, folder).into_values().collect(),
            false => vec![name.to_owned()],
        };
        self.file.iter().flat_map(all).collect()
    }
}

/// The files in `folder` whose names this pattern has, by their seeds; none if it is not one.
fn seeds(pattern: &str, folder: &Path) -> BTreeMap<u64, String> {
    let (directory, name) = match pattern.rsplit_once('/') {
        Some((directory, name)) => (format!("{directory}/"), name),
        None => (String::new(), pattern),
    };
    let Some((before, after)) = name.split_once(SEED) else { return BTreeMap::new() };
    let seed = |name: &str| {
        let digits = name.strip_prefix(before)?.strip_suffix(after)?;
        let seed: u64 = digits.parse().ok()?;
        // Not `rwp-+1.mov` or `rwp-01.mov`.
        (seed.to_string() == digits).then(|| (seed, format!("{directory}{name}")))
    };
    let entries = fs::read_dir(folder.join(&directory)).into_iter().flatten().flatten();
    entries.filter_map(|entry| seed(entry.file_name().to_str()?)).collect()
}

/// The files that are loaded with the scenario: of several those of the lowest seed.
pub(crate) fn first(named: &MovementFile, folder: &Path) -> Result<(u64, MovementFile), String> {
    let patterns = || named.file.iter().filter(|name| name.contains(SEED));
    let seed = patterns().find_map(|name| seeds(name, folder).into_keys().next());
    seed.map(|seed| (seed, named.at_seed(seed))).ok_or_else(|| {
        let missing = |name: Option<&str>| name.unwrap_or_default().to_owned();
        format!(
            "there is no file `{}` for any seed\nwith seed 1 it is `{}`, in the scenario's directory",
            missing(patterns().next()),
            missing(patterns().next()).replace(SEED, "1"),
        )
    })
}
