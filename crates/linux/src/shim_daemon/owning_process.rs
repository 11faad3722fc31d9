//! The process that intercepts a network namespace's packets.

use std::{fs, io};

use super::rules;

/// Protocol of [`netlink_sys`]'s sockets to nf_tables in `/proc/net/netlink`.
const NETFILTER: &str = "12";

/// Process ID of the shim daemon in the calling thread's namespace; `None` if there is none.
///
/// # Errors
/// `NotFound`: the process is not visible, or its files are not readable. Otherwise any error of
/// the kernel.
pub fn owning_process() -> io::Result<Option<u32>> {
    let Some(port) = rules::table_owner()? else { return Ok(None) };
    let port = port.to_string();
    let sockets = fs::read_to_string("/proc/thread-self/net/netlink")?;
    // Columns: sk, protocol, port, …, inode.
    let inode = sockets.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let ours = words.next() == Some(NETFILTER) && words.next() == Some(&port);
        words.last().filter(|_| ours)
    });
    let Some(inode) = inode else { return Err(io::ErrorKind::NotFound.into()) };
    let name = format!("socket:[{inode}]");
    for process in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process that has ended since has no files, and those of others may not be readable.
        let Ok(files) = fs::read_dir(process.path().join("fd")) else { continue };
        let has = |file: fs::DirEntry| fs::read_link(file.path()).is_ok_and(|to| to == *name);
        if files.flatten().any(has) {
            return Ok(Some(pid));
        }
    }
    Err(io::ErrorKind::NotFound.into())
}
