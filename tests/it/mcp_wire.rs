//! `holdpoint mcp` on the wire: lines that cannot be taken, the end of stdin, and what is approved
//! over it.

use crate::mcp_support::{Client, Era};
use crate::program::{Place, contents, json, status, text};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Output, Stdio};

const ERAS: [Era; 2] = [Era::Legacy("2025-11-25"), Era::Stateless];

/// A decision that was asked for.
fn asked(client: &mut Client, more: &Value) -> Value {
    let mut arguments = json!({ "prompt": "Deploy?", "options": [
        { "id": "yes", "label": "Do it" }, { "id": "no", "label": "Do not", "reject": true }] });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.done("decision_create", &arguments)["decision"].clone()
}

/// What the server says to this input and then the end of it.
fn told(place: &Place, input: &str) -> Output {
    let mut command = place.command(&["mcp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = command.spawn().unwrap();
    server.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    server.wait_with_output().unwrap()
}

#[test]
fn a_line_that_two_readers_may_read_in_two_ways_is_answered_and_nothing_is_done() {
    for era in ERAS {
        let place = Place::with_log();
        let before = contents(&place.log);
        let mut client = Client::start(&place, era, &[]);
        let meta = match era {
            Era::Stateless => concat!(
                r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientCapabilities":{}},"#
            ),
            Era::Legacy(_) => "",
        };
        let create = |id: &str, arguments: &str| {
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{{meta}\
                 \"name\":\"decision_create\",\"arguments\":{arguments}}}}}\n"
            )
        };
        let deep = format!(
            r#"{{"prompt":"?","binding":{{"tool":"T","input":{}{}}}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        let table = [
            ("\"a\"", r#"{"prompt":"delete","prompt":"list"}"#, -32600),
            ("101", r#"{"prompt":"?","binding":{"tool":"T","input":{"f":1,"\u0066":2}}}"#, -32600),
            ("102", r#"{"prompt":"\ud800"}"#, -32700),
            ("103", r#"{"prompt":"?","binding":{"tool":"T","input":1e400}}"#, -32700),
            ("104", deep.as_str(), -32700),
            ("105", r#"{"prompt":"?""#, -32700),
        ];
        for (id, arguments, code) in table {
            client.raw(create(id, arguments).as_bytes());
            let answer = client.answer(&serde_json::from_str(id).unwrap());
            assert_eq!(answer["error"]["code"], code, "{arguments}: {answer}");
        }
        assert_eq!(client.done("decision_list", &json!({}))["total"], 0);
        client.end();
        assert!(contents(&place.log) == before);
    }
}

#[test]
fn a_line_that_is_too_long_is_answered_where_it_begins_with_its_id() {
    let place = Place::with_log();
    let mut client = Client::start(&place, Era::Stateless, &[]);
    let much = "x".repeat(5 << 20);
    client.raw(format!("{{\"jsonrpc\":\"2.0\",\"params\":\"{much}\",\"id\":900}}\n").as_bytes());
    client.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":901,\"params\":\"{much}\"}}\n").as_bytes());
    let answer = client.next_line();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&901.into(), &json!(-32600)));
    assert_eq!(client.done("decision_list", &json!({}))["total"], 0);
    client.end();
}

#[test]
fn the_end_of_stdin_ends_a_wait_which_tells_how_things_stand() {
    for era in ERAS {
        let place = Place::new();
        let mut client = Client::start(&place, era, &[]);
        let id = asked(&mut client, &json!({}))["id"].clone();
        let before = contents(&place.log);
        let wait = json!({ "decision_id": id, "timeout_seconds": 45 });
        let waits: Vec<u64> = (0..3)
            .map(|_| {
                let call = json!({ "name": "decision_wait", "arguments": wait });
                client.send("tools/call", call)
            })
            .collect();
        client.hush();
        for wait in waits {
            let answer = client.answer(&json!(wait));
            let (is_error, waited) = client.result(&answer);
            assert_eq!((is_error, &waited["outcome"]), (false, &"still_pending".into()));
        }
        client.end();
        assert!(contents(&place.log) == before);
    }
}

#[test]
fn the_last_line_needs_no_end() {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "c", "version": "1" } } });
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let output = told(&Place::new(), &format!("{hello}\n{list}"));
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.lines().count() == 2 && said.contains("decision_create"), "{said}");
}

#[test]
fn a_client_that_begins_wrongly_is_told_in_plain_words() {
    let nameless = json!({ "jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {} } });
    let output = told(&Place::new(), &format!("{nameless}\n"));
    let answer = json(&output);
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&7.into(), &json!(-32602)));
    assert_eq!(status(&output), 0);
    let early = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let other = told(&Place::new(), &format!("{early}\n"));
    assert_eq!(status(&other), 1);
    for output in [output, other] {
        let said = text(&output.stderr);
        assert!(said.contains("initialize") && said.lines().count() == 1, "{said}");
        for word in ["Some(", "Request {", "JsonRpc", "extensions"] {
            assert!(!said.contains(word), "{said}");
        }
    }
}

