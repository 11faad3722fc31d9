//! There is no C runtime to start the program; libc provides memcpy and similar functions for `core`.
fn main() {
    println!("cargo::rustc-link-arg-bins=-nostartfiles");
    println!("cargo::rustc-link-arg-bins=-lc");
}
