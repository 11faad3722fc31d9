//! Files with outages.

use chrono::{DateTime, FixedOffset};
use driftway_base::{Duration, Instant};

use super::csv_file::CsvFile;
use crate::error::{Error, quoted};

const FORMAT: &str =
    "the columns are start and end, in seconds, or in RFC 3339 with the key `origin`";

/// Latest time of an outage in seconds.
const MAX_SECONDS: f64 = 9e6;

/// The time of a log at which a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin(DateTime<FixedOffset>);

impl Origin {
    /// Parses a time such as `2026-03-01T08:00:00Z` (RFC 3339).
    ///
    /// # Errors
    ///
    /// A message, and a hint after a line break.
    pub fn parse(text: &str) -> Result<Self, String> {
        DateTime::parse_from_rfc3339(text).map(Self).map_err(|error| {
            format!(
                "`{}` is not a time: {error}\n`origin` is a time such as \"2026-03-01T08:00:00Z\"",
                quoted(text)
            )
        })
    }

    /// Nanoseconds from the origin to a time; negative before it.
    fn nanos_until(self, time: DateTime<FixedOffset>) -> Option<i64> {
        time.signed_duration_since(self.0).num_nanoseconds()
    }
}

/// Parses the content of the file `name`: beginning and end of each outage, in any order. Outages
/// that overlap or touch are merged. With an `origin` times are those of a log (RFC 3339), and
/// what was before the origin is left out.
///
/// # Errors
///
/// The first invalid line, with its number and the reason: a time that is negative, missing or none,
/// an outage that does not end after its start; also a file without outages.
pub fn parse(
    name: &str,
    bytes: &[u8],
    origin: Option<Origin>,
) -> Result<Vec<(Instant, Instant)>, Error> {
    let mut file = CsvFile::open(name, bytes, &["start", "end"], &[], FORMAT)?;
    let mut outages = Vec::new();
    let mut rows = 0_usize;
    while file.next_row()? {
        rows += 1;
        let (start, end) = (time(&file, "start", origin)?, time(&file, "end", origin)?);
        if end <= start {
            return Err(file.wrong("this outage does not end after its start", FORMAT));
        }
        let from_origin = |nanos: i64| Instant::from_nanos(u64::try_from(nanos).unwrap_or(0));
        if end > 0 {
            outages.push((from_origin(start), from_origin(end)));
        }
    }
    if rows == 0 {
        return Err(file.wrong("this file has no outage", FORMAT));
    }
    if outages.is_empty() {
        return Err(
            file.wrong("all outages are before `origin`", "set `origin` to the log's first time")
        );
    }
    outages.sort_unstable();
    let mut merged: Vec<(Instant, Instant)> = Vec::with_capacity(outages.len());
    for (start, end) in outages {
        match merged.last_mut() {
            Some((_, last)) if start <= *last => *last = end.max(*last),
            _ => merged.push((start, end)),
        }
    }
    Ok(merged)
}

/// The time in a column, in nanoseconds from the start of the run.
fn time(file: &CsvFile<'_>, column: &str, origin: Option<Origin>) -> Result<i64, Error> {
    let text = file.text(column)?;
    if let Some(origin) = origin {
        let time = DateTime::parse_from_rfc3339(text).map_err(|error| {
            file.wrong(&format!("`{column}` is not a time: `{}`: {error}", quoted(text)), FORMAT)
        })?;
        let most = Duration::from_secs(MAX_SECONDS as u64).as_nanos();
        let nanos = origin.nanos_until(time).filter(|nanos| nanos.unsigned_abs() <= most);
        return nanos.ok_or_else(|| {
            file.wrong(&format!("`{column}` is over {MAX_SECONDS} s away from `origin`"), "")
        });
    }
    if DateTime::parse_from_rfc3339(text).is_ok() {
        let help = "add the key `origin` to the fault, the time of the log at which the run begins";
        return Err(file.wrong(&format!("`{column}` is a date"), help));
    }
    let seconds = file.number(column)?;
    if seconds > MAX_SECONDS {
        return Err(file.wrong(&format!("`{column}` is above {MAX_SECONDS} s"), ""));
    }
    Ok((seconds * 1e9).round() as i64)
}

#[cfg(test)]
mod test {
    use super::*;

    const fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn overlaps_are_merged() {
        let text = "start,end\n10,12.5\n1,2\n2,3\n11,12\n12,14\n";
        let outages = parse("out.csv", text.as_bytes(), None).unwrap();
        assert_eq!(outages, [(ms(1000), ms(3000)), (ms(10_000), ms(14_000))]);
    }

    #[test]
    fn dates_count_from_the_origin() {
        let text = "end,start\n\
                    2026-03-01T08:00:02.5Z,2026-03-01T08:00:01Z\n\
                    2026-03-01T10:00:10+02:00,2026-03-01T07:59:00Z\n\
                    2026-02-01T00:00:10Z,2026-02-01T00:00:00Z\n";
        let origin = Origin::parse("2026-03-01T08:00:00Z").unwrap();
        let outages = parse("out.csv", text.as_bytes(), Some(origin)).unwrap();
        assert_eq!(outages, [(ms(0), ms(10_000))]);
        let first = text.lines().take(2).collect::<Vec<_>>().join("\n");
        let outages = parse("out.csv", first.as_bytes(), Some(origin)).unwrap();
        assert_eq!(outages, [(ms(1000), ms(2500))]);
    }

    #[test]
    fn invalid_files_are_refused_with_line_and_reason() {
        let origin = Origin::parse("2026-03-01T08:00:00Z").ok();
        for (text, origin, line, says) in [
            ("", None, 1, "this file is empty"),
            ("start,end\n", None, 1, "this file has no outage"),
            ("start\n1\n", None, 1, "the column `end` is missing"),
            ("start,ends\n1,2\n", None, 1, "unknown column `ends`"),
            ("start,end\n1,2\n3,3\n", None, 3, "does not end after its start"),
            ("start,end\n1,2\n4,3\n", None, 3, "does not end after its start"),
            ("start,end\n-1,2\n", None, 2, "`start` is negative: -1"),
            ("start,end\n1,2e7\n", None, 2, "`end` is above"),
            ("start,end\n1,2026-03-01T08:00:00Z\n", None, 2, "`end` is a date"),
            ("start,end\n1,2\n", origin, 2, "`start` is not a time: `1`"),
            (
                "start,end\n2026-01-01T00:00:00Z,2026-01-01T00:00:01Z\n",
                origin,
                2,
                "before `origin`",
            ),
        ] {
            let error = parse("out.csv", text.as_bytes(), origin).unwrap_err();
            assert_eq!(error.location(), format!("out.csv:{line}"), "{text:?}: {error}");
            assert!(error.message().contains(says), "{text:?}: {error}");
        }
        assert!(Origin::parse("yesterday").unwrap_err().contains("`yesterday` is not a time"));
    }
}
