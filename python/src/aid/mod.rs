//! Aids in Python.

mod acts;
mod base;
mod driver;
mod names;
mod segment;
mod signal;
mod view;

pub use acts::seconds;
pub use base::Aid;
pub use driver::PythonAid;
pub use names::intern;
pub use segment::Segment;
pub use signal::Signal;
pub use view::View;
