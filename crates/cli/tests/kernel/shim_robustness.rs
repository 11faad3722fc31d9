//! A shim that hangs, is stopped, or is beset harms nobody.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use caps::{CapSet, Capability};
use driftway_host::{Namespace, ShimDaemon};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::shim::{command, is_running, shim, start, text, wait_for_exit};
use crate::test_programs;

pub const TESTS: &[(&str, fn())] = &[
    ("a_shim_that_hangs_is_killed", a_shim_that_hangs_is_killed),
    ("a_shim_comes_before_other_processes", a_shim_comes_before_other_processes),
    ("a_shim_goes_on_without_its_watchdog", a_shim_goes_on_without_its_watchdog),
    ("a_watchdog_that_ends_is_replaced", a_watchdog_that_ends_is_replaced),
    ("stop_ends_one_that_hangs", stop_ends_one_that_hangs),
    ("a_reader_that_hangs_hangs_no_shim", a_reader_that_hangs_hangs_no_shim),
    ("a_terminal_does_not_stop_a_shim", a_terminal_does_not_stop_a_shim),
    ("a_service_manager_hears_that_it_works", a_service_manager_hears_that_it_works),
    ("a_shim_is_nobody_elses", a_shim_is_nobody_elses),
    ("two_capabilities_are_enough_for_root", two_capabilities_are_enough_for_root),
    ("a_name_that_is_taken_stops_no_shim", a_name_that_is_taken_stops_no_shim),
    ("slow_clients_are_in_nobodys_way", slow_clients_are_in_nobodys_way),
    ("a_shim_ends_with_its_namespace", a_shim_ends_with_its_namespace),
];

/// Users that nobody here runs as.
const OTHER_USERS: [u32; 2] = [54_321, 54_322];

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id() as i32)
}

/// A word of `/proc/PID/status`.
fn status(pid: Pid, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().to_owned()
}

/// The children of all its threads.
fn children(child: &Child) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    let lists = threads.map(|thread| thread.unwrap().path().join("children"));
    let lists = lists.map(|list| fs::read_to_string(list).unwrap());
    let number = |word: &str| Pid::from_raw(word.parse().unwrap());
    lists.flat_map(|list| Vec::from_iter(list.split_whitespace().map(number))).collect()
}

/// The watchdog that a shim has, at work.
fn watchdog(child: &Child) -> Pid {
    let watchdog = *children(child).first().expect("it has one child");
    let name = format!("/proc/{watchdog}/cmdline");
    wait_until("it has given up what it could", || {
        let is_it = fs::read_to_string(&name).unwrap().contains("watchdog");
        is_it && status(watchdog, "CapPrm:") == "0000000000000000"
    });
    watchdog
}

fn stop(pid: Pid) {
    kill(pid, Signal::SIGSTOP).unwrap();
    wait_until("it is stopped", || status(pid, "State:") == "T");
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

/// Nothing of a shim is left in the namespace.
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
    wait_until("its watchdog is gone", || !Path::new(&format!("/proc/{watchdog}")).exists());
}

/// All packets of the host wait for it.
fn a_shim_comes_before_other_processes() {
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
    kill(pid(&child), Signal::SIGTERM).unwrap();
    assert!(wait_for_exit(child).0.success());
}

fn a_shim_goes_on_without_its_watchdog() {
    let namespace = Namespace::new().unwrap();
    let child = start(&namespace, &[]);
    kill(watchdog(&child), Signal::SIGKILL).unwrap();
    sleep(Duration::from_millis(800));
    assert!(is_running(&namespace));
    kill(pid(&child), Signal::SIGTERM).unwrap();
    let (ended, said) = wait_for_exit(child);
    assert!(ended.success() && said.contains("the watchdog has ended"), "{said}");
}

/// Whose privileges are those that the shim has left.
fn a_watchdog_that_ends_is_replaced() {
    let namespace = Namespace::new().unwrap();
    let child = start(&namespace, &[]);
    let first = watchdog(&child);
    kill(first, Signal::SIGKILL).unwrap();
    wait_until("there is another one", || children(&child).iter().any(|pid| *pid != first));
    assert_ne!(watchdog(&child), first);
    // It hears the heart.
    sleep(Duration::from_millis(1500));
    assert!(is_running(&namespace));
    stop(pid(&child));
    let (ended, said) = wait_for_exit(child);
    assert_eq!(ended.signal(), Some(9), "{said}");
    assert!(said.contains("there is another watchdog") && said.contains("hung"), "{said}");
}

fn stop_ends_one_that_hangs() {
    let namespace = Namespace::new().unwrap();
    let child = start(&namespace, &[]);
    // Or it would be gone before it is asked to.
    kill(watchdog(&child), Signal::SIGKILL).unwrap();
    stop(pid(&child));
    let output = shim(&namespace, &["stop"]);
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stderr).contains("killed: process "), "{output:?}");
    assert_eq!(wait_for_exit(child).0.signal(), Some(9));
    assert_nothing_left(&namespace);
    assert!(!is_running(&namespace));
}

