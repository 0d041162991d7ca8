//! The examples, as the programs that their readers run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// An example, which cargo builds beside the tests, unless told which of them to build.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples").join(name);
    let missing = format!("cargo build -p holdpoint --example {name}");
    assert!(program.exists(), "no {}: {missing}", program.display());
    program
}

fn run(name: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program(name));
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn printed(name: &str, arguments: &[&str]) -> String {
    let output = run(name, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {}: {said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_build_runs_each_step_once_and_stops_at_a_gate_that_nobody_opens() {
    let home = tempfile::tempdir().unwrap();
    let build = || run("ci_runner", &[text(home.path()), "7", "50"]);
    let first = build();
    let expected = "test: COMPLETED\npackage: COMPLETED\ndeploy: not approved, and not started\n";
    assert_eq!(String::from_utf8_lossy(&first.stdout), expected);
    assert_eq!(first.status.code(), Some(121));
    let again = build();
    let expected =
        "test: done before\npackage: done before\ndeploy: not approved, and not started\n";
    assert_eq!(String::from_utf8_lossy(&again.stdout), expected);

    // What the runner recorded is what the analysis tells.
    let log = home.path().join("log");
    let report = holdpoint::verify(&log).unwrap();
    let table = format!(
        "command                      runs  ends\n\
         sh -c 'echo 3 tests passed'     1  1 COMPLETED\n\
         sh -c 'echo packed'             1  1 COMPLETED\n\
         {} records, intact\n",
        report.records
    );
    assert_eq!(printed("analysis", &[text(&log)]), table);
}

#[test]
fn a_fuzz_target_asserts_for_any_bytes_that_the_log_verifies() {
    let told = printed("fuzz_target", &["a", "b", "c"]);
    assert_eq!(told.lines().count(), 3);
    for line in told.lines() {
        assert!(line.ends_with(" commands refused, intact"), "{line}");
        assert!(!line.contains(" 0 events"), "{line}");
    }
    assert_eq!(printed("fuzz_target", &["a", "b", "c"]), told, "a seed says it all");
}

/// What a service answers: its status and its body.
fn asked(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.lines().next().unwrap().trim_start_matches("HTTP/1.1 ");
    (status.to_string(), body.to_string())
}

fn post(address: &str, order: &str, key: &str, body: &str) -> (String, String) {
    let length = body.len();
    let head = format!("POST /orders/{order} HTTP/1.1\r\nIdempotency-Key: {key}\r\n");
    asked(address, &format!("{head}Content-Length: {length}\r\n\r\n{body}"))
}

#[test]
fn a_service_records_an_order_once_and_answers_from_the_state() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    let mut service = Command::new(program("service"))
        .args([text(&log), "8"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(service.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim();
    let get = || asked(address, "GET /orders/order-1 HTTP/1.1\r\n\r\n");
    let answers = [
        get(),
        post(address, "order-1", "k1", "1200"),
        post(address, "order-1", "k1", "1200"),
        post(address, "order-1", "k2", "1200"),
        post(address, "order-2", "k3", "a few"),
        get(),
        asked(address, "GET /stock HTTP/1.1\r\n\r\n"),
        asked(address, "GET /elsewhere HTTP/1.1\r\n\r\n"),
    ];
    let expected = [
        ("404 Not Found", "no such order\n"),
        ("201 Created", "placed in record 3\n"),
        ("200 OK", "placed before, in record 3\n"),
        ("409 Conflict", "STALE_VERSION\n"),
        ("400 Bad Request", "how many pieces?\n"),
        ("200 OK", "order-1 stands at record 2\n"),
        ("200 OK", "1200 pieces taken\n"),
        ("404 Not Found", "no such place\n"),
    ];
    let answers: Vec<_> = answers.iter().map(|(status, body)| (&**status, &**body)).collect();
    assert_eq!(answers, expected);
    assert!(service.wait().unwrap().success());
    assert_eq!(holdpoint::verify(&log).unwrap().to_string().lines().next().unwrap(), VERDICT);
}

const VERDICT: &str = "verdict         intact";
