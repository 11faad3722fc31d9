//! Robustness of the shim: hangs, stop signals, and many or slow clients.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use caps::{CapSet, Capability};
use driftway_linux::{Namespace, ShimDaemon};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::shim::{command, is_running, shim, start, text, wait_for_exit};
use crate::test_programs;

pub const TESTS: &[(&str, fn())] = &[
    ("a_shim_that_hangs_is_killed", a_shim_that_hangs_is_killed),
    ("a_shim_has_a_high_priority", a_shim_has_a_high_priority),
    ("a_shim_continues_without_its_watchdog", a_shim_continues_without_its_watchdog),
    ("a_watchdog_that_ends_is_replaced", a_watchdog_that_ends_is_replaced),
    ("stop_ends_a_shim_that_hangs", stop_ends_a_shim_that_hangs),
    ("stop_ends_a_watchdog_that_is_stopped_too", stop_ends_a_watchdog_that_is_stopped_too),
    ("a_hangup_ends_a_shim_of_a_terminal_only", a_hangup_ends_a_shim_of_a_terminal_only),
    (
        "a_blocked_standard_error_does_not_block_a_shim",
        a_blocked_standard_error_does_not_block_a_shim,
    ),
    ("a_terminal_does_not_stop_a_shim", a_terminal_does_not_stop_a_shim),
    ("a_service_manager_is_notified", a_service_manager_is_notified),
    ("a_shim_has_a_user_of_its_own", a_shim_has_a_user_of_its_own),
    ("two_capabilities_are_enough_for_root", two_capabilities_are_enough_for_root),
    ("an_existing_socket_does_not_stop_a_shim", an_existing_socket_does_not_stop_a_shim),
    ("slow_clients_do_not_block_others", slow_clients_do_not_block_others),
    ("a_shim_ends_with_its_namespace", a_shim_ends_with_its_namespace),
];

/// User IDs of no running process.
const OTHER_USERS: [u32; 2] = [54_321, 54_322];

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id() as i32)
}

/// First word of a field of `/proc/PID/status`.
fn status(pid: Pid, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().to_owned()
}

/// Child processes of all threads of a process.
fn children(child: &Child) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    let lists = threads.map(|thread| thread.unwrap().path().join("children"));
    let lists = lists.map(|list| fs::read_to_string(list).unwrap());
    let number = |word: &str| Pid::from_raw(word.parse().unwrap());
    lists.flat_map(|list| Vec::from_iter(list.split_whitespace().map(number))).collect()
}

/// Process ID of a shim's running watchdog.
fn watchdog(child: &Child) -> Pid {
    let watchdog = *children(child).first().expect("the shim has a child");
    let name = format!("/proc/{watchdog}/cmdline");
    wait_until("the watchdog has dropped its capabilities", || {
        let is_it = fs::read_to_string(&name).unwrap().contains("watchdog");
        is_it && status(watchdog, "CapPrm:") == "0000000000000000"
    });
    watchdog
}

fn stop(pid: Pid) {
    kill(pid, Signal::SIGSTOP).unwrap();
    wait_until("the process is stopped", || status(pid, "State:") == "T");
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("not within ten seconds: {what}");
}

/// Asserts that a shim has left nothing in the namespace.
fn assert_nothing_left(namespace: &Namespace) {
    assert!(!namespace.run(ShimDaemon::remove_leftovers).unwrap().unwrap());
}

fn a_shim_that_hangs_is_killed() {
    let namespace = Namespace::new().unwrap();
    let child = start(&namespace, &[]);
    let watchdog = watchdog(&child);
    stop(pid(&child));
    let (ended, said) = wait_for_exit(child);
    assert_eq!(ended.signal(), Some(9), "{said}");
    assert!(said.contains("hung") && said.contains("plain TCP"), "{said}");
    assert_nothing_left(&namespace);
    wait_until("the watchdog has exited", || !Path::new(&format!("/proc/{watchdog}")).exists());
}

/// The shim has a high priority, because all packets of the host wait for it.
fn a_shim_has_a_high_priority() {
    let namespace = Namespace::new().unwrap();
    let child = start(&namespace, &[]);
    for process in [pid(&child), watchdog(&child)] {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        let (_, behind_name) = stat.rsplit_once(')').unwrap();
        let nice: i32 = behind_name.split_whitespace().nth(16).unwrap().parse().unwrap();
        // Root in a container may lack CAP_SYS_NICE (23).
        let me = u64::from_str_radix(&status(Pid::this(), "CapEff:"), 16).unwrap();
        assert!(nice <= -10 || me >> 23 & 1 == 0, "{stat}");
    }
    // The watchdog has a session of its own; not every kernel gives sessions shares.
    if let Ok(group) = fs::read_to_string(format!("/proc/{}/autogroup", watchdog(&child))) {
        assert!(group.trim_end().ends_with("nice -10"), "{group}");
    }
    kill(pid(&child), Signal::SIGTERM).unwrap();
    assert!(wait_for_exit(child).0.success());
}

