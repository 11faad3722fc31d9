//! A namespace is isolated, and leaves nothing behind.

use std::fs;
use std::net::TcpListener;

use driftway_base::Ipv4Addr;
use driftway_linux::{Namespace, Tun};

tests![
    a_namespace_is_apart_and_the_caller_stays_outside,
    settings_are_per_namespace,
    a_panic_inside_reaches_the_caller,
    nothing_is_left_behind,
];

fn identity() -> String {
    fs::read_link("/proc/thread-self/ns/net").unwrap().display().to_string()
}

fn interfaces() -> String {
    fs::read_to_string("/proc/thread-self/net/dev").unwrap()
}

fn a_namespace_is_apart_and_the_caller_stays_outside() {
    let one = Namespace::new().unwrap();
    let two = Namespace::new().unwrap();
    let outside = identity();
    let [inside, again, other] =
        [&one, &one, &two].map(|namespace| namespace.run(identity).unwrap());
    assert_eq!(inside, again);
    assert_ne!(inside, other);
    assert_ne!(inside, outside);
    assert_eq!(identity(), outside);

    // The same address and port in both at once.
    let [a, b] = [&one, &two].map(|namespace| {
        namespace.run(|| TcpListener::bind("127.0.0.1:4711")).unwrap().expect("loopback is up")
    });
    assert_eq!(a.local_addr().unwrap(), b.local_addr().unwrap());

    // A device created inside is visible only inside.
    let tun = one.run(|| Tun::open(Ipv4Addr::new(10, 77, 0, 1), 24, 1500)).unwrap().unwrap();
    let name = format!("{}:", tun.name().unwrap());
    assert!(one.run(interfaces).unwrap().contains(&name));
    assert!(!two.run(interfaces).unwrap().contains(&name));
    drop(tun);
    assert!(!one.run(interfaces).unwrap().contains(&name));
}

fn settings_are_per_namespace() {
    let one = Namespace::new().unwrap();
    let two = Namespace::new().unwrap();
    let before = two.sysctl("net/ipv4/tcp_sack").unwrap();
    let other = if before == "1" { "0" } else { "1" };
    one.set_sysctl("net/ipv4/tcp_sack", other).unwrap();
    assert_eq!(one.sysctl("net/ipv4/tcp_sack").unwrap(), other);
    assert_eq!(two.sysctl("net/ipv4/tcp_sack").unwrap(), before);
    let error = one.set_sysctl("net/ipv4/no_such_setting", "1").unwrap_err();
    assert!(error.to_string().contains("no_such_setting"), "{error}");
}

fn a_panic_inside_reaches_the_caller() {
    let namespace = Namespace::new().unwrap();
    let caught = std::panic::catch_unwind(|| namespace.run(|| panic!("inside")));
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"inside"));
}

fn nothing_is_left_behind() {
    let namespace = Namespace::new().unwrap();
    let inside = namespace.run(identity).unwrap();
    let lives = || {
        let tasks = fs::read_dir("/proc").unwrap().flatten();
        let tasks = tasks.flat_map(|process| fs::read_dir(process.path().join("task")));
        tasks.flatten().flatten().any(|task| {
            fs::read_link(task.path().join("ns/net"))
                .is_ok_and(|ns| ns.display().to_string() == inside)
        })
    };
    drop(namespace);
    // The kernel may need a moment to remove a joined thread.
    let patience = 100;
    let gone = (0..patience).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        !lives()
    });
    assert!(gone);
}
