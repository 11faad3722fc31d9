//! A paper that is added, or changed, is built in anew.

fn main() {
    println!("cargo:rerun-if-changed=../experiment/papers");
    println!("cargo:rerun-if-changed=build.rs");
}
