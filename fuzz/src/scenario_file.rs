//! Scenario files: rejected with one message, or parsed, in which case the printed configuration parses to
//! the same scenario.

use driftway_scenario::Scenario;

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match Scenario::parse("fuzz.toml", text, &[]) {
        Ok(read) => {
            let shown = read.show();
            match Scenario::parse("shown.toml", &shown, &[]) {
                Ok(again) => assert_eq!(again, read),
                Err(error) => panic!("the printed scenario is rejected: {error}\n{shown}"),
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
