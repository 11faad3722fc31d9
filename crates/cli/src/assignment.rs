//! Arguments of the form `KEY=VALUE`.

/// Reads `KEY=VALUE`.
pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected KEY=VALUE, as in network.hops=4".to_owned()),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_value_may_contain_an_equals_sign() {
        assert_eq!(assignment(" a.b = c=d").unwrap(), ("a.b".into(), "c=d".into()));
        assert!(assignment("a.b").is_err());
        assert!(assignment("=3").is_err());
    }
}
