//! Rebuilds the command when a built-in paper is added or changed.

fn main() {
    println!("cargo:rerun-if-changed=../experiment/papers");
    println!("cargo:rerun-if-changed=build.rs");
}