#[test]
fn an_action_is_approved_by_people_alone_and_no_default_approves_it() {
    let place = Place::new();
    let options = ["--allow-respond", "--requested-by", "worker"];
    let mut client = Client::start(&place, Era::Stateless, &options);
    let decision = asked(
        &mut client,
        &json!({
            "binding": { "tool": "Bash", "input": { "command": "deploy" } },
            "default_option": "yes", "on_timeout": "default", "timeout_seconds": 1,
        }),
    );
    assert_eq!(decision["quorum"], 1);
    for loose in ["allow_agents", "allow_requester", "allow_text"] {
        assert_eq!(decision[loose], false, "{loose}");
    }
    assert_eq!(decision["authentication"], "terminal");
    let answer = json!({ "decision_id": decision["id"], "option": "yes" });
    let request = json!({ "name": "decision_respond", "arguments": answer });
    let (is_error, refused) = {
        let answer = client.request("tools/call", request);
        client.result(&answer)
    };
    assert!(is_error, "{refused:#}");
    let wait = json!({ "decision_id": decision["id"], "timeout_seconds": 45 });
    let waited = client.done("decision_wait", &wait);
    assert_eq!(
        (&waited["outcome"], &waited["decision"]["approved"]),
        (&"default".into(), &false.into())
    );
    client.end();
    place.verified();
}

#[test]
fn what_a_query_names_is_found_as_decisions_are_or_not_found() {
    let place = Place::new();
    let mut client = Client::start(&place, Era::Stateless, &[]);
    let decision = asked(&mut client, &json!({ "issue_id": "web-1" }));
    asked(&mut client, &json!({ "issue_id": "api-2" }));
    let id = decision["id"].as_str().unwrap();
    for name in [id, &id[..20], "web-1"] {
        let found = client.done("audit_query", &json!({ "decision": name }));
        let records = found["records"].as_array().unwrap();
        assert_eq!(records.len(), 1, "{name}: {found:#}");
        assert_eq!(records[0]["decision_id"], id);
    }
    let none = json!({ "decision": id, "kind": "decision_point.resolved" });
    assert_eq!(client.done("audit_query", &none)["records"], json!([]));
    for (query, closest) in [
        (json!({ "kind": "decision_point.resolve" }), "decision_point.resolved"),
        (json!({ "kind": "decision_pint" }), "decision_point"),
        (json!({ "kind": "zzz" }), "without kind"),
        (json!({ "decision": "web-2" }), "web-1"),
        (json!({ "decision": "DP-" }), ""),
        (json!({ "loop": "LOOP-1" }), "without loop"),
    ] {
        let error = client.refused("not_found", "audit_query", &query);
        assert!(error["message"].as_str().unwrap().contains(closest), "{error:#}");
    }
}

#[test]
fn schemas_state_the_bounds_of_their_numbers() {
    let place = Place::new();
    let mut client = Client::start(&place, Era::Stateless, &[]);
    let tools = client.tools();
    for (tool, argument, least, most) in [
        ("decision_list", "limit", 1, 200),
        ("audit_query", "limit", 1, 200),
        ("decision_wait", "timeout_seconds", 0, 45),
        ("decision_create", "quorum", 1, 16),
        ("decision_create", "max_iterations", 1, 20),
    ] {
        let found = tools.iter().find(|found| found["name"] == tool).unwrap();
        let bounds = &found["inputSchema"]["properties"][argument];
        assert_eq!(
            (&bounds["minimum"], &bounds["maximum"]),
            (&json!(least), &json!(most)),
            "{tool} {argument}"
        );
    }
}

#[test]
fn a_wait_tells_its_progress_to_a_client_that_gave_a_token_and_none_follows_the_answer() {
    for era in ERAS {
        let place = Place::with_log();
        let mut client = Client::telling(&place, era, "1ms");
        let decision = asked(&mut client, &json!({}));
        let id = decision["id"].as_str().unwrap();
        let arguments = json!({ "decision_id": id, "timeout_seconds": 45 });
        let call = json!({
            "name": "decision_wait", "arguments": arguments, "_meta": { "progressToken": "t" },
        });
        let waiting = client.send("tools/call", call);
        let mut before = 0.0;
        for _ in 0..5 {
            let notice = client.next_line();
            assert_eq!(notice["method"], "notifications/progress", "{notice}");
            let told = &notice["params"];
            assert_eq!((&told["progressToken"], &told["total"]), (&json!("t"), &json!(45.0)));
            assert!(told["progress"].as_f64().unwrap() > before, "{notice}");
            before = told["progress"].as_f64().unwrap();
        }
        let answer = ["decision", "respond", id, "--option", "yes"];
        assert_eq!(status(&place.holdpoint(&answer)), 0);
        let answered = std::iter::repeat_with(|| client.next_line())
            .find(|line| line["method"].is_null())
            .unwrap();
        assert_eq!(answered["id"], json!(waiting), "{answered}");
        client.end();
    }
}

#[test]
fn a_call_without_a_token_and_one_that_waits_for_nothing_tell_no_progress() {
    let place = Place::with_log();
    let mut client = Client::telling(&place, Era::Stateless, "1ms");
    let decision = asked(&mut client, &json!({}));
    let id = decision["id"].as_str().unwrap();
    let arguments = json!({ "decision_id": id, "timeout_seconds": 1 });
    let wait = json!({ "name": "decision_wait", "arguments": arguments });
    let show = json!({
        "name": "decision_show", "arguments": { "decision_id": id },
        "_meta": { "progressToken": 7 },
    });
    for call in [wait, show] {
        let sent = client.send("tools/call", call);
        assert_eq!(client.next_line()["id"], json!(sent));
    }
    client.end();
}
