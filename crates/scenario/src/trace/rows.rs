//! Files with rate, delay and errors over time.

use driftway_base::Duration;
use driftway_link::TraceRows;

use super::csv_file::CsvFile;
use crate::error::Error;

const FORMAT: &str = "the columns are time_s (seconds, the first 0, ascending) and any of rate_bps, delay_s, packet_error_rate";

/// Longest time of a trace in seconds: above it, times have no nanoseconds.
const MAX_SECONDS: f64 = 9e6;

/// Highest rate of a trace in bit/s.
const MAX_RATE: f64 = 1e15;

/// Parses the content of the file `name`.
///
/// # Errors
///
/// The first invalid line, with its number and the reason: a time that is not above the one before,
/// a value that is negative, missing or no number; also a file without rows, without any of the
/// columns for values, or in which all rates are 0.
pub fn parse(name: &str, bytes: &[u8]) -> Result<TraceRows, Error> {
    let values = ["rate_bps", "delay_s", "packet_error_rate"];
    let mut file = CsvFile::open(name, bytes, &["time_s"], &values, FORMAT)?;
    let [has_rate, has_delay, has_errors] = values.map(|column| file.has(column));
    if !(has_rate || has_delay || has_errors) {
        return Err(file.wrong("this trace has times, but no values", FORMAT));
    }
    let mut rows = TraceRows::default();
    while file.next_row()? {
        let time = seconds(&file, "time_s")?;
        match rows.times.last() {
            None if !time.is_zero() => {
                return Err(file.wrong("the first `time_s` is not 0", FORMAT));
            }
            Some(last) if time <= *last => {
                let message = format!(
                    "`time_s` is {} after {}: the times are not ascending",
                    time.as_secs_f64(),
                    last.as_secs_f64()
                );
                return Err(file.wrong(&message, "each time is above the one before"));
            }
            _ => rows.times.push(time),
        }
        if has_rate {
            let rate = file.number("rate_bps")?;
            if rate > MAX_RATE {
                return Err(file.wrong("`rate_bps` is above 1e15", ""));
            }
            rows.rates.push(rate.round() as u64);
        }
        if has_delay {
            rows.delays.push(seconds(&file, "delay_s")?);
        }
        if has_errors {
            let errors = file.number("packet_error_rate")?;
            if errors > 1.0 {
                return Err(file.wrong("`packet_error_rate` is above 1", "it is a probability"));
            }
            rows.errors.push(errors);
        }
    }
    if rows.times.is_empty() {
        return Err(file.wrong("this trace is empty: it has no row after its header", FORMAT));
    }
    if has_rate && rows.rates.iter().all(|rate| *rate == 0) {
        let help = "at least one rate is above 0; a link on which nothing leaves is an outage";
        return Err(file.wrong("all rates of this trace are 0", help));
    }
    Ok(rows)
}

fn seconds(file: &CsvFile<'_>, column: &str) -> Result<Duration, Error> {
    let seconds = file.number(column)?;
    if seconds > MAX_SECONDS {
        return Err(file.wrong(&format!("`{column}` is above {MAX_SECONDS} s"), ""));
    }
    Ok(Duration::from_nanos((seconds * 1e9).round() as u64))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn columns_may_come_in_any_order() {
        let text = "rate_bps, time_s,packet_error_rate\n1e6,0,0\n0, 1.5 ,0.25\r\n2000000.4,3,1\n";
        let rows = parse("x.csv", text.as_bytes()).unwrap();
        assert_eq!(rows.times, [0, 1500, 3000].map(Duration::from_millis));
        assert_eq!(rows.rates, [1_000_000, 0, 2_000_000]);
        assert_eq!(rows.errors, [0.0, 0.25, 1.0]);
        assert!(rows.delays.is_empty());
        let rows = parse("x.csv", b"\xef\xbb\xbftime_s,delay_s\n0,0.0000005").unwrap();
        assert_eq!(rows.delays, [Duration::from_nanos(500)]);
    }

    #[test]
    fn invalid_files_are_refused_with_line_and_reason() {
        for (text, line, says) in [
            ("", 1, "this file is empty"),
            ("time_s,rate_bps\n", 1, "it has no row after its header"),
            ("time_s\n0\n", 1, "times, but no values"),
            ("rate_bps\n1\n", 1, "the column `time_s` is missing"),
            ("time_s,rate\n0,1\n", 1, "unknown column `rate`"),
            ("time_s,time_s\n0,1\n", 1, "the column `time_s` is there twice"),
            ("time_s,rate_bps\n1,5\n", 2, "the first `time_s` is not 0"),
            ("time_s,rate_bps\n0,5\n2,5\n1,5\n", 4, "`time_s` is 1 after 2"),
            ("time_s,rate_bps\n0,5\n0,5\n", 3, "the times are not ascending"),
            ("time_s,rate_bps\n0,5\n1,-5\n", 3, "`rate_bps` is negative: -5"),
            ("time_s,rate_bps\n0,5\n-1,5\n", 3, "`time_s` is negative: -1"),
            ("time_s,rate_bps\n0,5\n1,\n", 3, "the value of `rate_bps` is missing"),
            ("time_s,rate_bps\n0,5\n1\n", 3, "the value of `rate_bps` is missing"),
            ("time_s,rate_bps\n0,5\n1,fast\n", 3, "`rate_bps` is not a number: `fast`"),
            ("time_s,rate_bps\n0,nan\n", 2, "`rate_bps` is not a number: `nan`"),
            ("time_s,rate_bps\n0,1e16\n", 2, "`rate_bps` is above 1e15"),
            ("time_s,rate_bps\n0,5\n1e9,5\n", 3, "`time_s` is above"),
            ("time_s,packet_error_rate\n0,1.5\n", 2, "`packet_error_rate` is above 1"),
            ("time_s,rate_bps\n0,0\n5,0\n", 3, "all rates of this trace are 0"),
        ] {
            let error = parse("x.csv", text.as_bytes()).unwrap_err();
            assert_eq!(error.location(), format!("x.csv:{line}"), "{text:?}: {error}");
            assert!(error.message().contains(says), "{text:?}: {error}");
        }
        let error = parse("x.csv", b"time_s,rate_bsp\n").unwrap_err();
        assert!(error.help().unwrap().starts_with("did you mean `rate_bps`? "), "{error}");
    }
}
