//! Where papers are: a directory that is named, `papers/` here, or this program itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rust_embed::Embed;
use scenario::{File, nearest};

use crate::failure::Failure;

/// The papers that come with driftway.
#[derive(Embed)]
#[folder = "../../papers"]
struct BuiltIn;

/// The directory in which papers stand.
const PAPERS: &str = "papers";

/// The file that makes a directory a paper.
pub const FILE: &str = "paper.toml";

/// A paper's files.
#[derive(Clone, Debug)]
pub struct Source {
    /// What the paper is called.
    pub name: String,
    /// Its directory; `None`: it is built in.
    dir: Option<PathBuf>,
}

impl Source {
    /// The paper called `name`, or in the directory `name`.
    ///
    /// # Errors
    /// There is none: the nearest name is told.
    pub fn find(name: &str) -> Result<Self, Failure> {
        let given = Path::new(name);
        let here = Path::new(PAPERS).join(name);
        let is_path = name.contains(std::path::is_separator) || name.starts_with('.');
        if !is_path && here.join(FILE).is_file() {
            return Ok(Self { name: name.to_owned(), dir: Some(here) });
        }
        if !is_path && built_in().contains(name) {
            return Ok(Self { name: name.to_owned(), dir: None });
        }
        if given.join(FILE).is_file() {
            let full = given.canonicalize().unwrap_or_else(|_| given.to_owned());
            let last = full.file_name().map(|last| last.to_string_lossy().into_owned());
            let name = last.unwrap_or_else(|| name.to_owned());
            return Ok(Self { name, dir: Some(given.to_owned()) });
        }
        let message = if given.is_dir() {
            format!("{name}: there is no {FILE} in this directory")
        } else {
            format!("there is no paper `{name}`")
        };
        let names = names();
        let near = nearest(name, names.iter().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        Err(Failure::Input(format!(
            "{message}\nhelp: {near}known are {}; a directory with a {FILE} does as well",
            known.join(", ")
        )))
    }

    /// The text of a file of the paper.
    ///
    /// # Errors
    /// It is not there, or not text.
    pub fn read(&self, file: &str) -> Result<String, Failure> {
        let failed = |error: String| Failure::Input(error);
        match &self.dir {
            Some(dir) => File::text(&dir.join(file)).map_err(|error| failed(error.to_string())),
            None => {
                let bytes = BuiltIn::get(&format!("{}/{file}", self.name));
                let bytes = bytes.ok_or_else(|| {
                    failed(format!("{}: there is no such file", self.place(file)))
                })?;
                String::from_utf8(bytes.data.into_owned())
                    .map_err(|error| failed(format!("{}: {error}", self.place(file))))
            }
        }
    }

    /// Its `paper.toml`.
    ///
    /// # Errors
    /// It can't be read, or is no TOML.
    pub fn paper(&self) -> Result<File, Failure> {
        File::parse(&self.place(FILE), self.read(FILE)?)
            .map_err(|error| Failure::Input(error.to_string()))
    }

    /// Where a file of the paper stands, for messages and commands.
    pub fn place(&self, file: &str) -> String {
        self.dir().join(file).display().to_string()
    }

    /// Its directory; where it is built in, the one that it came from.
    pub fn dir(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(|| Path::new(PAPERS).join(&self.name))
    }
}

impl Source {
    /// As a command line names it.
    pub fn argument(&self) -> String {
        let dir = self.dir();
        if dir == Path::new(PAPERS).join(&self.name) {
            self.name.clone()
        } else {
            dir.display().to_string()
        }
    }
}

/// Every paper that can be named: those in `papers/` here, and those built in.
pub fn names() -> BTreeSet<String> {
    let mut names = built_in();
    // Where there is no such directory, there are none in it.
    let here = std::fs::read_dir(PAPERS).into_iter().flatten().flatten();
    names.extend(
        here.filter(|entry| entry.path().join(FILE).is_file())
            .map(|entry| entry.file_name().to_string_lossy().into_owned()),
    );
    names
}

fn built_in() -> BTreeSet<String> {
    let is_paper = |path: &str| path.strip_suffix(FILE)?.strip_suffix('/').map(str::to_owned);
    BuiltIn::iter().filter_map(|path| is_paper(&path)).collect()
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_paper_is_built_in() {
        let source = Source { name: "liu-singh-2001".into(), dir: None };
        assert!(source.read(FILE).unwrap().contains("title"));
        assert!(source.read("no-such.toml").is_err());
        assert!(built_in().contains("liu-singh-2001"));
    }

    #[test]
    fn a_name_that_is_not_known_is_told_the_nearest() {
        let Err(Failure::Input(message)) = Source::find("liu-sing-2001") else { panic!() };
        assert!(message.contains("did you mean `liu-singh-2001`?"), "{message}");
    }
}
