//! Statements of ns-2 movement files.

use driftway_base::Instant;

use crate::movement::error::{Line, MovementError, quoted};
use crate::movement::number::Word;

/// A statement of a movement file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Statement {
    /// `$node_(0) set X_ 83.4`
    SetPosition { node: u32, axis: usize, value: f64 },
    /// `$node_(0) setdest 90.0 40.5 1.5`, immediately or `$ns_ at` some time.
    SetDestination { node: u32, at: Instant, to: (f64, f64), speed: f64 },
    /// `$god_ set-dist 0 1 2`
    HopDistance,
    /// `set val(nn) 50`
    NodeCount(u32),
    /// `set val(x) 1000.0`
    AreaSize { axis: usize, size: f64 },
    /// `set val(duration) 900.0`
    Duration(Instant),
}

const KNOWN_STATEMENTS: &str = "“$node_(0) set X_ 1.5”, “$ns_ at 2.0 \"$node_(0) setdest 10.0 20.0 5.0\"”, \
                     “$god_ set-dist 0 1 2” or “set val(nn) 50”";

/// Parses a line and passes each statement and its byte offset to `take`.
pub(super) fn read_line(
    line: &Line<'_>,
    take: &mut impl FnMut(usize, Statement) -> Result<(), MovementError>,
) -> Result<(), MovementError> {
    Script { line, at: None, position: 0, end: line.text.len() }.read(take)
}

/// Parser of the statements in a line, or in the quotes of `$ns_ at`.
struct Script<'a> {
    line: &'a Line<'a>,
    /// Time of execution; `None`: the start.
    at: Option<Instant>,
    /// Byte offset of the remaining text.
    position: usize,
    end: usize,
}

/// Maximum number of words of a statement.
const MAX_WORDS: usize = 5;

#[derive(Clone, Copy)]
struct Token<'a> {
    word: Word<'a>,
    /// True if it was in quotes or braces, which `word` excludes.
    is_quoted: bool,
}

impl<'a> Script<'a> {
    fn read(
        &mut self,
        take: &mut impl FnMut(usize, Statement) -> Result<(), MovementError>,
    ) -> Result<(), MovementError> {
        loop {
            self.skip_white();
            let start = self.position;
            if start >= self.end || self.remaining().starts_with('#') {
                return Ok(());
            }
            let mut tokens = [None; MAX_WORDS];
            let mut count = 0;
            while let Some(token) = self.token()? {
                if let Some(place) = tokens.get_mut(count) {
                    *place = Some(token);
                }
                count += 1;
            }
            // Empty between two semicolons.
            if count > 0 {
                self.statement(start, &tokens, count, take)?;
            }
        }
    }

    fn remaining(&self) -> &'a str {
        &self.line.text[self.position..self.end]
    }

    fn skip_white(&mut self) {
        self.position = self.end - self.remaining().trim_start().len();
    }

    /// Returns the next word of the statement; `None` at its end, which is consumed.
    fn token(&mut self) -> Result<Option<Token<'a>>, MovementError> {
        self.skip_white();
        let left = self.remaining();
        let Some(first) = left.chars().next() else { return Ok(None) };
        let close = match first {
            ';' => {
                self.position += 1;
                return Ok(None);
            }
            '"' => Some('"'),
            '{' => Some('}'),
            _ => None,
        };
        if let Some(close) = close {
            let inside = &left[1..];
            let Some(length) = inside.find(close) else {
                let message = format!("the {first} that opens here is not closed in this line");
                return Err(self.line.error_at(self.position, message, format_args!("a {close}")));
            };
            let word = Word { text: &inside[..length], byte: self.position + 1 };
            self.position += length + 2;
            return Ok(Some(Token { word, is_quoted: true }));
        }
        let length = left.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(left.len());
        let word = Word { text: &left[..length], byte: self.position };
        self.position += length;
        Ok(Some(Token { word, is_quoted: false }))
    }

    /// Parses a statement of `count` words.
    fn statement(
        &self,
        start: usize,
        tokens: &[Option<Token<'a>>; MAX_WORDS],
        count: usize,
        take: &mut impl FnMut(usize, Statement) -> Result<(), MovementError>,
    ) -> Result<(), MovementError> {
        let text = self.line.text[start..self.position].trim_end_matches([';', ' ', '\t', '\r']);
        let words = Words { line: self.line, at: self.at, text, start, tokens, count };
        let [Some(object), Some(verb), ..] = tokens else { return Err(words.unknown(start)) };
        let (object, verb) = (object.word, verb.word);
        let statement = match (object.text, verb.text) {
            ("$ns_" | "$ns", "at") if self.at.is_none() => return words.timed()?.read(take),
            ("$god_" | "$god", "set-dist") => words.hop_distance()?,
            ("set", _) if self.at.is_none() => words.parameter(verb)?,
            _ => words.of_node(object, verb)?,
        };
        take(start, statement)
    }
}

