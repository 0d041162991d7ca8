//! `holdpoint mcp`: an agent asks, waits and audits over the Model Context Protocol, and does not
//! answer. Both eras of the protocol, the real program, and a real client where there is one.

use crate::decision_support::without_standing;
use crate::machine::configure;
use crate::mcp_support::{Client, Era};
use crate::program::{Place, contents, json, skip, status, text};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

const DOCUMENT: &str = include_str!("../../docs/agents.md");

const ERAS: [Era; 3] = [Era::Legacy("2025-06-18"), Era::Legacy("2025-11-25"), Era::Stateless];

const TOOLS: [&str; 9] = [
    "decision_create",
    "decision_list",
    "bd_decision_list",
    "decision_show",
    "decision_wait",
    "decision_cancel",
    "decision_refine",
    "audit_verify",
    "audit_query",
];

fn options() -> Value {
    json!([{ "id": "yes", "label": "Do it" }, { "id": "no", "label": "Do not", "reject": true }])
}

/// A decision that was asked for, and its id.
fn asked(client: &mut Client, more: &Value) -> (Value, String) {
    let mut arguments = json!({ "prompt": "Deploy?", "options": options() });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let created = client.done("decision_create", &arguments);
    let id = created["decision"]["id"].as_str().unwrap().to_string();
    (created, id)
}

/// An answer of a person, by the program itself.
fn answer(place: &Place, id: &str, response: &[&str]) {
    let output = place.holdpoint(&[&["decision", "respond", id, "--json"], response].concat());
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
}

#[test]
fn every_tool_answers_in_both_eras() {
    for era in ERAS {
        let place = Place::new();
        let mut client = Client::start(&place, era, &[]);
        let names: Vec<String> = client.tools().iter().map(name_of).collect();
        assert_eq!(names, TOOLS, "{era:?}");
        let (created, id) = asked(&mut client, &json!({ "issue_id": "web-1" }));
        assert_eq!(created["decision"]["state"], "pending");
        assert_eq!(created["decision"]["requested_by"], "mcp:the-client");
        assert_eq!(created["decision"]["requested_kind"], "agent");
        for list in ["decision_list", "bd_decision_list"] {
            let listed = client.done(list, &json!({}));
            assert_eq!(
                (&listed["total"], &listed["decisions"][0]["id"]),
                (&1.into(), &id.as_str().into())
            );
        }
        for name in [id.as_str(), "web-1"] {
            let shown = client.done("decision_show", &json!({ "decision_id": name }));
            assert_eq!(without_standing(&shown["decision"]), created["decision"]);
        }
        let waited =
            client.done("decision_wait", &json!({ "decision_id": id, "timeout_seconds": 0 }));
        assert_eq!(waited["outcome"], "still_pending");
        assert!(waited["next_step"].as_str().unwrap().contains("again"));
        answer(&place, &id, &["--guidance", "Only the staging site"]);
        let waited = client.done("decision_wait", &json!({ "decision_id": id }));
        assert_eq!(
            (&waited["outcome"], &waited["decision"]["guidance_given"]),
            (&"iterated".into(), &"Only the staging site".into())
        );
        let next = waited["decision"]["next_id"].as_str().unwrap().to_string();
        let refined = json!({ "decision_id": next, "prompt": "Deploy to staging?" });
        let refined = client.done("decision_refine", &refined);
        assert_eq!(refined["decision"]["prompt"], "Deploy to staging?");
        answer(&place, &next, &["--option", "yes"]);
        let waited = client.done("decision_wait", &json!({ "decision_id": next }));
        assert_eq!(
            (&waited["outcome"], &waited["decision"]["approved"]),
            (&"answered".into(), &true.into())
        );
        let (_, other) = asked(&mut client, &json!({}));
        let cancelled =
            client.done("decision_cancel", &json!({ "decision_id": other, "reason": "no" }));
        assert_eq!(
            (&cancelled["decision"]["state"], &cancelled["replayed"]),
            (&"cancelled".into(), &false.into())
        );
        let again = client.done("decision_cancel", &json!({ "decision_id": other }));
        assert_eq!(again["replayed"], true);
        assert_eq!(client.done("audit_verify", &json!({}))["verdict"], "intact");
        let records =
            client.done("audit_query", &json!({ "kind": "decision_point", "limit": 200 }));
        assert!(records["records"].as_array().unwrap().len() >= 6, "{records}");
        assert_eq!(records["next_from"], Value::Null);
        client.end();
        place.verified();
    }
}

