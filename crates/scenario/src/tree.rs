//! The file as a tree in which every key and value has its origin.

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml_parser::lexer::TokenKind;

use crate::error::{Diagnostic, Origin, quoted};

/// A value and its origin.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub origin: Origin,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(String),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Datetime,
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key of a table and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub origin: Origin,
    pub node: Node,
}

/// Limits for open brackets and for dots in one key, above those of any scenario. Deeper nesting is
/// rejected before parsing, because parsing, and even deallocation, is recursive.
const MAX_BRACKETS: usize = 32;
const MAX_DOTS: usize = 8;

fn check_depth(text: &str) -> Result<(), Diagnostic> {
    let (mut brackets, mut dots) = (0_usize, 0_usize);
    for token in toml_parser::Source::new(text).lex() {
        match token.kind() {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                (brackets, dots) = (brackets + 1, 0);
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                (brackets, dots) = (brackets.saturating_sub(1), 0);
            }
            TokenKind::Dot => dots += 1,
            TokenKind::Comma | TokenKind::Equals | TokenKind::Newline => dots = 0,
            _ => {}
        }
        if brackets > MAX_BRACKETS || dots > MAX_DOTS {
            let fault =
                Diagnostic::new("this is nested too deeply\nno key is deeper than five levels");
            return Err(fault.at(Origin::Text(token.span().start())));
        }
    }
    Ok(())
}

impl Node {
    /// Parses a whole file.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        check_depth(text)?;
        let table = DeTable::parse(text).map_err(|error| toml_diagnostic(&error, text))?;
        let origin = Origin::Text(table.span().start);
        Ok(Self { origin, value: table_of(table.into_inner(), Origin::Text)? })
    }

    /// Parses a TOML value of a built-in default.
    pub fn parse_value(text: &str) -> Result<Self, Diagnostic> {
        let value = DeValue::parse(text).map_err(|error| toml_diagnostic(&error, text))?;
        node_of(value, Origin::Text)
    }

    /// Parses the value of an override: a TOML value, or else the text itself.
    pub fn parse_override(text: &str, number: usize) -> Result<Self, Diagnostic> {
        let place = |_| Origin::Override(number);
        check_depth(text).map_err(|fault| Diagnostic { origin: Some(place(0)), ..fault })?;
        match DeValue::parse(text) {
            Ok(value) => node_of(value, place),
            Err(_) => Ok(Self { origin: place(0), value: Value::String(text.trim().to_owned()) }),
        }
    }

    /// Returns the value of `key` in this table, or of an index in this array.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.node),
            Value::Array(nodes) => nodes.get(key.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// Returns the value of `key` in this table mutably.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match &mut self.value {
            Value::Table(entries) => entries.iter_mut().find(|e| e.key == key).map(|e| &mut e.node),
            _ => None,
        }
    }

    /// Returns the value at a path mutably.
    pub fn at_mut(&mut self, path: &[String]) -> Option<&mut Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let inner = match &mut self.value {
            Value::Array(nodes) => nodes.get_mut(first.parse::<usize>().ok()?),
            Value::Table(entries) => {
                entries.iter_mut().find(|entry| entry.key == *first).map(|entry| &mut entry.node)
            }
            _ => None,
        };
        inner?.at_mut(rest)
    }

    /// Returns this table without the key `key`.
    pub fn without(&self, key: &str) -> Self {
        let mut node = self.clone();
        if let Value::Table(entries) = &mut node.value {
            entries.retain(|entry| entry.key != key);
        }
        node
    }

    /// Expands a value that is short for a table with one key to that table.
    pub fn expand_to_table(&mut self, key: &str) {
        let entry = Entry { key: key.to_owned(), origin: self.origin, node: self.clone() };
        self.value = Value::Table(vec![entry]);
    }

    /// Sets the origin of this node and of all nodes below it.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
        match &mut self.value {
            Value::Array(nodes) => nodes.iter_mut().for_each(|node| node.set_origin(origin)),
            Value::Table(entries) => entries.iter_mut().for_each(|entry| {
                entry.origin = origin;
                entry.node.set_origin(origin);
            }),
            _ => {}
        }
    }

    /// Origin of the value at a dotted path; if it is not written, that of the innermost table
    /// around it.
    pub fn origin_of(&self, path: &str) -> Origin {
        let mut node = self;
        for key in path.split('.') {
            match node.get(key) {
                Some(inner) => node = inner,
                None => break,
            }
        }
        node.origin
    }
}

/// Converts an error of the TOML parser.
fn toml_diagnostic(error: &toml::de::Error, text: &str) -> Diagnostic {
    let message = error.message().trim().replace('\n', "; ");
    let Some(span) = error.span() else { return Diagnostic::new(&message) };
    let fault = match text.get(span.clone()) {
        Some(key) if message == "duplicate key" => {
            Diagnostic::new(&format!("duplicate key `{}`\nremove one of them", quoted(key)))
        }
        _ => Diagnostic::new(&message),
    };
    fault.at(Origin::Text(span.start))
}

fn node_of(
    value: Spanned<DeValue<'_>>,
    place: impl Fn(usize) -> Origin + Copy,
) -> Result<Node, Diagnostic> {
    let origin = place(value.span().start);
    let wrong = |what: &str| Diagnostic::new(what).at(origin);
    let value = match value.into_inner() {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map(Value::Integer)
            .map_err(|_| wrong("this number is too large"))?,
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => Value::Float(number),
            _ => return Err(wrong("this is not a finite number")),
        },
        DeValue::Boolean(yes) => Value::Boolean(yes),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(values) => {
            let nodes = values.into_iter().map(|value| node_of(value, place));
            Value::Array(nodes.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => table_of(table, place)?,
    };
    Ok(Node { origin, value })
}

fn table_of(
    table: DeTable<'_>,
    place: impl Fn(usize) -> Origin + Copy,
) -> Result<Value, Diagnostic> {
    let entries = table.into_iter().map(|(key, value)| {
        let origin = place(key.span().start);
        Ok(Entry { key: key.into_inner().into_owned(), origin, node: node_of(value, place)? })
    });
    Ok(Value::Table(entries.collect::<Result<_, Diagnostic>>()?))
}
