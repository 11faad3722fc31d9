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

    fn statement(
        &self,
        start: usize,
        tokens: &[Option<Token<'a>>; MAX_WORDS],
        count: usize,
        take: &mut impl FnMut(usize, Statement) -> Result<(), MovementError>,
    ) -> Result<(), MovementError> {
        let line = self.line;
        let text = self.line.text[start..self.position].trim_end_matches([';', ' ', '\t', '\r']);
        let unknown = |byte: usize| {
            let message = format!("unknown statement {}", quoted(text));
            line.error_at(byte, message, KNOWN_STATEMENTS)
        };
        // Exactly this number of words after the first two, none of them quoted.
        let arguments = |form: &str, wanted: usize| -> Result<[Word<'a>; 3], MovementError> {
            let mut words = [Word { text: "", byte: start }; 3];
            if count != wanted + 2 {
                let message = format!("{} has {} words", quoted(text), count);
                return Err(line.error_at(start, message, form));
            }
            for (word, token) in words.iter_mut().zip(tokens[2..].iter().flatten()) {
                if token.is_quoted {
                    let message = format!("expected a number, found {}", quoted(token.word.text));
                    return Err(line.error_at(token.word.byte, message, form));
                }
                *word = token.word;
            }
            Ok(words)
        };
        let [Some(first), Some(second), ..] = tokens else { return Err(unknown(start)) };
        let (object, verb) = (first.word, second.word);
        let said = match (object.text, verb.text) {
            ("$ns_" | "$ns", "at") if self.at.is_none() => {
                let form = "$ns_ at 2.0 \"$node_(0) setdest 10.0 20.0 5.0\"";
                let (4, Some(time), Some(inner)) = (count, tokens[2], tokens[3]) else {
                    let message = format!("{} has {} words", quoted(text), count);
                    return Err(line.error_at(start, message, form));
                };
                let at = Some(time.word.time(line)?);
                let (position, end) = (inner.word.byte, inner.word.byte + inner.word.text.len());
                return Script { line, at, position, end }.read(take);
            }
            ("$god_" | "$god", "set-dist") => {
                let form = "$god_ set-dist 0 1 2: two nodes and the hops between them";
                let [one, other, hops] = arguments(form, 3)?;
                one.count(line, "node")?;
                other.count(line, "node")?;
                hops.count(line, "number of hops")?;
                Statement::HopDistance
            }
            ("set", parameter) if self.at.is_none() => {
                let Some(name) = in_parentheses(parameter, &["val", "opt"]) else {
                    return Err(unknown(verb.byte));
                };
                let [value, ..] = arguments("set val(nn) 50", 1)?;
                match name {
                    "nn" => Statement::NodeCount(value.count(line, "number of nodes")?),
                    "x" => Statement::AreaSize { axis: 0, size: value.coordinate(line)? },
                    "y" => Statement::AreaSize { axis: 1, size: value.coordinate(line)? },
                    "duration" => Statement::Duration(value.time(line)?),
                    _ => return Err(unknown(verb.byte)),
                }
            }
            (object_text, verb_text) => {
                let Some(node) = in_parentheses(object_text, &["$node_", "$node"]) else {
                    return Err(unknown(start));
                };
                let node = Word { text: node, byte: object.byte }.count(line, "node")?;
                match verb_text {
                    "setdest" => {
                        let form = "$node_(0) setdest 10.0 20.0 5.0: x, y and a speed in m/s";
                        let [x, y, speed] = arguments(form, 3)?;
                        let to = (x.coordinate(line)?, y.coordinate(line)?);
                        let at = self.at.unwrap_or(Instant::ZERO);
                        Statement::SetDestination { node, at, to, speed: speed.speed(line)? }
                    }
                    "set" if self.at.is_none() => {
                        let [axis, value, _] = arguments("$node_(0) set X_ 1.5", 2)?;
                        let Some(number) = ["X_", "Y_", "Z_"].iter().position(|a| *a == axis.text)
                        else {
                            return Err(unknown(axis.byte));
                        };
                        Statement::SetPosition {
                            node,
                            axis: number,
                            value: value.coordinate(line)?,
                        }
                    }
                    "set" => {
                        let message = format!("a node cannot jump: {}", quoted(text));
                        let help = "positions are set at the start only; later, use setdest";
                        return Err(line.error_at(start, message, help));
                    }
                    _ => return Err(unknown(verb.byte)),
                }
            }
        };
        take(start, said)
    }
}

/// Returns `3` of `$node_(3)` if the name is one of these.
fn in_parentheses<'a>(text: &'a str, names: &[&str]) -> Option<&'a str> {
    let (name, inside) = text.strip_suffix(')')?.split_once('(')?;
    names.contains(&name).then_some(inside)
}