fn name_of(tool: &Value) -> String {
    tool["name"].as_str().unwrap().to_string()
}

#[test]
fn the_server_says_who_it_is_and_that_pending_means_wait() {
    for era in ERAS {
        let place = Place::with_log();
        let mut client = Client::silent(&place, era, &[]);
        let hello = client.greet();
        let words = hello["instructions"].as_str().unwrap();
        assert!(words.contains("Pending means wait") && words.contains("Never answer your own"));
        if era != Era::Stateless {
            let own = json!({ "name": "holdpoint", "version": env!("CARGO_PKG_VERSION") });
            assert_eq!(hello["serverInfo"], own);
        }
        client.end();
    }
}

#[test]
fn schemas_name_every_argument_and_hints_tell_who_writes() {
    let place = Place::new();
    let mut client = Client::start(&place, Era::Legacy("2025-11-25"), &["--allow-respond"]);
    let mut readers = Vec::new();
    for tool in client.tools() {
        let (input, output) = (&tool["inputSchema"], &tool["outputSchema"]);
        assert_eq!(
            (&input["type"], &input["additionalProperties"]),
            (&"object".into(), &false.into())
        );
        assert!(!input.to_string().contains("$ref"), "{input}");
        for (name, property) in input["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{name} of {tool:#}");
        }
        assert_eq!(output["type"], "object");
        assert!(output["properties"]["error"].is_object());
        assert!(tool["description"].as_str().unwrap().len() > 20);
        let hints = &tool["annotations"];
        assert_eq!(
            (&hints["destructiveHint"], &hints["openWorldHint"]),
            (&false.into(), &false.into())
        );
        if hints["readOnlyHint"] == true {
            readers.push(name_of(&tool));
        }
    }
    let expected =
        ["decision_list", "bd_decision_list", "decision_show", "audit_verify", "audit_query"];
    assert_eq!(readers, expected);
}

#[test]
fn tools_that_read_leave_the_log_as_it_is_and_make_none() {
    let place = Place::new();
    let mut client = Client::start(&place, Era::Stateless, &[]);
    for (tool, arguments) in [
        ("decision_list", json!({})),
        ("decision_list", json!({ "after": "x" })),
        ("decision_show", json!({ "decision_id": "x" })),
        ("decision_wait", json!({ "decision_id": "x", "timeout_seconds": 0 })),
        ("decision_cancel", json!({ "decision_id": "x" })),
        ("audit_verify", json!({})),
        ("audit_query", json!({})),
    ] {
        client.refused("nothing_here", tool, &arguments);
    }
    assert!(!place.log.exists());
    let (_, id) = asked(&mut client, &json!({}));
    let before = contents(&place.log);
    client.done("decision_list", &json!({ "state": "all" }));
    client.done("decision_show", &json!({ "decision_id": id }));
    client.done("decision_wait", &json!({ "decision_id": id, "timeout_seconds": 0 }));
    client.done("audit_verify", &json!({}));
    client.done("audit_query", &json!({}));
    client.refused("not_found", "decision_show", &json!({ "decision_id": "DP-none" }));
    client.end();
    assert!(contents(&place.log) == before);
}

#[test]
fn a_list_is_answered_while_a_wait_is_pending_and_an_answer_ends_the_wait() {
    for era in ERAS {
        let place = Place::new();
        let mut client = Client::start(&place, era, &[]);
        let (_, id) = asked(&mut client, &json!({}));
        let wait = json!({ "decision_id": id, "timeout_seconds": 45 });
        let wait = client.send("tools/call", json!({ "name": "decision_wait", "arguments": wait }));
        let listed = client.done("decision_list", &json!({}));
        assert_eq!(listed["total"], 1);
        answer(&place, &id, &["--option", "no"]);
        let answered = client.answer(&json!(wait));
        let (is_error, waited) = client.result(&answered);
        assert_eq!((is_error, &waited["outcome"]), (false, &"answered".into()));
        assert_eq!(waited["decision"]["approved"], false);
        client.end();
    }
}

