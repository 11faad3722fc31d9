//! There is no C runtime to start us.
fn main() {
    println!("cargo::rustc-link-arg-bins=-nostartfiles");
    println!("cargo::rustc-link-arg-bins=-nostdlib");
    println!("cargo::rustc-link-arg-bins=-static");
}