fn a_reader_that_hangs_hangs_no_shim() {
    let namespace = Namespace::new().unwrap();
    let (_reader, writer) = io::pipe().unwrap();
    // Full to the last byte.
    let mut filler = File::options().write(true).open(fd_path(&writer)).unwrap();
    let full = std::thread::spawn(move || filler.write_all(&vec![b'.'; 4 << 20]));
    sleep(Duration::from_millis(300));
    assert!(!full.is_finished());
    let mut command = command(&["shim", "--log", "debug"]);
    let mut child = namespace.spawn(command.stderr(writer)).unwrap();
    wait_until("it works", || is_running(&namespace));
    // Longer than a watchdog's patience.
    sleep(Duration::from_millis(1500));
    assert!(is_running(&namespace));
    kill(pid(&child), Signal::SIGTERM).unwrap();
    let mut ended = None;
    wait_until("it ends", || {
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

fn a_service_manager_hears_that_it_works() {
    let namespace = Namespace::new().unwrap();
    let place = tempfile::tempdir().unwrap();
    let name = place.path().join("notify");
    let manager = UnixDatagram::bind(&name).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut command = command(&["shim"]);
    let child = namespace.spawn(command.env("NOTIFY_SOCKET", &name)).unwrap();
    let mut states = (0..4).map(|_| {
        let mut state = [0; 64];
        let len = manager.recv(&mut state).expect("it says how it is");
        text(&state[..len]).to_owned()
    });
    assert_eq!(states.next().unwrap(), "READY=1");
    // Its unit has it killed after two seconds of silence.
    manager.set_read_timeout(Some(Duration::from_millis(1900))).unwrap();
    assert!(states.all(|state| state == "WATCHDOG=1"));
    // Nobody reads that any more, and it goes on.
    sleep(Duration::from_secs(4));
    assert!(is_running(&namespace));
    kill(pid(&child), Signal::SIGTERM).unwrap();
    assert!(wait_for_exit(child).0.success());
}

fn a_shim_is_nobody_elses() {
    let namespace = Namespace::new().unwrap();
    let other = Namespace::new().unwrap();
    let children = [start(&namespace, &[]), start(&other, &[])];
    let users = children.each_ref().map(|child| status(pid(child), "Uid:").parse::<u32>().unwrap());
    for (child, user) in children.iter().zip(users) {
        assert!(![0, 65_534].contains(&user), "{user}");
        assert_eq!(status(watchdog(child), "Uid:"), user.to_string());
        // Whoever else runs as this user could stop it.
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
    // A thread's alone, and what it starts can't have more.
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
    wait_until("it works", || {
        let ended = child.try_wait().unwrap();
        assert_eq!(ended, None);
        shim(&namespace, &ask).status.success()
    });
    assert_eq!(status(pid(&child), "Uid:"), "0", "it may not become another one");
    assert_eq!(status(pid(&child), "CapPrm:"), "0000000000001000", "CAP_NET_ADMIN");
    assert!(shim(&namespace, &[&["stop"], &socket[..]].concat()).status.success());
    assert!(wait_for_exit(child).0.success());
}

fn a_name_that_is_taken_stops_no_shim() {
    let namespace = Namespace::new().unwrap();
    // What was the shim's name.
    let name = SocketAddr::from_abstract_name("driftway-shim").unwrap();
    let _squatter = namespace.run(|| UnixListener::bind_addr(&name)).unwrap().unwrap();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("socket");
    let socket = ["--socket", path.to_str().unwrap()];
    // What one has left that was killed.
    drop(UnixListener::bind(&path).unwrap());
    let mut child = namespace.spawn(&mut command(&[&["shim"], &socket[..]].concat())).unwrap();
    let ask = [&["status"], &socket[..]].concat();
    wait_until("it works", || shim(&namespace, &ask).status.success());
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o666, "everybody may ask");
    child.kill().unwrap();
    child.wait().unwrap();

    // What is none is not taken for one.
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let no_socket = ["stop", "--socket", file.to_str().unwrap()];
    assert!(shim(&namespace, &no_socket).status.success());
    assert!(file.exists());

    // Where others could put theirs, it does not listen.
    fs::set_permissions(place.path(), Permissions::from_mode(0o777)).unwrap();
    let refused = shim(&namespace, &socket);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(text(&refused.stderr).contains("others may put files into"), "{refused:?}");
    assert_nothing_left(&namespace);
}

fn slow_clients_are_in_nobodys_way() {
    let namespace = Namespace::new().unwrap();
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    let path = place.path().join("socket");
    let socket = ["--socket", path.to_str().unwrap()];
    let child = namespace.spawn(&mut command(&[&["shim"], &socket[..]].concat())).unwrap();
    let ask = [&["status"], &socket[..]].concat();
    wait_until("it works", || shim(&namespace, &ask).status.success());

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

/// A name of a namespace, as `ip netns add` makes them.
struct NamespaceMount(PathBuf);

impl Drop for NamespaceMount {
    fn drop(&mut self) {
        // It may be gone already.
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
    assert!(child.try_wait().unwrap().is_none(), "it has another name");
    drop(second);
    let (ended, said) = wait_for_exit(child);
    assert!(ended.success() && said.contains("deleted"), "{said}");
    assert_nothing_left(&namespace);
}
