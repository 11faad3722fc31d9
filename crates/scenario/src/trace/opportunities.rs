//! Files of delivery opportunities, as mahimahi reads them.

use super::located::wrong;
use crate::error::{Error, quoted};

/// Parses the content of the file `name`: one time in whole milliseconds per line, none before the
/// one above it.
///
/// # Errors
///
/// The first invalid line, with its number and the reason: empty, no number, negative, too large, or
/// before the one above it; also a file without lines, or in which all times are 0.
pub fn parse(name: &str, bytes: &[u8]) -> Result<Vec<u32>, Error> {
    let mut times = Vec::new();
    let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
    let mut last = 0;
    while let Some((at, line)) = lines.next() {
        // The last line ends with a line feed.
        if line.is_empty() && lines.peek().is_none() {
            break;
        }
        let time = time(line).map_err(|message| wrong(name, at + 1, &message, FORMAT))?;
        if time < last {
            let message = format!("{time} ms comes after {last} ms: the times are descending");
            return Err(wrong(name, at + 1, &message, "no time is before the one above it"));
        }
        last = time;
        times.push(time);
    }
    if times.is_empty() {
        return Err(wrong(name, 1, "this trace is empty", FORMAT));
    }
    if last == 0 {
        let help = "a trace lasts until its last time, which is above 0";
        return Err(wrong(name, times.len(), "all times of this trace are 0", help));
    }
    Ok(times)
}

const FORMAT: &str =
    "each line is a time in whole milliseconds at which up to 1500 bytes may leave";

fn time(line: &[u8]) -> Result<u32, String> {
    let text = line.strip_suffix(b"\r").unwrap_or(line).trim_ascii();
    if text.is_empty() {
        return Err("this line is empty".into());
    }
    let text = str::from_utf8(text).map_err(|_| "this line is not text".to_owned())?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u32>() {
        _ if !is_number => Err(format!("`{}` is not a whole number of milliseconds", quoted(text))),
        _ if digits != text => Err(format!("{} ms is negative", quoted(text))),
        Ok(time) => Ok(time),
        Err(_) => Err(format!("{} ms is more than {}", quoted(text), u32::MAX)),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn times_are_read_line_by_line() {
        for text in ["0\n3\n3\n10\n", "0\n3\n3\n10", "0\r\n3\r\n3\r\n10\r\n", " 0\n03\n3 \n10\n"] {
            assert_eq!(parse("x.down", text.as_bytes()).unwrap(), [0, 3, 3, 10], "{text:?}");
        }
    }

    #[test]
    fn invalid_lines_are_refused_with_their_number() {
        for (text, line, says) in [
            ("", 1, "this trace is empty"),
            ("\n", 1, "this line is empty"),
            ("1\n\n2\n", 2, "this line is empty"),
            ("1\n2\n\n", 3, "this line is empty"),
            ("5\n4\n", 2, "4 ms comes after 5 ms: the times are descending"),
            ("1\n-2\n", 2, "-2 ms is negative"),
            ("1\n2.5\n", 2, "`2.5` is not a whole number of milliseconds"),
            ("1\nx\n", 2, "`x` is not a whole number"),
            ("1\n+2\n", 2, "`+2` is not a whole number"),
            ("1\n99999999999\n", 2, "99999999999 ms is more than 4294967295"),
            ("0\n0\n", 2, "all times of this trace are 0"),
        ] {
            let error = parse("x.down", text.as_bytes()).unwrap_err();
            assert_eq!(error.location(), format!("x.down:{line}"), "{text:?}");
            assert!(error.message().contains(says), "{text:?}: {error}");
        }
        assert!(parse("x.down", b"1\n\xff\n").unwrap_err().message().contains("not text"));
    }
}