#[test]
fn there_is_no_way_to_answer_unless_it_is_asked_for_and_then_it_is_an_agents() {
    let place = Place::new();
    let mut client = Client::start(&place, Era::Stateless, &[]);
    let (_, id) = asked(&mut client, &json!({}));
    let answer = json!({ "decision_id": id, "option": "yes" });
    let request = json!({ "name": "decision_respond", "arguments": answer });
    assert_eq!(client.request("tools/call", request)["error"]["code"], -32602);
    client.end();
    let options = ["--allow-respond", "--requested-by", "reviewer"];
    let mut client = Client::start(&place, Era::Stateless, &options);
    let done = client.done("decision_respond", &answer);
    let decision = &done["decision"];
    assert_eq!(
        (&decision["state"], &decision["responded_by"]),
        (&"resolved".into(), &"reviewer".into())
    );
    assert_eq!(
        (&decision["responded_kind"], &decision["authenticated_by"]),
        (&"agent".into(), &"none".into())
    );
    assert_eq!(client.done("decision_respond", &answer)["replayed"], true);
    let other = json!({ "decision_id": id, "option": "no" });
    let error = client.refused("already_ended", "decision_respond", &other);
    assert_eq!(error["current"]["selected_option"], "yes");
    client.refused("already_ended", "decision_respond", &other);
    for more in [json!({ "quorum": 1 }), json!({ "approvers": ["reviewer", "ada"] })] {
        let (_, id) = asked(&mut client, &more);
        let answer = json!({ "decision_id": id, "option": "yes" });
        let (is_error, value) = {
            let request = json!({ "name": "decision_respond", "arguments": answer });
            let answer = client.request("tools/call", request);
            client.result(&answer)
        };
        assert!(is_error && value["error"]["current"]["state"] == "pending", "{value:#}");
    }
    client.end();
    place.verified();
}

#[test]
fn an_approval_is_bound_to_its_action_and_no_argument_loosens_it() {
    let place = Place::new();
    let mut client = Client::start(&place, Era::Legacy("2025-11-25"), &[]);
    let binding = json!({ "tool": "Bash", "input": { "b": 1.0, "a": "x" } });
    let more = json!({ "binding": binding, "quorum": 2, "approvers": ["ada", "bob", "cy"] });
    let (created, _) = asked(&mut client, &more);
    let decision = &created["decision"];
    assert_eq!(decision["binding"]["tool"], "Bash");
    assert_eq!(
        (&decision["quorum"], &decision["approvers"]),
        (&2.into(), &json!(["ada", "bob", "cy"]))
    );
    assert_eq!(
        (&decision["allow_agents"], &decision["allow_requester"], &decision["allow_text"]),
        (&false.into(), &false.into(), &false.into())
    );
    assert_eq!(decision["authentication"], "terminal");
    for loose in ["allow_agents", "allow_requester", "default_approves", "authentication"] {
        let arguments = json!({ "prompt": "?", "options": options(), loose: true });
        client.refused("bad_arguments", "decision_create", &arguments);
    }
}

/// Sets the policy of the log, at a terminal.
fn set_policy(place: &Place, options: &[&str]) {
    let (exit, said) = Terminal::start(place, &[&["policy", "set"], options].concat()).end();
    assert_eq!(exit, 0, "{said}");
}

#[test]
fn a_client_asks_whom_the_policy_names_and_neither_loosens_it_nor_answers_as_them() {
    let place = Place::new();
    set_policy(&place, &["approvers=ada,bob", "quorum=2", "approval_timeout=10m"]);
    let mut client = Client::start(&place, Era::Stateless, &["--requested-by", "worker"]);
    let bound = json!({ "tool": "Bash", "input": {} });
    for loose in [
        json!({ "approvers": ["ada", "bob", "mallory"] }),
        json!({ "quorum": 1, "approvers": ["ada", "bob"] }),
        json!({ "binding": bound, "timeout_seconds": 3_600 }),
        json!({ "binding": bound, "timeout_seconds": 60, "on_timeout": "hold" }),
    ] {
        let mut arguments = json!({ "prompt": "Deploy?", "options": self::options() });
        arguments.as_object_mut().unwrap().extend(loose.as_object().unwrap().clone());
        let error = client.refused("policy_loosened", "decision_create", &arguments);
        assert!(error["message"].as_str().unwrap().contains("this log"), "{loose}: {error}");
    }
    assert_eq!(client.done("decision_list", &json!({}))["total"], 0, "nobody is asked");
    let mut asked_of = Vec::new();
    for more in [json!({ "binding": bound }), json!({ "blocks": ["deploy"] })] {
        let (created, id) = asked(&mut client, &more);
        let decision = &created["decision"];
        let found = (&decision["approvers"], &decision["quorum"], &decision["authentication"]);
        assert_eq!(found, (&json!(["ada", "bob"]), &2.into(), &"terminal".into()), "{more}");
        asked_of.push(id);
    }
    client.end();
    // Under the name of an approver it is an agent all the same.
    let options = ["--allow-respond", "--requested-by", "ada"];
    let mut client = Client::start(&place, Era::Stateless, &options);
    for id in asked_of {
        let answer = json!({ "decision_id": id, "option": "yes" });
        let error = client.refused("agent_excluded", "decision_respond", &answer);
        assert_eq!(error["current"]["approvals"], json!([]), "{error}");
    }
    client.end();
    place.verified();
}

