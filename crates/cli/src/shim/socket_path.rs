//! Path of the local socket, in a directory where only root, or the user who starts the shim, can write.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use super::namespace::namespace_inode;

/// Default directory of the socket, and that of the systemd unit.
const DIRECTORY: &str = "/run/driftway";
pub const UNIT_DIRECTORY: &str = "/run/driftway/unit";
/// Permission bits that let other users create files in a directory.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// File name of the socket: there is one shim per network namespace.
fn file_name() -> io::Result<String> {
    Ok(format!("shim-{}.sock", namespace_inode()?))
}

/// Path at which the shim of the calling thread's namespace listens.
pub fn listen_path(socket: Option<&Path>) -> io::Result<PathBuf> {
    if let Some(socket) = socket {
        return Ok(socket.to_owned());
    }
    // systemd.exec(5): several directories are separated by colons.
    let given = std::env::var("RUNTIME_DIRECTORY").ok();
    let directory = given.as_deref().and_then(|list| list.split(':').next()).unwrap_or(DIRECTORY);
    Ok(Path::new(directory).join(file_name()?))
}

/// Path to connect to: where a shim listens, or by default would. The file alone does not show that.
pub fn query_path(socket: Option<&Path>) -> io::Result<PathBuf> {
    let usual = listen_path(socket)?;
    let of_unit = Path::new(UNIT_DIRECTORY).join(file_name()?);
    let listens = |path: &Path| UnixStream::connect(path).is_ok();
    Ok(if socket.is_none() && !listens(&usual) && listens(&of_unit) { of_unit } else { usual })
}

/// The path that was tried, and how to name another.
pub fn describe(path: &Path, socket: Option<&Path>) -> String {
    let hint = match socket {
        Some(_) => "as --socket says; without it the usual path is tried",
        None => "--socket names another path",
    };
    format!("{} ({hint})", path.display())
}

/// Listens at a path, for all users. A file left by a killed shim is replaced: the caller intercepts
/// the packets of this namespace, so that no other shim is running.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let directory = match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    };
    if directory == Path::new(DIRECTORY) {
        match DirBuilder::new().mode(0o755).create(directory) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    let found = fs::metadata(directory)?;
    let ours = found.uid() == 0 || found.uid() == geteuid().as_raw();
    if !ours || found.mode() & WRITABLE_BY_OTHERS != 0 {
        let message = format!("other users may write to {}", directory.display());
        return Err(io::Error::new(ErrorKind::PermissionDenied, message));
    }
    remove(path)?;
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o666))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Removes a socket left at a path, but no other file.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(left) if left.file_type().is_socket() => fs::remove_file(path),
        _ => Ok(()),
    }
}
