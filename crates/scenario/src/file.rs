//! Other TOML files that are read, and refused, as scenarios are.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::{Diagnostic, Error};
use crate::load::{parse_tree, read_text};
use crate::reader;
use crate::tree::Node;

/// A TOML file whose mistakes are told with line and column.
#[derive(Clone, Debug)]
pub struct TomlFile {
    name: String,
    text: String,
    tree: Node,
}

impl TomlFile {
    /// Reads `text`, the content of the file `name`.
    ///
    /// # Errors
    /// It is no TOML, empty, or over 16 MiB.
    pub fn parse(name: &str, text: String) -> Result<Self, Error> {
        let tree = parse_tree(name, &text, "there are keys to write")?;
        Ok(Self { name: name.to_owned(), text, tree })
    }

    /// The text of the file at `path`.
    ///
    /// # Errors
    /// It is not there, not regular, over 16 MiB or not text.
    pub fn text(path: &Path) -> Result<String, Error> {
        read_text(path, &path.display().to_string())
    }

    /// What stands in it.
    ///
    /// # Errors
    /// What is wrong first, and where: unknown keys with the nearest known one, values that don't
    /// fit, keys that are missing.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        reader::read(&self.tree).map_err(|fault| self.located(fault))
    }

    /// A mistake in the value at `keys` (elements of arrays by number), or, where that is not
    /// written, in the innermost table around it. What would be right follows a line break in
    /// `message`.
    pub fn error<K: AsRef<str>>(&self, keys: &[K], message: &str) -> Error {
        let mut node = &self.tree;
        for key in keys {
            match node.get(key.as_ref()) {
                Some(inner) => node = inner,
                None => break,
            }
        }
        self.located(Diagnostic::new(message).at(node.origin))
    }

    fn located(&self, fault: Diagnostic) -> Error {
        Error::new(fault, &self.name, &self.text, &[])
    }
}

/// The one of `names` that `word` was most likely meant to be.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    crate::error::nearest(word, names)
}

#[cfg(test)]
mod test {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Example {
        arm: Vec<Arm>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Arm {
        name: String,
    }

    fn file(text: &str) -> TomlFile {
        TomlFile::parse("a.toml", text.to_owned()).unwrap()
    }

    #[test]
    fn a_mistake_has_its_line_and_column() {
        let error = file("[[arm]]\nnmae = 'x'\n").read::<Example>().unwrap_err().to_string();
        assert!(error.starts_with("a.toml:2:1: unknown key `nmae`"), "{error}");
        assert!(error.contains("did you mean `name`"), "{error}");
    }

    #[test]
    fn a_later_mistake_is_placed_by_its_keys() {
        let file = file("[[arm]]\nname = 'x'\n[[arm]]\nname = 'x'\n");
        assert_eq!(file.read::<Example>().unwrap().arm[1].name, "x");
        let error = file.error(&["arm", "1", "name"], "this name is there twice\nchoose another");
        assert_eq!(error.to_string(), "a.toml:4:8: this name is there twice\nhelp: choose another");
        let error = file.error(&["arm", "1", "label"], "it has no label");
        assert!(error.to_string().starts_with("a.toml:3:1: "), "{error}");
    }

    #[test]
    fn what_is_no_toml_is_refused() {
        for text in ["", "a = [", "\0"] {
            assert!(TomlFile::parse("a.toml", text.to_owned()).is_err(), "{text:?}");
        }
    }
}
