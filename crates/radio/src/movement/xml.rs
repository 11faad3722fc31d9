//! XML of movement files: a stream of elements and text with their places in the file. Entities of a
//! document type are not expanded.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::error::{Line, MovementError, quoted, shown};
use super::number::Word;

/// An XML file that is being read.
pub(super) struct XmlFile<'a> {
    name: &'a str,
    text: &'a str,
    reader: Reader<&'a [u8]>,
    /// Place of the current item.
    at: usize,
    /// Line of `at`, and the place at which it begins.
    line: usize,
    line_start: usize,
    /// Names of the elements that are open.
    open: Vec<String>,
}

/// An item of the stream.
pub(super) enum Item<'a> {
    /// The start of an element. An empty element has an end as well.
    Start(BytesStart<'a>),
    /// The end of the element with this name.
    End(String),
    Text(Cow<'a, str>),
    Comment(Cow<'a, str>),
    /// The end of the file, at which all elements have ended.
    EndOfFile,
}

const WELL_FORMED: &str = "well-formed XML, as the tool wrote it";

impl<'a> XmlFile<'a> {
    pub fn new(name: &'a str, text: &'a str) -> Self {
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Self { name, text, reader, at: 0, line: 1, line_start: 0, open: Vec::new() }
    }

    /// Returns the next item.
    ///
    /// # Errors
    /// XML that is not well-formed.
    pub fn next_item(&mut self) -> Result<Item<'a>, MovementError> {
        loop {
            self.go_to(self.reader.buffer_position());
            let event = self.reader.read_event();
            let event = event.map_err(|error| {
                self.go_to(self.reader.error_position());
                self.error(format!("this is not XML: {error}"), WELL_FORMED)
            })?;
            return Ok(match event {
                Event::Start(tag) => {
                    self.open.push(tag.local_name().as_ref().to_owned());
                    Item::Start(tag)
                }
                Event::End(_) => Item::End(self.open.pop().unwrap_or_default()),
                Event::Text(text) => Item::Text(text.xml10_content()),
                Event::CData(text) => Item::Text(text.xml10_content()),
                Event::GeneralRef(name) => {
                    let own = name.resolve_char_ref().ok().flatten().map(String::from);
                    let own = own.map(Cow::Owned);
                    let named = own.or_else(|| resolve_predefined_entity(&name).map(Cow::Borrowed));
                    let unknown = || {
                        self.error(
                            format!("the entity {} is unknown", quoted(&name)),
                            "&amp; and the like",
                        )
                    };
                    Item::Text(named.ok_or_else(unknown)?)
                }
                Event::Comment(text) => Item::Comment(text.xml10_content()),
                Event::Eof => match self.open.last() {
                    Some(name) => {
                        let message = format!("the file ends within <{}>", shown(name));
                        return Err(
                            self.error(message, "the whole file: its tool has not finished it")
                        );
                    }
                    None => Item::EndOfFile,
                },
                Event::Empty(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => continue,
            });
        }
    }

    /// Names of the elements that are open, the outermost first.
    pub fn open(&self) -> &[String] {
        &self.open
    }

    /// Returns an attribute of the current element.
    ///
    /// # Errors
    /// An element whose attributes are not well-formed.
    pub fn attribute<'t>(
        &self,
        tag: &'t BytesStart<'a>,
        name: &str,
    ) -> Result<Option<Cow<'t, str>>, MovementError> {
        let wrong = |error: String| self.error(format!("this is not XML: {error}"), WELL_FORMED);
        let mut found = None;
        // To the last one, because each of them may be wrong.
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|error| wrong(error.to_string()))?;
            if attribute.key.as_ref() == name {
                let value = attribute.normalized_value(XmlVersion::Implicit1_0);
                found = Some(value.map_err(|error| wrong(error.to_string()))?);
            }
        }
        Ok(found)
    }

    /// Returns an attribute that the current element has to have.
    ///
    /// # Errors
    /// An element without it.
    pub fn required<'t>(
        &self,
        tag: &'t BytesStart<'a>,
        name: &str,
    ) -> Result<Cow<'t, str>, MovementError> {
        let element = tag.local_name();
        self.attribute(tag, name)?.ok_or_else(|| {
            let message = format!("<{}> has no attribute `{name}`", shown(element.as_ref()));
            self.error(message, format!("{name}=\"…\""))
        })
    }

    /// Parses a number in such an attribute by one of the functions of [`Word`].
    ///
    /// # Errors
    /// An element without the attribute, or one that is no such number.
    pub fn number<T>(
        &self,
        tag: &BytesStart<'a>,
        name: &str,
        parse: impl FnOnce(&Word<'_>, &Line<'_>) -> Result<T, MovementError>,
    ) -> Result<T, MovementError> {
        let text = self.required(tag, name)?;
        parse(&Word { text: text.trim(), byte: self.byte() }, &self.line())
    }

    /// The line of the current item.
    pub fn line(&self) -> Line<'a> {
        let rest = self.text.get(self.line_start..).unwrap_or_default();
        Line { file: self.name, number: self.line, text: rest.lines().next().unwrap_or_default() }
    }

    /// The place of the current item in its line.
    pub fn byte(&self) -> usize {
        self.at - self.line_start
    }

    /// An error at the current item.
    pub fn error(&self, message: impl ToString, help: impl ToString) -> MovementError {
        self.line().error_at(self.byte(), message.to_string(), help.to_string())
    }

    /// Goes to a place in the text.
    fn go_to(&mut self, at: u64) {
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(self.text.len());
        if at < self.at {
            (self.at, self.line, self.line_start) = (0, 1, 0);
        }
        let passed = &self.text.as_bytes()[self.at..at];
        for (place, _) in passed.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            (self.line, self.line_start) = (self.line + 1, self.at + place + 1);
        }
        self.at = at;
    }
}
