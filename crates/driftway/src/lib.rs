//! TCP for networks that move: the front crate, through which a program uses driftway.
//!
//! | to | use |
//! |---|---|
//! | load a scenario and run it | [`Scenario::load`], [`run()`], or a [`Simulation`] step by step |
//! | add an aid of one's own, a congestion control, routing or mobility | [`Registry`], for an aid with [`aid::registry::AidEntry`] and [`base::options!`]; [`Scenario::load_with`] |
//! | run many seeds or a study, and keep the results | `experiment::runner`, `experiment::study` |
//! | get results as tables | `experiment::rows::tables_of_runs` |
//! | drive a TCP connection over packets of one's own | [`Connection`], with [`wire`] for the bytes |
//! | put an aid below a TCP of one's own | [`Aid`], [`aid::registry::find`] |
//! | connect [`Connection`] to a Linux kernel | `linux::Tun`, `linux::ConnectionDriver` |
//!
//! Everything else is in the crates that are re-exported as modules, under the names that the architecture
//! uses. Connection, aids, routing and queues are state machines without I/O: time and randomness are
//! arguments, and output is polled. The features add what needs the standard library; without them the crate
//! needs none:
//!
//! | feature | adds |
//! |---|---|
//! | `simulator` (on by default) | scenarios and runs |
//! | `studies` | many runs, their cache, and tables of results |
//! | `parquet` | these tables as Parquet |
//! | `linux` | TUN devices, emulation and the shim's daemon; only on Linux |
//!
//! Three examples are built and run with the tests: `run` (a simulation in ten lines), `aid_under_own_tcp`
//! and `tun_echo` (as root). `examples/my-aid` is a crate of its own with an aid; docs/guide.md, "Your own
//! aid", explains it.
//!
#![cfg_attr(feature = "simulator", doc = "```")]
#![cfg_attr(not(feature = "simulator"), doc = "```ignore")]
//! use driftway::{Scenario, run};
//!
//! let scenario = Scenario::parse(
//!     "one-hop.toml",
//!     r#"
//!         name = "one lossy hop"
//!         duration = "60 s"
//!         [network]
//!         kind = "path"
//!         hops = 1
//!         link = { rate = "1 Mbit/s", delay = "20 ms", packet_error_rate = 0.01 }
//!         [[flow]]
//!         from = 0
//!         to = 1
//!         application = { transfer = "100 kB" }
//!     "#,
//!     &[],
//! )?;
//! let result = run(&scenario, 1, None)?;
//! assert_eq!(result.flows[0].delivered_bytes, 100_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]

#[doc(inline)]
pub use driftway_aid as aid;
#[doc(inline)]
pub use driftway_base as base;
#[doc(inline)]
pub use driftway_link as link;
#[doc(inline)]
pub use driftway_route as route;
#[doc(inline)]
pub use driftway_shim as shim;
#[doc(inline)]
pub use driftway_tcp as tcp;
#[doc(inline)]
pub use driftway_wire as wire;

#[cfg(feature = "simulator")]
#[doc(inline)]
pub use driftway_endpoint as endpoint;
#[cfg(feature = "studies")]
#[doc(inline)]
pub use driftway_experiment as experiment;
#[cfg(feature = "simulator")]
#[doc(inline)]
pub use driftway_radio as radio;
#[cfg(feature = "simulator")]
#[doc(inline)]
pub use driftway_scenario as scenario;
#[cfg(feature = "simulator")]
#[doc(inline)]
pub use driftway_sim as sim;

#[cfg(all(feature = "linux", target_os = "linux"))]
#[doc(inline)]
pub use driftway_linux as linux;

pub use driftway_aid::{Aid, SegmentVerdict};
pub use driftway_base::{Duration, Endpoint, Instant, Ipv4Addr, Signal, TcpView};
pub use driftway_tcp::{Config, Connection};

#[cfg(feature = "simulator")]
pub use driftway_scenario::{Registry, Scenario};
#[cfg(feature = "simulator")]
pub use driftway_sim::{Simulation, run};
