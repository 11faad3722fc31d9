//! The files of a study: of a paper in a named directory, in `papers/`, or built into this program;
//! of other studies, in a file.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use driftway_scenario::TomlFile;

use super::built_in;
use crate::error::Error;
use crate::words::available;

/// Directory of papers.
const PAPERS_DIR: &str = "papers";

/// The file that defines a paper.
pub const PAPER_FILE: &str = "paper.toml";

/// Name of the file of a study created from a command line.
pub const STUDY_FILE: &str = "study.toml";

/// Prefix of a paper's scenario where a file is expected: `paper:NAME/FILE`.
pub const PAPER_PREFIX: &str = "paper:";

/// The files of a study.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name of the study.
    pub name: String,
    place: Location,
}

/// Location of the files.
#[derive(Clone, Debug)]
enum Location {
    /// A directory; `file` is the study's own file.
    Dir { dir: PathBuf, file: String },
    /// Built into this program.
    BuiltIn,
    /// The study was created from a command line; its scenarios are in a directory.
    Text { dir: PathBuf, text: String },
}

impl Source {
    /// Finds the paper called `name`, or in the directory `name`.
    ///
    /// # Errors
    ///
    /// There is none; the hint has the closest name.
    pub fn find(name: &str) -> Result<Self, Error> {
        let given = Path::new(name);
        let here = Path::new(PAPERS_DIR).join(name);
        let is_path = name.contains(std::path::is_separator) || name.starts_with('.');
        let of = |name: &str, dir: &Path| Self {
            name: name.to_owned(),
            place: Location::Dir { dir: dir.to_owned(), file: PAPER_FILE.to_owned() },
        };
        if !is_path && here.join(PAPER_FILE).is_file() {
            return Ok(of(name, &here));
        }
        if !is_path && built_in_papers().contains(name) {
            return Ok(Self { name: name.to_owned(), place: Location::BuiltIn });
        }
        if given.join(PAPER_FILE).is_file() {
            let full = given.canonicalize().unwrap_or_else(|_| given.to_owned());
            let last = full.file_name().map(|last| last.to_string_lossy().into_owned());
            return Ok(of(last.as_deref().unwrap_or(name), given));
        }
        let message = if given.is_dir() {
            format!("{name}: there is no {PAPER_FILE} in this directory")
        } else {
            format!("there is no paper `{name}`")
        };
        let known = available(name, &Vec::from_iter(paper_names()));
        let help = format!("{known}; or use a directory with a {PAPER_FILE}");
        Err(Error::refused_with(message, help))
    }

