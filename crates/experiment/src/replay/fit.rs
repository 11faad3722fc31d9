//! The degree of thinning at which a run fits on a page, found with few encodings.
//!
//! Encoding takes a hundred times as long as counting the rows that stay. So the size at a degree is estimated from
//! counts, and from what the rows of each class had in the encoding before.

use std::io;

use super::encode::{Encoded, encode};
use super::page;
use super::rows::Rows;
use super::thin::{Choice, Counts, Thinning};

/// Encoded rows that fit, or those of the last degree.
pub struct Fitted {
    /// The rows.
    pub encoded: Encoded,
    /// The degree of thinning.
    pub thinning: Thinning,
    /// The number of encodings that it took.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests limit it"))]
    pub encodings: usize,
}

/// Encodings after which a size that fits is taken, although with less thinning one might fit as well.
const ENOUGH: usize = 3;

/// The part of the size of a row by which a page grows with one more: the more rows there are, the more are alike.
const ALIKE: f64 = 0.9;

/// Encodes the rows with little thinning, such that they have at most `max_bytes` on the page.
///
/// # Errors
/// Compression fails.
pub fn fit(rows: &Rows, max_bytes: usize) -> io::Result<Fitted> {
    let mut counts = vec![None; Thinning::ALL.len()];
    let mut sizes = Sizes::typical(rows);
    // Degrees below `least` do not fit; `best` does.
    let (mut least, mut best) = (0, None::<(usize, Encoded)>);
    let (mut encodings, mut part) = (0, 1.0);
    loop {
        let end = best.as_ref().map_or(Thinning::ALL.len() - 1, |(degree, _)| *degree);
        let mut size_at = |degree: usize| {
            let count = || Choice::new(rows, Thinning::ALL[degree]).count();
            sizes.of(counts[degree].get_or_insert_with(count))
        };
        // Sizes fall with the degree.
        let (mut low, mut high) = (least, end);
        while low < high {
            let middle = usize::midpoint(low, high);
            if size_at(middle) <= max_bytes as f64 {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let degree = low;
        match best {
            Some((known, encoded)) if degree >= known || encodings >= ENOUGH => {
                return Ok(Fitted { encoded, thinning: Thinning::ALL[known], encodings });
            }
            _ => {}
        }
        encodings += 1;
        part *= ALIKE;
        let choice = Choice::new(rows, Thinning::ALL[degree]);
        let encoded = encode(rows, |index, row| choice.keeps(index, row))?;
        let bytes = page::encoded_bytes(&encoded)?;
        if degree == least && (bytes <= max_bytes || degree + 1 == Thinning::ALL.len()) {
            return Ok(Fitted { encoded, thinning: Thinning::ALL[degree], encodings });
        }
        sizes = Sizes::measured(&encoded, bytes, &choice.count(), part);
        if bytes > max_bytes {
            least = (degree + 1).min(Thinning::ALL.len() - 1);
        } else {
            best = Some((degree, encoded));
        }
    }
}

/// Sizes of encoded rows on the page (bytes).
struct Sizes {
    /// The size of a row of each class, with its place in the order.
    classes: Vec<f64>,
    /// The size of a header.
    header: f64,
    /// The size of what does not depend on the rows.
    rest: f64,
}

impl Sizes {
    /// Sizes that are less than those of most runs: estimates from more rows than fit are better than from fewer.
    fn typical(rows: &Rows) -> Self {
        Self { classes: vec![1.5; rows.classes.len()], header: 0.5, rest: 5_000.0 }
    }

    /// The sizes in an encoding of as many rows that has this size on the page. Only a `part` of the size of a row is
    /// taken for what changes with their number.
    fn measured(encoded: &Encoded, bytes: usize, counts: &Counts, part: f64) -> Self {
        let each = |gzip: usize, count: usize| gzip as f64 * 4.0 / 3.0 * part / count.max(1) as f64;
        let order = each(encoded.order_gzip, encoded.rows);
        let classes = encoded.classes.iter().zip(&counts.classes);
        let mut sizes = Self {
            classes: classes.map(|(class, count)| order + each(class.gzip, *count)).collect(),
            header: each(encoded.header_gzip, counts.headers),
            rest: 0.0,
        };
        sizes.rest = bytes as f64 - sizes.of(counts);
        sizes
    }

    /// The size of as many rows.
    fn of(&self, counts: &Counts) -> f64 {
        let rows = counts.classes.iter().zip(&self.classes);
        let rows: f64 = rows.map(|(count, size)| *count as f64 * size).sum();
        rows + counts.headers as f64 * self.header + self.rest
    }
}
