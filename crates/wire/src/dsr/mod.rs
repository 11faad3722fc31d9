//! DSR headers (RFC 4728 §6, §7) and their options.

mod address_list;
mod codec;
mod error;
mod extra_options;
mod header;
mod option_head;
mod route_options;

pub use address_list::{AddressList, DSR_ROUTE_MAX};
pub use error::{DsrError, DsrErrorKind};
pub use extra_options::{DsrExtraOptions, DsrOption, DsrRequestOrOptions};
pub use header::{DSR_ERRORS_MAX, DSR_PROTOCOL, DsrFlow, DsrHeader};
pub use route_options::{DsrReply, DsrRequest, DsrSourceRoute};
