//! There is no C runtime to start us; libc lends memcpy and its like, which `core` asks for.
fn main() {
    println!("cargo::rustc-link-arg-bins=-nostartfiles");
    println!("cargo::rustc-link-arg-bins=-lc");
}
