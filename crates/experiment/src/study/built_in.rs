//! The papers that are built into this program, compressed.

use std::io::{self, Read};

use flate2::read::DeflateDecoder;

// The paths of the files, as `NAME/FILE`, with their compressed content.
include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// The paths of all files, `NAME/FILE`.
pub fn paths() -> impl Iterator<Item = &'static str> {
    PAPERS.iter().map(|(path, _)| *path)
}

/// The content of the file at this path; `None` if there is none.
///
/// # Errors
///
/// It cannot be decompressed.
pub fn read(path: &str) -> Option<io::Result<Vec<u8>>> {
    let (_, compressed) = PAPERS.iter().find(|(of, _)| *of == path)?;
    let mut content = Vec::new();
    Some(DeflateDecoder::new(*compressed).read_to_end(&mut content).map(|_| content))
}

#[cfg(test)]
mod test {
    use std::path::Path;

    use super::*;

    #[test]
    fn each_file_has_its_content() {
        let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("papers");
        assert!(paths().any(|path| path == "yu-2004/results.csv"));
        for path in paths() {
            let expected = std::fs::read(papers.join(path)).unwrap();
            assert!(read(path).unwrap().unwrap() == expected, "{path}");
        }
        assert!(read("yu-2004/results").is_none());
    }
}