/// The words of a statement.
struct Words<'a, 'w> {
    line: &'a Line<'a>,
    /// Time of execution; `None`: the start.
    at: Option<Instant>,
    /// The whole statement, and its byte offset.
    text: &'a str,
    start: usize,
    tokens: &'w [Option<Token<'a>>; MAX_WORDS],
    /// Number of words, which may be more than `tokens` holds.
    count: usize,
}

impl<'a> Words<'a, '_> {
    fn unknown(&self, byte: usize) -> MovementError {
        let message = format!("unknown statement {}", quoted(self.text));
        self.line.error_at(byte, message, KNOWN_STATEMENTS)
    }

    fn wrong_count(&self, form: &str) -> MovementError {
        let message = format!("{} has {} words", quoted(self.text), self.count);
        self.line.error_at(self.start, message, form)
    }

    /// Returns exactly this number of words after the first two, none of them quoted.
    fn arguments(&self, form: &str, wanted: usize) -> Result<[Word<'a>; 3], MovementError> {
        let mut words = [Word { text: "", byte: self.start }; 3];
        if self.count != wanted + 2 {
            return Err(self.wrong_count(form));
        }
        for (word, token) in words.iter_mut().zip(self.tokens[2..].iter().flatten()) {
            if token.is_quoted {
                let message = format!("expected a number, found {}", quoted(token.word.text));
                return Err(self.line.error_at(token.word.byte, message, form));
            }
            *word = token.word;
        }
        Ok(words)
    }

    /// `$ns_ at 2.0 "…"`: the statements in the quotes.
    fn timed(&self) -> Result<Script<'a>, MovementError> {
        let (4, Some(time), Some(inner)) = (self.count, self.tokens[2], self.tokens[3]) else {
            return Err(self.wrong_count("$ns_ at 2.0 \"$node_(0) setdest 10.0 20.0 5.0\""));
        };
        let at = Some(time.word.time(self.line)?);
        let (position, end) = (inner.word.byte, inner.word.byte + inner.word.text.len());
        Ok(Script { line: self.line, at, position, end })
    }

    /// `$god_ set-dist 0 1 2`
    fn hop_distance(&self) -> Result<Statement, MovementError> {
        let form = "$god_ set-dist 0 1 2: two nodes and the hops between them";
        let [one, other, hops] = self.arguments(form, 3)?;
        one.count(self.line, "node")?;
        other.count(self.line, "node")?;
        hops.count(self.line, "number of hops")?;
        Ok(Statement::HopDistance)
    }

    /// `set val(nn) 50`
    fn parameter(&self, name: Word<'a>) -> Result<Statement, MovementError> {
        let Some(parameter) = in_parentheses(name.text, &["val", "opt"]) else {
            return Err(self.unknown(name.byte));
        };
        let [value, ..] = self.arguments("set val(nn) 50", 1)?;
        Ok(match parameter {
            "nn" => Statement::NodeCount(value.count(self.line, "number of nodes")?),
            "x" => Statement::AreaSize { axis: 0, size: value.coordinate(self.line)? },
            "y" => Statement::AreaSize { axis: 1, size: value.coordinate(self.line)? },
            "duration" => Statement::Duration(value.time(self.line)?),
            _ => return Err(self.unknown(name.byte)),
        })
    }

    /// `$node_(0) setdest 90.0 40.5 1.5` or `$node_(0) set X_ 83.4`
    fn of_node(&self, object: Word<'a>, verb: Word<'a>) -> Result<Statement, MovementError> {
        let Some(node) = in_parentheses(object.text, &["$node_", "$node"]) else {
            return Err(self.unknown(self.start));
        };
        let node = Word { text: node, byte: object.byte }.count(self.line, "node")?;
        match verb.text {
            "setdest" => self.destination(node),
            "set" if self.at.is_none() => self.position(node),
            "set" => {
                let message = format!("a node cannot jump: {}", quoted(self.text));
                let help = "positions are set at the start only; later, use setdest";
                Err(self.line.error_at(self.start, message, help))
            }
            _ => Err(self.unknown(verb.byte)),
        }
    }

    fn destination(&self, node: u32) -> Result<Statement, MovementError> {
        let form = "$node_(0) setdest 10.0 20.0 5.0: x, y and a speed in m/s";
        let [x, y, speed] = self.arguments(form, 3)?;
        let to = (x.coordinate(self.line)?, y.coordinate(self.line)?);
        let at = self.at.unwrap_or(Instant::ZERO);
        Ok(Statement::SetDestination { node, at, to, speed: speed.speed(self.line)? })
    }

    fn position(&self, node: u32) -> Result<Statement, MovementError> {
        let [name, value, _] = self.arguments("$node_(0) set X_ 1.5", 2)?;
        let Some(axis) = ["X_", "Y_", "Z_"].iter().position(|axis| *axis == name.text) else {
            return Err(self.unknown(name.byte));
        };
        Ok(Statement::SetPosition { node, axis, value: value.coordinate(self.line)? })
    }
}

/// Returns `3` of `$node_(3)` if the name is one of these.
fn in_parentheses<'a>(text: &'a str, names: &[&str]) -> Option<&'a str> {
    let (name, inside) = text.strip_suffix(')')?.split_once('(')?;
    names.contains(&name).then_some(inside)
}
