//! A Chromium without a window, driven by its own protocol over a pipe: the reference is
//! <https://chromedevtools.github.io/devtools-protocol/>.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Time after which an answer is missing.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page.
pub struct Chromium {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    events: VecDeque<Value>,
    session: String,
    sent: u64,
}

impl Chromium {
    /// Starts it; `None` if it is not installed, which is a failure if `DRIFTWAY_NEED_CHROMIUM` is set.
    pub fn start() -> Option<Self> {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let is_installed = |name: &&&str| {
            let paths = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&paths).any(|path| path.join(**name).is_file())
        };
        let Some(name) = names.iter().find(is_installed) else {
            let needed = std::env::var_os("DRIFTWAY_NEED_CHROMIUM").is_some();
            assert!(!needed, "DRIFTWAY_NEED_CHROMIUM is set, but chromium is not installed");
            let _ = writeln!(std::io::stderr(), "SKIPPED: chromium is not installed");
            return None;
        };
        // The pipe is descriptors 3 and 4 of the browser.
        let line = format!(
            "exec {name} --headless --no-sandbox --disable-gpu --no-first-run --disable-extensions \
             --remote-debugging-pipe about:blank 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null"
        );
        let mut child = Command::new("sh")
            .args(["-c", &line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(stdout).split(0) {
                let Ok(message) = message else { break };
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            child,
            commands,
            answers,
            events: VecDeque::new(),
            session: String::new(),
            sent: 0,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.call(domain, json!({}));
        }
        Some(browser)
    }

    /// Sends a command, and returns its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        write!(self.commands, "{message}\0").unwrap();
        loop {
            let mut answer = self.answers.recv_timeout(PATIENCE).expect("an answer of Chromium");
            if answer["id"] == json!(self.sent) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
            self.events.push_back(answer);
        }
    }

    /// The value of an expression of JavaScript, or that of its promise.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true,
        });
        let mut result = self.call("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].take()
    }

    /// Opens the page of a replay in a window of this size, and waits until it shows its events.
    pub fn open(&mut self, page: &Path, fragment: &str, size: (u32, u32), scheme: &str) {
        self.open_until(page, fragment, (size, scheme), "window.driftwayReplay");
    }

    /// Opens a page in a window of this size and with this colour scheme, and waits until `shown` is true and drawn.
    pub fn open_until(
        &mut self,
        page: &Path,
        fragment: &str,
        ((width, height), scheme): ((u32, u32), &str),
        shown: &str,
    ) {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", scheme);
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        let url = format!("file://{}{fragment}", page.display());
        self.call("Page.navigate", json!({ "url": url }));
        for _ in 0..600 {
            if self.evaluate(&format!("Boolean({shown})")) == json!(true) {
                self.evaluate(AFTER_TWO_FRAMES);
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{}: {:?}", page.display(), self.complaints());
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key }));
        }
        self.evaluate(AFTER_TWO_FRAMES);
    }

    /// Errors and warnings of the page so far.
    pub fn complaints(&mut self) -> Vec<String> {
        let is_complaint = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => event["params"]["type"] != json!("log"),
            Some("Log.entryAdded") => event["params"]["entry"]["level"] == json!("error"),
            _ => false,
        };
        self.events.iter().filter(is_complaint).map(ToString::to_string).collect()
    }
}

/// A promise of what has been drawn.
const AFTER_TWO_FRAMES: &str = "new Promise((done) => \
     requestAnimationFrame(() => requestAnimationFrame(() => done(true))))";

impl Drop for Chromium {
    fn drop(&mut self) {
        // It ends by itself when its pipe is closed; this makes sure of it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
