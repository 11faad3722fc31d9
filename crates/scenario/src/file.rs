//! TOML files other than scenarios, with the same diagnostics.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::{Diagnostic, Error};
use crate::load::{parse_tree, read_text};
use crate::reader;
use crate::tree::Node;

/// A TOML file whose errors are reported with line and column.
#[derive(Clone, Debug)]
pub struct TomlFile {
    name: String,
    text: String,
    tree: Node,
}

impl TomlFile {
    /// Parses `text`, the content of the file `name`.
    ///
    /// # Errors
    ///
    /// Not TOML, empty, or over 16 MiB.
    pub fn parse(name: &str, text: String) -> Result<Self, Error> {
        let tree = parse_tree(name, &text, "it must have keys")?;
        Ok(Self { name: name.to_owned(), text, tree })
    }

    /// Reads the text of the file at `path`.
    ///
    /// # Errors
    ///
    /// Missing, not a regular file, over 16 MiB, or not UTF-8.
    pub fn text(path: &Path) -> Result<String, Error> {
        read_text(path, &path.display().to_string())
    }

    /// Deserializes the content.
    ///
    /// # Errors
    ///
    /// The first error and its location: an unknown key, with the closest known one; an invalid
    /// value; a missing key.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        reader::read(&self.tree).map_err(|fault| self.located(fault))
    }

    /// Returns whether there is a value at `keys` (array elements by index).
    pub fn contains<K: AsRef<str>>(&self, keys: &[K]) -> bool {
        let mut node = Some(&self.tree);
        for key in keys {
            node = node.and_then(|node| node.get(key.as_ref()));
        }
        node.is_some()
    }

    /// An error in the value at `keys` (array elements by index) or, if it is not written, in the
    /// innermost table around it. A hint follows a line break in `message`.
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

/// The element of `names` that is closest to `word`, if any is similar.
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
    fn errors_have_line_and_column() {
        let error = file("[[arm]]\nnmae = 'x'\n").read::<Example>().unwrap_err().to_string();
        assert!(error.starts_with("a.toml:2:1: unknown key `nmae`"), "{error}");
        assert!(error.contains("did you mean `name`"), "{error}");
    }

    #[test]
    fn later_errors_are_located_by_keys() {
        let file = file("[[arm]]\nname = 'x'\n[[arm]]\nname = 'x'\n");
        assert_eq!(file.read::<Example>().unwrap().arm[1].name, "x");
        let error = file.error(&["arm", "1", "name"], "this name is a duplicate\nchoose another");
        assert_eq!(error.to_string(), "a.toml:4:8: this name is a duplicate\nhelp: choose another");
        let error = file.error(&["arm", "1", "label"], "the label is missing");
        assert!(error.to_string().starts_with("a.toml:3:1: "), "{error}");
    }

    #[test]
    fn invalid_toml_is_rejected() {
        for text in ["", "a = [", "\0"] {
            assert!(TomlFile::parse("a.toml", text.to_owned()).is_err(), "{text:?}");
        }
    }
}