#[test]
fn a_claimed_name_approves_what_a_client_asks_only_where_the_policy_takes_claims() {
    for (authentication, exit) in [("os-user", 5), ("claimed", 0)] {
        let place = Place::new();
        configure(&format!("[hold]\nauthentication = {authentication:?}\n"));
        set_policy(&place, &["approvers=ada", &format!("authentication={authentication}")]);
        let options = ["--allow-respond", "--requested-by", "worker"];
        let mut client = Client::start(&place, Era::Stateless, &options);
        let (_, id) = asked(&mut client, &json!({ "quorum": 1, "approvers": ["ada"] }));
        let answer = json!({ "decision_id": id, "option": "yes" });
        client.refused("agent_excluded", "decision_respond", &answer);
        let claim = ["decision", "respond", &id, "--option", "yes", "--as", "ada", "--json"];
        assert_eq!(status(&place.holdpoint(&claim)), exit, "{authentication}");
        let shown = client.done("decision_show", &json!({ "decision_id": id }));
        assert_eq!(shown["decision"]["approved"], exit == 0, "{shown:#}");
        if exit == 0 {
            assert_eq!(shown["decision"]["authenticated_by"], "none", "and is shown as one");
        }
        client.end();
        place.verified();
    }
}

#[test]
fn a_repeated_call_with_its_key_asks_nobody_twice() {
    let place = Place::new();
    let mut client = Client::start(&place, Era::Stateless, &[]);
    let key = json!({ "idempotency_key": "k", "issue_id": "web-1" });
    let (first, id) = asked(&mut client, &key);
    let (second, again) = asked(&mut client, &key);
    assert_eq!((&first["replayed"], &second["replayed"]), (&false.into(), &true.into()));
    assert_eq!(id, again);
    let other = json!({ "prompt": "Another?", "idempotency_key": "k", "issue_id": "web-1" });
    client.refused("idempotency_conflict", "decision_create", &other);
    assert_eq!(client.done("decision_list", &json!({}))["total"], 1);
}

#[test]
fn lists_and_queries_are_read_page_by_page_and_nothing_is_left_out() {
    let place = Place::new();
    let mut client = Client::start(&place, Era::Stateless, &[]);
    for urgency in ["low", "high", "medium", "high", "low"] {
        asked(&mut client, &json!({ "urgency": urgency, "context": "c".repeat(60_000) }));
    }
    let mut urgencies = Vec::new();
    let mut after = Value::Null;
    loop {
        let page = client.done("decision_list", &json!({ "limit": 2, "after": after }));
        assert_eq!(page["total"], 5);
        let decisions = page["decisions"].as_array().unwrap();
        urgencies.extend(decisions.iter().map(|one| one["urgency"].as_str().unwrap().to_string()));
        after = page["next_after"].clone();
        if after.is_null() {
            break;
        }
    }
    assert_eq!(urgencies, ["high", "high", "medium", "low", "low"]);
    let whole = client.done("decision_list", &json!({}));
    assert!(whole["decisions"].as_array().unwrap().len() == 4 && whole["next_after"].is_string());
    let (mut sequences, mut from) = (Vec::new(), Value::Null);
    loop {
        let query = json!({ "kind": "decision_point.created", "limit": 2, "from": from });
        let page = client.done("audit_query", &query);
        let records = page["records"].as_array().unwrap();
        sequences.extend(records.iter().map(|record| record["sequence"].as_u64().unwrap()));
        from = page["next_from"].clone();
        if from.is_null() {
            break;
        }
    }
    assert!(sequences.len() == 5 && sequences.is_sorted(), "{sequences:?}");
}