fn a_shim_continues_without_its_watchdog() {
    let namespace = Namespace::new().unwrap();
    let child = start(&namespace, &[]);
    kill(watchdog(&child), Signal::SIGKILL).unwrap();
    sleep(Duration::from_millis(800));
    assert!(is_running(&namespace));
    kill(pid(&child), Signal::SIGTERM).unwrap();
    let (ended, said) = wait_for_exit(child);
    assert!(ended.success() && said.contains("the watchdog has ended"), "{said}");
}

/// The new watchdog has the shim's reduced privileges.
fn a_watchdog_that_ends_is_replaced() {
    let namespace = Namespace::new().unwrap();
    let child = start(&namespace, &[]);
    let first = watchdog(&child);
    kill(first, Signal::SIGKILL).unwrap();
    wait_until("there is a new watchdog", || children(&child).iter().any(|pid| *pid != first));
    assert_ne!(watchdog(&child), first);
    // The new watchdog receives the heartbeat.
    sleep(Duration::from_millis(1500));
    assert!(is_running(&namespace));
    stop(pid(&child));
    let (ended, said) = wait_for_exit(child);
    assert_eq!(ended.signal(), Some(9), "{said}");
    assert!(said.contains("there is another watchdog") && said.contains("hung"), "{said}");
}

fn stop_ends_a_shim_that_hangs() {
    let namespace = Namespace::new().unwrap();
    let child = start(&namespace, &[]);
    // Otherwise the watchdog would kill the shim first.
    kill(watchdog(&child), Signal::SIGKILL).unwrap();
    stop(pid(&child));
    let output = shim(&namespace, &["stop"]);
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stderr).contains("killed: process "), "{output:?}");
    assert_eq!(wait_for_exit(child).0.signal(), Some(9));
    assert_nothing_left(&namespace);
    assert!(!is_running(&namespace));
}

