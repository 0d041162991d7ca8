//! Whatever a hook is fed, and whatever its log is like, it exits with 0 or 2, denies, and leaves
//! no answer on record.

use crate::program;
use crate::program::{Place, contents, status, text};
use serde_json::{Value, json};
use std::fs::{File, Permissions, create_dir, set_permissions, write};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};

/// `pre-tool-use` with these bytes on stdin.
fn pre(place: &Place, input: &[u8]) -> Output {
    hook(place, &["pre-tool-use"], input)
}

fn hook(place: &Place, words: &[&str], input: &[u8]) -> Output {
    let mut command = place.command(&[&["hook"], words].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).expect("whatever it answers, it reads all");
    child.wait_with_output().unwrap()
}

/// Exit 2, nothing on stdout, a reason on stderr.
fn assert_undecided(output: &Output, what: &str) {
    let complaint = text(&output.stderr);
    assert_eq!(status(output), 2, "{what}: {complaint}");
    assert_eq!(text(&output.stdout), "", "{what}");
    assert!(complaint.contains("denied"), "{what}: {complaint}");
    assert!(!complaint.contains("holdpoint: holdpoint"), "{what}: {complaint}");
}

fn call(input: &str) -> Vec<u8> {
    let whose = r#"{"session_id":"s","permission_mode":"default","cwd":"/","#;
    let head = format!(r#"{whose}"tool_name":"Bash","tool_input":"#);
    format!("{head}{input}}}").into_bytes()
}

fn good() -> Vec<u8> {
    call(r#"{"command":"ls"}"#)
}

#[test]
fn input_that_is_none_is_denied_and_leaves_nothing() {
    let place = Place::new();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("\"{}\"", "x".repeat(17 << 20));
    let mode = "permission_mode";
    let name =
        |name: &str| json!({ "session_id": "s", mode: "x", "tool_name": name, "tool_input": {} });
    let session =
        |id: &str| json!({ "session_id": id, mode: "x", "tool_name": "B", "tool_input": {} });
    let table: [(&str, Vec<u8>); 24] = [
        ("empty", vec![]),
        ("blank", b" \n".to_vec()),
        ("garbage", b"\x00\xff\xfe garbage".to_vec()),
        ("a list", br#"["PreToolUse","s","/w","Bash",{},false]"#.to_vec()),
        ("two objects", b"{} {}".to_vec()),
        ("cut", good()[..good().len() - 2].to_vec()),
        ("no fields", b"{}".to_vec()),
        (
            "not UTF-8",
            call("{\"a\":\"\x00\"}").iter().map(|b| if *b == 0 { 0xff } else { *b }).collect(),
        ),
        ("deep input", call(&deep)),
        ("deep beside it", format!("{{\"x\":{deep}").into_bytes()),
        ("17 MiB", call(&long)),
        ("a name twice", call(r#"{"command":"ls","command":"rm"}"#)),
        ("a name twice, escaped", call(r#"{"command":"ls","\u0063ommand":"rm"}"#)),
        ("a number that is no double", call(r#"{"n":9007199254740993}"#)),
        ("a number beyond all", call(r#"{"n":1e999}"#)),
        ("a lone surrogate", call(r#"{"a":"\ud800"}"#)),
        ("input null", call("null")),
        ("input twice", call(r#"{},"tool_input":{}"#)),
        (
            "a session that is a number",
            br#"{"session_id":1,"permission_mode":"x","tool_name":"B","tool_input":{}}"#.into(),
        ),
        ("no session", br#"{"permission_mode":"x","tool_name":"B","tool_input":{}}"#.into()),
        ("an endless session", session(&"s".repeat(300)).to_string().into()),
        ("a session in disguise", session("s\u{202e}").to_string().into()),
        ("a tool in disguise", name("Ba\u{200b}sh").to_string().into()),
        ("another event", br#"{"permission_mode":"x","hook_event_name":"PostToolUse"}"#.to_vec()),
    ];
    for (what, input) in table {
        assert_undecided(&pre(&place, &input), what);
        assert!(!place.log.exists(), "{what}: nothing is recorded");
    }
}

#[test]
fn what_is_new_in_a_host_changes_nothing() {
    let place = Place::with_log();
    let mut input: Value = serde_json::from_slice(&good()).unwrap();
    input["permission_mode"] = "of-2031".into();
    input["something"] = json!({ "new": [1, 2, { "deep": null }] });
    let output = pre(&place, input.to_string().as_bytes());
    assert_eq!(status(&output), 2);
    assert!(output.stdout.is_empty() && text(&output.stderr).contains("pending"));
}

#[test]
fn stdin_that_is_closed_is_denied_and_so_is_stdout_that_carries_nothing() {
    let place = Place::with_log();
    let mut closed = place.command(&["hook", "pre-tool-use"]);
    let output = closed.stdin(Stdio::null()).output().unwrap();
    assert_undecided(&output, "closed stdin");
    write(place.directory.path().join("input"), good()).unwrap();
    let input = || File::open(place.directory.path().join("input")).unwrap();
    for stdout in ["/dev/null", "/dev/full"] {
        let mut command = place.command(&["hook", "pre-tool-use"]);
        command.stdin(input()).stdout(File::options().write(true).open(stdout).unwrap());
        let output = command.output().unwrap();
        assert_eq!(status(&output), 2, "{stdout}");
        assert!(text(&output.stderr).contains("pending"), "{stdout}");
    }
}

#[test]
fn a_log_that_cannot_be_written_to_denies_and_stays_as_it_is() {
    let place = Place::new();
    write(&place.log, "no directory").unwrap();
    assert_undecided(&pre(&place, &good()), "a file");
    let foreign = Place::new();
    create_dir(&foreign.log).unwrap();
    write(foreign.log.join("thesis.txt"), "years").unwrap();
    let before = contents(&foreign.log);
    assert_undecided(&pre(&foreign, &good()), "a foreign directory");
    assert!(before == contents(&foreign.log));
    let sealed = Place::new();
    set_permissions(sealed.directory.path(), Permissions::from_mode(0o500)).unwrap();
    if File::create(sealed.directory.path().join("probe")).is_err() {
        assert_undecided(&pre(&sealed, &good()), "a read-only place");
    } else {
        program::skip("this user may write everywhere, so nothing is read-only");
    }
    set_permissions(sealed.directory.path(), Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_damaged_log_denies_and_is_not_touched() {
    let place = Place::with_log();
    assert!(text(&pre(&place, &good()).stderr).contains("pending"));
    let segment = contents(&place.log).keys().find(|path| path.ends_with_seg()).unwrap().clone();
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes.windows(4).position(|window| window == b"Bash").unwrap();
    bytes[at] ^= 1;
    write(&segment, &bytes).unwrap();
    let output = pre(&place, &good());
    assert_undecided(&output, "damage");
    assert_eq!(std::fs::read(&segment).unwrap(), bytes, "it is left as it is");
    let stop = hook(&place, &["stop"], br#"{"session_id":"s"}"#);
    assert_eq!(status(&stop), 0, "{}", text(&stop.stderr));
}

trait EndsWithSeg {
    fn ends_with_seg(&self) -> bool;
}

impl EndsWithSeg for std::path::Path {
    fn ends_with_seg(&self) -> bool {
        self.extension().is_some_and(|extension| extension == "seg")
    }
}

#[test]
fn a_lock_that_is_held_denies_within_its_bound() {
    let place = Place::with_log();
    assert!(text(&pre(&place, &good()).stderr).contains("pending"));
    let lock = File::open(place.log.join("LOCK")).unwrap();
    lock.lock().unwrap();
    let output = pre(&place, &call(r#"{"command":"other"}"#));
    assert_undecided(&output, "a held lock");
    assert!(text(&output.stderr).contains("locked"), "{}", text(&output.stderr));
    drop(lock);
    place.verified();
}

#[test]
fn options_that_cannot_be_read_block() {
    let place = Place::new();
    let bad: [&[&str]; 11] = [
        &[],
        &["pre-tool"],
        &["pre-tool-use", "--wait", "1h"],
        &["pre-tool-use", "--deadline", "2h"],
        &["pre-tool-use", "--deadline", "0s"],
        &["pre-tool-use", "--host", "emacs"],
        &["pre-tool-use", "--no-such-option"],
        &["pre-tool-use", "--quorum", "300"],
        &["pre-tool-use", "--quorum", "0"],
        &["pre-tool-use", "--tool", ""],
        &["pre-tool-use", "--tool", "*Bash"],
    ];
    for words in bad {
        let output = hook(&place, words, &good());
        assert_eq!(status(&output), 2, "{words:?}");
        assert!(!output.stderr.is_empty() && !place.log.exists(), "{words:?}");
    }
}

#[test]
fn whatever_a_hook_answers_it_reads_all_that_its_host_writes() {
    let place = Place::with_log();
    let none = Place::new();
    let rest = "x".repeat(8 << 20);
    let long = format!(r#"{{"session_id":"s","stop_hook_active":true,"tool_response":"{rest}"}}"#);
    let table: [(&Place, &[&str], i32); 9] = [
        (&place, &["pre-tool-use"], 2),
        (&place, &["pre-tool-use", "--nope"], 2),
        (&place, &["pre-tool-use", "--wait", "1h"], 2),
        (&place, &["pre-tool-use", "--wait", "20s", "--deadline", "10s"], 2),
        (&place, &["no-such-hook", "--json"], 2),
        (&none, &["pre-tool-use"], 2),
        (&none, &["session-start"], 0),
        (&place, &["stop"], 0),
        (&place, &["post-tool-use"], 1),
    ];
    for (place, words, expected) in table {
        assert_eq!(status(&hook(place, words, long.as_bytes())), expected, "{words:?}");
    }
    let mut named = place.command(&["--config", "/no/such/file", "hook", "pre-tool-use"]);
    named.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = named.spawn().unwrap();
    child.stdin.take().unwrap().write_all(long.as_bytes()).expect("it reads all");
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn an_input_that_never_ends_is_read_within_bounds() {
    let place = Place::with_log();
    let words = ["hook", "pre-tool-use", "--wait", "20s", "--deadline", "1s"];
    let mut endless = place.command(&words);
    endless.stdin(File::open("/dev/zero").unwrap());
    assert_undecided(&endless.output().unwrap(), "endless zeros");
    let mut open = place.command(&words);
    open.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = open.spawn().unwrap();
    let stdin = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    drop(stdin);
}