    /// The study in this file; its scenarios are in the same directory.
    ///
    /// # Errors
    ///
    /// It is not a file name.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let wrong =
            || Error::refused(format!("{}: this is not the name of a file", path.display()));
        let file = path.file_name().and_then(|name| name.to_str()).ok_or_else(wrong)?;
        let name = path.file_stem().and_then(|name| name.to_str()).ok_or_else(wrong)?;
        let dir = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { name: name.to_owned(), place: Location::Dir { dir, file: file.to_owned() } })
    }

    /// A study with this text, whose scenarios are in `dir`.
    pub fn from_text(name: &str, text: String, dir: PathBuf) -> Self {
        Self { name: name.to_owned(), place: Location::Text { dir, text } }
    }

    /// Reads a file of the study.
    ///
    /// # Errors
    ///
    /// It is missing, or not UTF-8.
    pub fn read_file(&self, file: &str) -> Result<String, Error> {
        match &self.place {
            Location::Text { text, .. } if file == STUDY_FILE => Ok(text.clone()),
            Location::Dir { dir, .. } | Location::Text { dir, .. } => {
                Ok(TomlFile::text(&dir.join(file))?)
            }
            Location::BuiltIn => {
                let wrong = |why: &dyn std::fmt::Display| {
                    Error::refused(format!("{}: {why}", self.display_path(file)))
                };
                let found = built_in::read(&format!("{}/{file}", self.name));
                let bytes = found.ok_or_else(|| wrong(&"there is no such file"))?;
                let bytes = bytes.map_err(|error| wrong(&error))?;
                String::from_utf8(bytes).map_err(|error| wrong(&error))
            }
        }
    }

    /// Returns whether the study has this file.
    pub fn has_file(&self, file: &str) -> bool {
        match &self.place {
            Location::Text { .. } if file == STUDY_FILE => true,
            Location::Dir { dir, .. } | Location::Text { dir, .. } => dir.join(file).is_file(),
            Location::BuiltIn => {
                let path = format!("{}/{file}", self.name);
                built_in::paths().any(|of| of == path)
            }
        }
    }

    /// Parses the study's own file.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not TOML.
    pub fn parse_study(&self) -> Result<TomlFile, Error> {
        let file = self.study_file_name();
        Ok(TomlFile::parse(&self.display_path(file), self.read_file(file)?)?)
    }

    /// Name of the study's own file.
    pub fn study_file_name(&self) -> &str {
        match &self.place {
            Location::Dir { file, .. } => file,
            Location::BuiltIn => PAPER_FILE,
            Location::Text { .. } => STUDY_FILE,
        }
    }

    /// Returns whether it was created from a command line.
    pub const fn is_from_text(&self) -> bool {
        matches!(self.place, Location::Text { .. })
    }

    /// Path of a file of the study, for messages.
    pub fn display_path(&self, file: &str) -> String {
        match &self.place {
            Location::BuiltIn => format!("{PAPER_PREFIX}{}/{file}", self.name),
            Location::Dir { dir, .. } | Location::Text { dir, .. } => {
                dir.join(file).display().to_string()
            }
        }
    }

    /// Path of a file of the study, for commands. The name of a paper's scenario is valid
    /// everywhere.
    pub fn command_path(&self, file: &str) -> String {
        if self.is_known_paper() {
            format!("{PAPER_PREFIX}{}/{file}", self.name)
        } else {
            self.display_path(file)
        }
    }

    /// Returns whether it is a paper that can be found by its name.
    fn is_known_paper(&self) -> bool {
        match &self.place {
            Location::BuiltIn => true,
            Location::Dir { dir, .. } => dir == &Path::new(PAPERS_DIR).join(&self.name),
            Location::Text { .. } => false,
        }
    }

    /// Base directory of a scenario's movement file; `None`: the study is built in.
    pub fn dir(&self) -> Option<&Path> {
        match &self.place {
            Location::Dir { dir, .. } | Location::Text { dir, .. } => Some(dir),
            Location::BuiltIn => None,
        }
    }

    /// Copies its files to `papers/NAME` in the directory `root`, where the commands of a paper
    /// expect them.
    ///
    /// # Errors
    ///
    /// They cannot be written.
    pub fn unpack(&self, root: &Path) -> io::Result<()> {
        let papers = root.join(PAPERS_DIR);
        std::fs::create_dir_all(&papers)?;
        let own = papers.join(&self.name);
        match &self.place {
            Location::Dir { dir, .. } | Location::Text { dir, .. } => {
                std::os::unix::fs::symlink(std::path::absolute(dir)?, own)
            }
            Location::BuiltIn => {
                std::fs::create_dir(&own)?;
                let mut files = built_in::paths().filter_map(|path| {
                    let file = path.strip_prefix(&self.name)?.strip_prefix('/')?;
                    Some((own.join(file), built_in::read(path)?))
                });
                files.try_for_each(|(path, content)| std::fs::write(path, content?))
            }
        }
    }

    /// Name of the study as a command-line argument.
    pub fn command_argument(&self) -> String {
        match &self.place {
            _ if self.is_known_paper() => self.name.clone(),
            Location::BuiltIn => self.name.clone(),
            Location::Dir { dir, file } if file == PAPER_FILE => dir.display().to_string(),
            Location::Dir { dir, file } => dir.join(file).display().to_string(),
            // It is written together with the results.
            Location::Text { .. } => STUDY_FILE.to_owned(),
        }
    }
}

/// Names of all papers: those in `papers/`, and those built in.
pub fn paper_names() -> BTreeSet<String> {
    let mut names = built_in_papers();
    // Without that directory there are none in it.
    let here = std::fs::read_dir(PAPERS_DIR).into_iter().flatten().flatten();
    names.extend(
        here.filter(|entry| entry.path().join(PAPER_FILE).is_file())
            .map(|entry| entry.file_name().to_string_lossy().into_owned()),
    );
    names
}

fn built_in_papers() -> BTreeSet<String> {
    let is_paper = |path: &str| path.strip_suffix(PAPER_FILE)?.strip_suffix('/').map(str::to_owned);
    built_in::paths().filter_map(is_paper).collect()
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_paper_is_built_in() {
        let source = Source { name: "liu-singh-2001".into(), place: Location::BuiltIn };
        assert!(source.read_file(PAPER_FILE).unwrap().contains("title"));
        assert!(source.read_file("no-such.toml").is_err());
        assert!(built_in_papers().contains("liu-singh-2001"));
        assert_eq!(source.display_path("figure-8.toml"), "paper:liu-singh-2001/figure-8.toml");
    }

    #[test]
    fn files_of_a_paper_are_unpacked_from_any_source() {
        let text = |source: &Source| {
            let root = tempfile::tempdir().unwrap();
            source.unpack(root.path()).unwrap();
            std::fs::read_to_string(root.path().join("papers/yu-2004/why.sh")).unwrap()
        };
        let built_in = Source { name: "yu-2004".into(), place: Location::BuiltIn };
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/yu-2004");
        let beside = Source::find(dir.to_str().unwrap()).unwrap();
        assert!(text(&built_in).starts_with("#!/bin/sh"));
        assert_eq!(text(&built_in), text(&beside));
    }

    #[test]
    fn unknown_names_get_a_suggestion() {
        let message = Source::find("liu-sing-2001").unwrap_err().to_string();
        assert!(message.contains("did you mean `liu-singh-2001`?"), "{message}");
    }
}
