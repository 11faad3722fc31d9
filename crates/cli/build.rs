//! A paper that is added, or changed, is built in anew.

fn main() {
    println!("cargo:rerun-if-changed=../../papers");
    println!("cargo:rerun-if-changed=build.rs");
}
