//! The texts after the options in the helps of commands, which are files.

macro_rules! help {
    ($command:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/help/", $command, ".txt"))
            .trim_ascii_end()
    };
}
pub(crate) use help;