fn stop_ends_a_watchdog_that_is_stopped_too() {
    let namespace = Namespace::new().unwrap();
    let child = start(&namespace, &[]);
    let watchdog = watchdog(&child);
    stop(watchdog);
    stop(pid(&child));
    let output = shim(&namespace, &["stop"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(wait_for_exit(child).0.signal(), Some(9));
    wait_until("the watchdog has exited", || !Path::new(&format!("/proc/{watchdog}")).exists());
    assert_nothing_left(&namespace);
}

/// Starts a shim in a session of its own, with a terminal or without one; `wrapper` goes before it.
fn start_in_session(namespace: &Namespace, wrapper: &[&str], terminal: Option<OwnedFd>) -> Child {
    let mut command = Command::new("setsid");
    if terminal.is_some() {
        command.arg("--ctty");
    }
    command.args(wrapper).arg(cargo_bin("driftway")).arg("shim");
    command.stdin(terminal.map_or_else(Stdio::null, Stdio::from));
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let child = namespace.spawn(child).unwrap();
    wait_until("the shim runs", || is_running(namespace));
    child
}

fn a_hangup_ends_a_shim_of_a_terminal_only() {
    let namespace = Namespace::new().unwrap();
    let child = start_in_session(&namespace, &[], None);
    kill(pid(&child), Signal::SIGHUP).unwrap();
    sleep(Duration::from_millis(300));
    assert!(is_running(&namespace));
    assert!(shim(&namespace, &["stop"]).status.success());
    let (ended, said) = wait_for_exit(child);
    assert!(ended.success() && said.contains("SIGHUP ignored"), "{said}");

    // The process that runs the tests may ignore hangups, and its children inherit that.
    let default = &["env", "--default-signal=HUP"][..];
    for (wrapper, ends) in [(default, true), (&["nohup"], false)] {
        let (person, terminal) = terminal();
        let child = start_in_session(&namespace, wrapper, Some(terminal));
        drop(person);
        if ends {
            wait_until("the shim has ended", || !is_running(&namespace));
        } else {
            sleep(Duration::from_millis(300));
            assert!(is_running(&namespace));
            assert!(shim(&namespace, &["stop"]).status.success());
        }
        let (ended, said) = wait_for_exit(child);
        assert!(ended.success(), "{said}");
        assert_nothing_left(&namespace);
    }
}

/// The two ends of a pseudo-terminal.
fn terminal() -> (OwnedFd, OwnedFd) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    (person, open(name, flags, Mode::empty()).unwrap())
}

fn a_blocked_standard_error_does_not_block_a_shim() {
    let namespace = Namespace::new().unwrap();
    let (_reader, writer) = io::pipe().unwrap();
    // The pipe is full.
    let mut filler = File::options().write(true).open(fd_path(&writer)).unwrap();
    let full = std::thread::spawn(move || filler.write_all(&vec![b'.'; 4 << 20]));
    sleep(Duration::from_millis(300));
    assert!(!full.is_finished());
    let mut command = command(&["shim", "--log", "debug"]);
    let mut child = namespace.spawn(command.stderr(writer)).unwrap();
    wait_until("the shim runs", || is_running(&namespace));
    // Longer than the watchdog's timeout.
    sleep(Duration::from_millis(1500));
    assert!(is_running(&namespace));
    kill(pid(&child), Signal::SIGTERM).unwrap();
    let mut ended = None;
    wait_until("the shim exits", || {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    assert!(ended.unwrap().success(), "{ended:?}");
}

fn fd_path(file: &impl AsRawFd) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

fn a_terminal_does_not_stop_a_shim() {
    let namespace = Namespace::new().unwrap();
    let child = start(&namespace, &[]);
    for signal in [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU] {
        kill(pid(&child), signal).unwrap();
        sleep(Duration::from_millis(100));
        assert_ne!(status(pid(&child), "State:"), "T", "{signal}");
    }
    assert!(is_running(&namespace));
    kill(pid(&child), Signal::SIGINT).unwrap();
    let (ended, said) = wait_for_exit(child);
    assert!(ended.success(), "{said}");
    assert!(said.contains("SIGTSTP") && said.contains("driftway shim stop"), "{said}");
}

fn a_service_manager_is_notified() {
    let namespace = Namespace::new().unwrap();
    let place = tempfile::tempdir().unwrap();
    let name = place.path().join("notify");
    let manager = UnixDatagram::bind(&name).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut command = command(&["shim"]);
    let child = namespace.spawn(command.env("NOTIFY_SOCKET", &name)).unwrap();
    let mut states = (0..4).map(|_| {
        let mut state = [0; 64];
        let len = manager.recv(&mut state).expect("a notification");
        text(&state[..len]).to_owned()
    });
    assert_eq!(states.next().unwrap(), "READY=1");
    // The unit's WatchdogSec is two seconds.
    manager.set_read_timeout(Some(Duration::from_millis(1900))).unwrap();
    assert!(states.all(|state| state == "WATCHDOG=1"));
    // The notifications are not read any more, and the shim continues.
    sleep(Duration::from_secs(4));
    assert!(is_running(&namespace));
    kill(pid(&child), Signal::SIGTERM).unwrap();
    assert!(wait_for_exit(child).0.success());
}

fn a_shim_has_a_user_of_its_own() {
    let namespace = Namespace::new().unwrap();
    let other = Namespace::new().unwrap();
    let children = [start(&namespace, &[]), start(&other, &[])];
    let users = children.each_ref().map(|child| status(pid(child), "Uid:").parse::<u32>().unwrap());
    for (child, user) in children.iter().zip(users) {
        assert!(![0, 65_534].contains(&user), "{user}");
        assert_eq!(status(watchdog(child), "Uid:"), user.to_string());
        // Another process with the same user ID could stop the shim.
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let same = processes
            .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
            .filter(|entry| {
                let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
                status.contains(&format!("\nUid:\t{user}\t"))
            });
        assert_eq!(same.count(), 2, "the shim and its watchdog");
    }
    let nobody = test_programs::run_as(65_534, &["signal", &children[0].id().to_string()]);
    assert_eq!(text(&nobody.stdout), "EPERM\n", "{nobody:?}");
    for (child, namespace) in children.into_iter().zip([&namespace, &other]) {
        assert!(shim(namespace, &["stop"]).status.success());
        assert!(wait_for_exit(child).0.success());
    }
}

fn two_capabilities_are_enough_for_root() {
    let namespace = Namespace::new().unwrap();
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("socket");
    let socket = ["--socket", socket.to_str().unwrap()];
    let needed = [Capability::CAP_NET_ADMIN, Capability::CAP_NET_RAW];
    let arguments = [&["shim"], &socket[..]].concat();
    // The bounding set of one thread, which limits the processes that it starts.
    let with_less = || {
        for capability in caps::all().into_iter().filter(|capability| !needed.contains(capability))
        {
            if caps::has_cap(None, CapSet::Bounding, capability).unwrap_or(false) {
                caps::drop(None, CapSet::Bounding, capability).unwrap();
            }
        }
        command(&arguments).spawn().unwrap()
    };
    let mut child = namespace.run(with_less).unwrap();
    let ask = [&["status"], &socket[..]].concat();
    wait_until("the shim runs", || {
        let ended = child.try_wait().unwrap();
        assert_eq!(ended, None);
        shim(&namespace, &ask).status.success()
    });
    assert_eq!(status(pid(&child), "Uid:"), "0", "it cannot change its user");
    assert_eq!(status(pid(&child), "CapPrm:"), "0000000000001000", "CAP_NET_ADMIN");
    assert!(shim(&namespace, &[&["stop"], &socket[..]].concat()).status.success());
    assert!(wait_for_exit(child).0.success());
}

fn an_existing_socket_does_not_stop_a_shim() {
    let namespace = Namespace::new().unwrap();
    // An abstract socket name that a shim might use.
    let name = SocketAddr::from_abstract_name("driftway-shim").unwrap();
    let _squatter = namespace.run(|| UnixListener::bind_addr(&name)).unwrap().unwrap();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("socket");
    let socket = ["--socket", path.to_str().unwrap()];
    // A socket left by a killed shim.
    drop(UnixListener::bind(&path).unwrap());
    let mut child = namespace.spawn(&mut command(&[&["shim"], &socket[..]].concat())).unwrap();
    let ask = [&["status"], &socket[..]].concat();
    wait_until("the shim runs", || shim(&namespace, &ask).status.success());
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o666, "all users may connect");
    child.kill().unwrap();
    child.wait().unwrap();

    // A file that is not a socket is kept.
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let no_socket = ["stop", "--socket", file.to_str().unwrap()];
    assert!(shim(&namespace, &no_socket).status.success());
    assert!(file.exists());

    // The shim does not listen in a directory where other users may write.
    fs::set_permissions(place.path(), Permissions::from_mode(0o777)).unwrap();
    let refused = shim(&namespace, &socket);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(text(&refused.stderr).contains("other users may write to"), "{refused:?}");
    assert_nothing_left(&namespace);
}

fn slow_clients_do_not_block_others() {
    let namespace = Namespace::new().unwrap();
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    let path = place.path().join("socket");
    let socket = ["--socket", path.to_str().unwrap()];
    let child = namespace.spawn(&mut command(&[&["shim"], &socket[..]].concat())).unwrap();
    let ask = [&["status"], &socket[..]].concat();
    wait_until("the shim runs", || shim(&namespace, &ask).status.success());

    let [slow, other] = OTHER_USERS;
    let mut besets = test_programs::as_user(slow, &["beset", socket[1]]);
    let mut besets = besets.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    besets.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    for _ in 0..5 {
        let root = shim(&namespace, &ask);
        assert!(root.status.success(), "{root:?}");
        let another = test_programs::run_as(other, &["ask", socket[1]]);
        assert!(text(&another.stdout).starts_with("HTTP/1.1 200 OK"), "{another:?}");
    }
    assert!(besets.try_wait().unwrap().is_none());
    besets.kill().unwrap();
    besets.wait().unwrap();
    assert!(shim(&namespace, &[&["stop"], &socket[..]].concat()).status.success());
    wait_for_exit(child);
}

/// A name of a network namespace, as `ip netns add` makes it.
struct NamespaceMount(PathBuf);

impl Drop for NamespaceMount {
    fn drop(&mut self) {
        // It may be unmounted already.
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}

fn a_shim_ends_with_its_namespace() {
    let namespace = Namespace::new().unwrap();
    let place = tempfile::tempdir().unwrap();
    let names = ["first", "second"].map(|name| {
        let path = place.path().join(name);
        fs::write(&path, "").unwrap();
        let bind = || {
            let own = Some("/proc/thread-self/ns/net");
            mount(own, &path, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        };
        namespace.run(bind).unwrap().unwrap();
        NamespaceMount(path)
    });
    let mut child = start(&namespace, &[]);
    let [first, second] = names;
    drop(first);
    sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "the namespace has another name");
    drop(second);
    let (ended, said) = wait_for_exit(child);
    assert!(ended.success() && said.contains("deleted"), "{said}");
    assert_nothing_left(&namespace);
}