#[test]
fn arguments_that_no_tool_takes_are_refused_and_nothing_is_recorded() {
    let place = Place::new();
    let mut client = Client::start(&place, Era::Legacy("2025-06-18"), &["--allow-respond"]);
    let (_, id) = asked(&mut client, &json!({}));
    let before = place.holdpoint(&["log", "--json"]).stdout;
    let same = json!({ "id": "a", "label": "A" });
    let bad = [
        ("decision_create", "bad_arguments", json!({})),
        ("decision_create", "bad_arguments", json!({ "prompt": 1 })),
        ("decision_create", "bad_arguments", json!({ "prompt": "?", "colour": "red" })),
        ("decision_create", "bad_arguments", json!({ "prompt": "?", "timeout_seconds": -1 })),
        ("decision_create", "bad_arguments", json!({ "prompt": "?", "valid_for_seconds": 60 })),
        ("decision_create", "bad_arguments", json!({ "prompt": "?", "options": [{ "id": "a" }] })),
        ("decision_create", "bad_timeout", json!({ "prompt": "?", "timeout_seconds": u64::MAX })),
        ("decision_create", "bad_timeout", json!({ "prompt": "?", "timeout_seconds": 0 })),
        ("decision_create", "duplicate_option", json!({ "prompt": "?", "options": [same, same] })),
        ("decision_create", "bad_default", json!({ "prompt": "?", "default_option": "z" })),
        ("decision_create", "missing_text", json!({ "prompt": "\u{200b}" })),
        ("decision_create", "too_long", json!({ "prompt": "x".repeat(4097) })),
        ("decision_create", "bad_policy", json!({ "prompt": "?", "options": [same], "quorum": 0 })),
        ("decision_list", "bad_arguments", json!({ "limit": 0 })),
        ("decision_list", "bad_arguments", json!({ "state": "asleep" })),
        ("decision_show", "bad_arguments", json!({})),
        ("decision_show", "not_found", json!({ "decision_id": "" })),
        ("decision_wait", "bad_arguments", json!({ "decision_id": id, "timeout_seconds": 46 })),
        ("decision_refine", "not_refining", json!({ "decision_id": id, "prompt": "!" })),
        ("decision_respond", "bad_arguments", json!({ "decision_id": id })),
        (
            "decision_respond",
            "bad_arguments",
            json!({ "decision_id": id, "text": "a", "accept": true }),
        ),
        ("decision_respond", "bad_option", json!({ "decision_id": id, "option": "maybe" })),
        ("decision_respond", "nothing_to_accept", json!({ "decision_id": id, "accept": true })),
        ("audit_query", "bad_arguments", json!({ "limit": 201 })),
        ("audit_verify", "bad_arguments", json!({ "deep": true })),
    ];
    for (tool, code, arguments) in bad {
        client.refused(code, tool, &arguments);
    }
    client.end();
    assert_eq!(text(&place.holdpoint(&["log", "--json"]).stdout), text(&before));
    let mut other = Client::start(&place, Era::Stateless, &["--requested-by", "somebody-else"]);
    other.refused("not_requester", "decision_cancel", &json!({ "decision_id": id }));
    assert_eq!(
        other.done("decision_show", &json!({ "decision_id": id }))["decision"]["state"],
        "pending"
    );
}

