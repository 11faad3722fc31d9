//! The scripts, by subject.

mod closing;
mod ecn;
mod f_rto;
mod growth;
mod icmp;
mod opening;
mod paths;
mod receiving;
mod recovery;
mod reordering;
mod resets;
mod timeouts;
mod timestamps;
mod undo;
mod windows;

use super::script::Script;

pub fn all() -> Vec<Script> {
    let all = [
        timeouts::scripts(),
        opening::scripts(),
        recovery::scripts(),
        reordering::scripts(),
        f_rto::scripts(),
        undo::scripts(),
        ecn::scripts(),
        windows::scripts(),
        growth::scripts(),
        paths::scripts(),
        receiving::scripts(),
        timestamps::scripts(),
        icmp::scripts(),
        closing::scripts(),
        resets::scripts(),
    ]
    .concat();
    for script in &all {
        let named = all.iter().filter(|other| other.name == script.name).count();
        assert_eq!(named, 1, "the name of a script is unique: {}", script.name);
    }
    all
}
