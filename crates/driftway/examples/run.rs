//! A simulation in ten lines: the first flow of a scenario with and without ATCP.
//!
//! `cargo run -p driftway --example run scenarios/lossy-path.toml`

use driftway::{Scenario, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("which scenario file?")?;
    for aid in ["none", "atcp"] {
        let scenario = Scenario::load(&file, &[("flow.0.aid".into(), aid.into())])?;
        let flow = &run(&scenario, 1, None)?.flows[0];
        println!("{aid:>4}: {:.1} s, {:?} timeouts", flow.end_s - flow.start_s, flow.timeouts);
    }
    Ok(())
}