#[test]
fn what_is_no_message_is_passed_over_and_the_server_goes_on() {
    for era in ERAS {
        let place = Place::with_log();
        let before = contents(&place.log);
        let mut client = Client::silent(&place, era, &[]);
        client.raw(b"no JSON\n\n{\"jsonrpc\":\"2.0\"\n\xff\xfe\n");
        client.greet();
        client.raw(b"[[[[\n\"text\"\n{}\n[]\n");
        client.raw(&[vec![b'x'; 5 << 20], b"\n".to_vec()].concat());
        assert_eq!(client.tools().len(), TOOLS.len());
        let unknown = client.request("tools/call", json!({ "name": "rm", "arguments": {} }));
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        for params in
            [json!({}), json!({ "name": 7 }), json!({ "name": "decision_list", "arguments": [] })]
        {
            let answer = client.request("tools/call", params);
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
        assert!(client.request("tools/destroy", json!({}))["error"].is_object());
        // An id that is used twice is answered, and nothing breaks.
        for _ in 0..2 {
            client.last_id_again();
            assert_eq!(client.done("decision_list", &json!({}))["total"], 0);
        }
        client.end();
        assert_eq!(contents(&place.log), before);
    }
}

#[test]
fn a_log_that_does_not_verify_is_told_and_the_server_goes_on() {
    let place = Place::new();
    let mut client = Client::start(&place, Era::Stateless, &[]);
    let (_, id) = asked(&mut client, &json!({ "context": "the words that are changed" }));
    asked(&mut client, &json!({}));
    let segment = contents(&place.log)
        .into_keys()
        .find(|path| path.extension().is_some_and(|end| end == "seg"));
    let segment = segment.unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes.windows(9).position(|found| found == b"the words").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    for (tool, arguments) in [
        ("decision_list", json!({})),
        ("decision_show", json!({ "decision_id": id })),
        ("decision_wait", json!({ "decision_id": id, "timeout_seconds": 0 })),
        ("decision_create", json!({ "prompt": "?" })),
        ("decision_cancel", json!({ "decision_id": id })),
    ] {
        client.refused("damaged", tool, &arguments);
    }
    assert_eq!(client.done("audit_verify", &json!({}))["verdict"], "corrupt");
    assert_eq!(client.done("audit_query", &json!({}))["verdict"], "corrupt");
    bytes[at] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    assert_eq!(client.done("decision_list", &json!({}))["total"], 2);
}

#[test]
fn the_end_of_stdin_is_the_end_also_while_a_wait_is_pending() {
    let place = Place::new();
    // Nothing was said at all.
    Client::silent(&place, Era::Stateless, &[]).end();
    let mut client = Client::start(&place, Era::Stateless, &[]);
    let (_, id) = asked(&mut client, &json!({}));
    let wait = json!({ "decision_id": id, "timeout_seconds": 45 });
    client.send("tools/call", json!({ "name": "decision_wait", "arguments": wait }));
    client.end();
    // What was asked for before the end is done.
    let mut client = Client::start(&place, Era::Stateless, &[]);
    let more = json!({ "prompt": "Last?" });
    client.send("tools/call", json!({ "name": "decision_create", "arguments": more }));
    client.end();
    assert_eq!(
        json(&place.holdpoint(&["decision", "list", "--json"])).as_array().unwrap().len(),
        2
    );
    place.verified();
}

#[test]
fn a_real_client_lists_and_calls_the_tools_in_both_eras() {
    let Some(python) = python() else {
        return skip("a real MCP client: no python3 here has the package mcp, 2.3 or newer");
    };
    for (mode, protocol) in
        [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28"), ("auto", "2026-07-28")]
    {
        let place = Place::new();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp_client/client.py");
        let output = Command::new(&python)
            .args([script, mode, env!("CARGO_BIN_EXE_holdpoint")])
            .arg(&place.log)
            .env_remove("HOLDPOINT_LOG")
            .output()
            .unwrap();
        assert!(output.status.success(), "{mode}: {}", text(&output.stderr));
        let found = json(&output);
        assert_eq!(
            (&found["protocol"], &found["tools"]),
            (&protocol.into(), &json!(TOOLS)),
            "{mode}"
        );
        let answers: BTreeMap<String, Value> =
            serde_json::from_value(found["answers"].clone()).unwrap();
        assert_eq!(answers.len(), TOOLS.len());
        for (tool, answer) in answers {
            assert_eq!(answer["is_error"], tool == "decision_refine", "{tool}: {answer:#}");
        }
        place.verified();
    }
}

/// A python that has the client's library: `HOLDPOINT_PYTHON`, or `python3`.
fn python() -> Option<String> {
    let named = std::env::var("HOLDPOINT_PYTHON").unwrap_or_else(|_| "python3".into());
    let probe = ["-c", "from mcp.client import Client"];
    let mut command = Command::new(&named);
    let found = command.args(probe).stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success()).then_some(named)
}

#[test]
fn the_document_names_every_tool_and_what_it_writes_and_its_configuration_is_json() {
    let rows = DOCUMENT.lines().skip_while(|line| !line.starts_with("| tool ")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let mut writes: BTreeMap<String, bool> = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        writes.insert(cells[1].trim_matches('`').to_string(), cells[3] != "nothing");
    }
    let place = Place::new();
    let mut client = Client::start(&place, Era::Stateless, &["--allow-respond"]);
    let tools = client.tools().into_iter();
    let offered = tools.map(|tool| (name_of(&tool), tool["annotations"]["readOnlyHint"] == false));
    assert_eq!(writes, offered.collect());
    let mut blocks = DOCUMENT.split("```json\n").map(|rest| rest.split("```").next().unwrap());
    let block = blocks.find(|block| block.contains("mcpServers")).unwrap();
    let configuration: Value = serde_json::from_str(block).unwrap();
    let server = &configuration["mcpServers"]["holdpoint"];
    assert_eq!(server["args"].as_array().unwrap().last().unwrap(), "mcp");
}
