//! Comparison of two records, line by line, and both side by side.

use std::fmt::Write;

use super::record::{Kind, Line, Record};

/// Difference of the time since the line before, or since the segment before, that is no
/// difference (ms): two ticks of a kernel with 250 Hz, to which its timers are rounded up, and two for
/// processing and for the round trips that it measures beyond the script's.
const TOLERANCE: f64 = 10.0;
/// And the part of that time by which a timer of the timer wheel may be late, in both arms, whose wheels do not turn
/// together: it has 64 buckets in each level, and a bucket is eight times as long as those of the level below.
const WHEEL: f64 = 1.0 / 8.0;

/// Difference of the times of one segment that leaves before a step in one arm and after it in the other, that is no
/// difference (ms): a paced burst is due when it is due, and the kernel takes some time for each step.
const CLOSE: f64 = 1.5;

/// Two lines of which the first is our arm's and the second the kernel's.
type Row<'a> = (Option<&'a Line>, Option<&'a Line>);

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// The segments sent, or their order.
    Segments,
    /// Only the time of a segment.
    Time,
    /// Only the state or the window.
    Window,
}

/// Both records with their differences.
pub struct Comparison<'a> {
    rows: Vec<(Row<'a>, Option<Aspect>)>,
}

impl<'a> Comparison<'a> {
    pub fn new(ours: &'a Record, theirs: &'a Record) -> Self {
        let mut rows = Vec::new();
        // Times of the events from which a timer may run: the line before, and the last segment.
        let mut starts = [(0.0, 0.0); 2];
        for row in align(&ours.lines, &theirs.lines) {
            let aspect = match row {
                (Some(one), Some(other)) => {
                    let (is_sent, at) = (one.kind == Kind::Sent, (one.at, other.at));
                    let same = starts
                        .iter()
                        .any(|start| same_gap((at.0 - start.0, at.1 - start.1), theirs.lateness));
                    starts = [at, if is_sent { at } else { starts[1] }];
                    (is_sent && !same).then_some(Aspect::Time)
                }
                (Some(line), None) | (None, Some(line)) => {
                    for start in &mut starts[..if line.kind == Kind::Sent { 2 } else { 1 }] {
                        *(if row.0.is_some() { &mut start.0 } else { &mut start.1 }) = line.at;
                    }
                    Some(if line.kind == Kind::Window { Aspect::Window } else { Aspect::Segments })
                }
                (None, None) => None,
            };
            rows.push((row, aspect));
        }
        Self { rows }
    }

    /// The comparison of paced data.
    pub fn paced(ours: &'a Record, theirs: &'a Record) -> Self {
        let mut comparison = Self::new(ours, theirs);
        comparison.forgive_close_segments(theirs.lateness);
        comparison
    }

    /// Takes segments that both arms send at the same time, on different sides of a step, for the same.
    fn forgive_close_segments(&mut self, lateness: f64) {
        let of_one = |arm: usize, (row, _): &(Row<'a>, Option<Aspect>)| match (arm, row) {
            (0, (Some(line), None)) | (1, (None, Some(line))) if line.kind == Kind::Sent => {
                Some(*line)
            }
            _ => None,
        };
        for number in 0..self.rows.len() {
            let Some(ours) = of_one(0, &self.rows[number]) else { continue };
            let same = self.rows.iter().position(|row| {
                row.1.is_some()
                    && of_one(1, row).is_some_and(|theirs| {
                        without_echo(&theirs.text) == without_echo(&ours.text)
                            && (theirs.at - ours.at).abs() <= CLOSE + lateness
                    })
            });
            if let Some(same) = same {
                (self.rows[number].1, self.rows[same].1) = (None, None);
            }
        }
    }

    /// The first difference in each aspect, with the time of the last step before it (ms).
    pub fn differences(&self) -> Vec<(Aspect, u64)> {
        let mut found: Vec<(Aspect, u64)> = Vec::new();
        let mut step = 0.0;
        for ((one, other), aspect) in &self.rows {
            if let (Some(line), Some(_)) = (one, other)
                && line.kind == Kind::Step
            {
                step = line.at;
            }
            if let Some(aspect) = aspect
                && found.iter().all(|(known, _)| known != aspect)
            {
                found.push((*aspect, step as u64));
            }
        }
        found.sort_unstable();
        found
    }

    /// Both arms side by side: times in ms; `≠` marks what only one has, `t` another time.
    pub fn side_by_side(&self, names: [&str; 2]) -> String {
        const WIDTH: usize = 62;
        let mut table = String::new();
        let cell = |line: Option<&Line>| {
            let Some(Line { at, kind, text, note }) = line else { return String::new() };
            let indent = match kind {
                Kind::Step => "",
                Kind::Sent => "    > ",
                Kind::Window => "        ",
            };
            let note = if note.is_empty() { String::new() } else { format!(" ({note})") };
            format!("{at:9.1} {indent}{text}{note}")
        };
        // Writing to a String cannot fail.
        let _ = writeln!(table, "  {:<WIDTH$} | {}", names[0], names[1]);
        for ((one, other), aspect) in &self.rows {
            let mark = match aspect {
                None => ' ',
                Some(Aspect::Time) => 't',
                Some(_) => '≠',
            };
            let _ = writeln!(table, "{mark} {:<WIDTH$} | {}", cell(*one), cell(*other));
        }
        table
    }
}

/// The text of a segment without its TSecr, which depends on the last step before it.
fn without_echo(text: &str) -> &str {
    text.split(" ecr ").next().unwrap_or(text)
}

fn same_gap((ours, theirs): (f64, f64), lateness: f64) -> bool {
    (theirs - ours).abs() <= TOLERANCE + lateness + ours.min(theirs).max(0.0) * WHEEL
}

/// A common step is worth many common lines, because what follows it is to be compared with what
/// follows it in the other record.
const WORTH_OF_A_STEP: u32 = 100;

/// The common subsequence of both with the largest worth, with what each has besides.
fn align<'a>(ours: &'a [Line], theirs: &'a [Line]) -> Vec<Row<'a>> {
    let same =
        |i: usize, j: usize| (ours[i].kind, &ours[i].text) == (theirs[j].kind, &theirs[j].text);
    // worth[i][j]: of the best common subsequence of ours[i..] and theirs[j..].
    let mut worth = vec![vec![0_u32; theirs.len() + 1]; ours.len() + 1];
    for i in (0..ours.len()).rev() {
        for j in (0..theirs.len()).rev() {
            worth[i][j] = if same(i, j) {
                worth[i + 1][j + 1] + if ours[i].kind == Kind::Step { WORTH_OF_A_STEP } else { 1 }
            } else {
                worth[i + 1][j].max(worth[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut rows) = (0, 0, Vec::new());
    while i < ours.len() || j < theirs.len() {
        if i < ours.len() && j < theirs.len() && same(i, j) {
            rows.push((Some(&ours[i]), Some(&theirs[j])));
            (i, j) = (i + 1, j + 1);
        } else if j == theirs.len() || (i < ours.len() && worth[i + 1][j] >= worth[i][j + 1]) {
            rows.push((Some(&ours[i]), None));
            i += 1;
        } else {
            rows.push((None, Some(&theirs[j])));
            j += 1;
        }
    }
    rows
}
