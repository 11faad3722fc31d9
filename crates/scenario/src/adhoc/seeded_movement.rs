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
        self.file.contains(SEED)
    }

    /// The file of a seed.
    pub(crate) fn at_seed(&self, seed: u64) -> Self {
        Self { file: self.file.replace(SEED, &seed.to_string()), format: self.format }
    }

    /// The files in `folder` whose names this pattern has, by their seeds; none if it is not one.
    pub fn files(&self, folder: &Path) -> BTreeMap<u64, String> {
        let (directory, name) = match self.file.rsplit_once('/') {
            Some((directory, name)) => (format!("{directory}/"), name),
            None => (String::new(), self.file.as_str()),
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
}

/// The file that is loaded with the scenario: of several the one of the lowest seed.
pub(crate) fn first(named: &MovementFile, folder: &Path) -> Result<(u64, MovementFile), String> {
    match named.files(folder).into_iter().next() {
        Some((seed, file)) => Ok((seed, MovementFile { file, format: named.format })),
        None => Err(format!(
            "there is no file `{}` for any seed\nwith seed 1 it is `{}`, in the scenario's directory",
            named.file,
            named.at_seed(1).file
        )),
    }
}
