//! Whose hook it is, what an approval is bound to for it, and within what time it answers.

use crate::hook::{ask, call, decisions, denied, id_in, pre, respond, run, start, verdict};
use crate::program::{Place, contents, json, status, text};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Write, pipe};
use std::process::Stdio;
use std::time::{Duration, Instant};

const DOCUMENT: &str = include_str!("../../docs/agents.md");

/// What each host was seen to send before it runs a command, and the name of its session.
fn payloads() -> [(Value, &'static str); 8] {
    let input = json!({ "command": "make deploy" });
    let of = |more: Value| {
        let mut payload = json!({ "cwd": "/", "tool_name": "Bash", "tool_input": input });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    };
    let camel = |more: Value| {
        let mut payload = json!({ "cwd": "/", "toolName": "bash" });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    };
    [
        (
            of(json!({ "session_id": "c", "transcript_path": "/t", "prompt_id": "p",
                "permission_mode": "default", "effort": { "level": "medium" },
                "hook_event_name": "PreToolUse", "tool_use_id": "toolu_1" })),
            "claude-code:c",
        ),
        (
            of(json!({ "session_id": "x", "turn_id": "t", "transcript_path": "/t", "model": "m",
                "permission_mode": "default", "hook_event_name": "PreToolUse",
                "tool_use_id": "call_1" })),
            "codex:x",
        ),
        (
            of(json!({ "session_id": "g", "transcript_path": "/t", "timestamp": "2026-11-28",
                "hook_event_name": "BeforeTool", "tool_name": "run_shell_command" })),
            "gemini-cli:g",
        ),
        (
            of(json!({ "session_id": "p", "timestamp": "2026-11-28",
                "hook_event_name": "PreToolUse" })),
            "copilot-cli:p",
        ),
        (camel(json!({ "sessionId": "q", "timestamp": 1, "toolArgs": input })), "copilot-cli:q"),
        (
            camel(json!({ "sessionId": "r", "timestamp": 1, "toolArgs": input.to_string() })),
            "copilot-cli:r",
        ),
        (
            of(json!({ "conversation_id": "u", "generation_id": "n", "model": "m",
                "hook_event_name": "preToolUse", "tool_use_id": "t" })),
            "cursor:u",
        ),
        (
            of(json!({ "session_id": "ses_1", "hook_event_name": "PreToolUse",
                "tool_name": "bash", "tool_use_id": "call_1" })),
            "opencode:ses_1",
        ),
    ]
}

#[test]
fn each_host_is_known_by_what_it_sends_and_asks_under_its_own_name() {
    let place = Place::with_log();
    for (payload, name) in payloads() {
        let output = run(&place, &["pre-tool-use"], &payload);
        let complaint = text(&output.stderr);
        assert_eq!(status(&output), 2, "{name}: {complaint}");
        let id = id_in(&complaint);
        let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
        assert_eq!(shown["requested_by"], name, "{complaint}");
        match name.starts_with("copilot-cli:") {
            false => assert!(output.stdout.is_empty(), "{name}: {}", text(&output.stdout)),
            // It shows no stderr, and beside exit 2 it reads the flat form alone.
            true => {
                assert_eq!(json(&output)["permissionDecision"], "deny");
                let reason = json(&output)["permissionDecisionReason"].clone();
                assert!(reason.as_str().unwrap().contains(&id), "{reason}");
            }
        }
        respond(&place, &id, "approve");
        let allowed = run(&place, &["pre-tool-use"], &payload);
        assert_eq!(status(&allowed), 0, "{name}: {}", text(&allowed.stderr));
        let again = run(&place, &["pre-tool-use"], &payload);
        assert_ne!(id_in(&text(&again.stderr)), id, "{name}: spent once");
    }
    place.verified();
}

#[test]
fn a_host_that_is_not_recognised_or_contradicted_is_denied_by_name_and_leaves_nothing() {
    let place = Place::with_log();
    let before = contents(&place.log);
    let input = json!({ "command": "ls" });
    let of = |more: Value| {
        let mut payload = json!({ "session_id": "s", "cwd": "/", "tool_name": "Bash",
            "tool_input": input });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    };
    let claude = of(json!({ "permission_mode": "default", "hook_event_name": "PreToolUse" }));
    let table: [(Value, &[&str], &str); 10] = [
        (of(json!({ "event": "PreToolUse" })), &[], "goose"),
        (of(json!({ "event": "PreToolUse" })), &["--host", "claude-code"], "goose"),
        (of(json!({ "agent_action_name": "pre_run_command" })), &[], "Windsurf"),
        (of(json!({ "hookEventName": "PreToolUse", "timestamp": "x" })), &[], "VS Code"),
        (of(json!({ "clineVersion": "1", "hookName": "PreToolUse" })), &[], "Cline"),
        (of(json!({ "hook_event_name": "PreToolUse" })), &[], "no host that is recognised"),
        (of(json!({ "hook_event_name": "preToolUse" })), &[], "no host that is recognised"),
        (claude.clone(), &["--host", "codex"], "that of Claude Code, and --host says codex"),
        (of(json!({ "turn_id": "t", "conversation_id": "c" })), &[], "several hosts"),
        (of(json!({ "hook_event_name": "PreToolUse" })), &["--host", "gemini-cli"], "BeforeTool"),
    ];
    for (payload, options, words) in table {
        denied(&place, options, &payload, words);
    }
    let mut ran = claude;
    ran["hook_event_name"] = "PostToolUse".into();
    let output = run(&place, &["post-tool-use", "--host", "codex"], &ran);
    assert_eq!(status(&output), 1, "{}", text(&output.stderr));
    assert!(before == contents(&place.log), "nothing is recorded under another's name");
}

#[test]
fn a_stated_host_counts_where_nothing_proves_one() {
    let place = Place::with_log();
    let mut payload = call("s", "ls");
    payload.as_object_mut().unwrap().remove("permission_mode");
    for host in ["claude-code", "codex", "copilot-cli", "cursor", "opencode"] {
        let output = run(&place, &["pre-tool-use", "--host", host], &payload);
        let id = id_in(&text(&output.stderr));
        let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
        assert_eq!(shown["requested_by"], format!("{host}:s"));
    }
}

#[test]
fn what_changes_nothing_of_the_effect_is_shown_and_not_bound() {
    let place = Place::with_log();
    let with = |tool: &str, more: Value| {
        let mut asked = call("s", "make deploy");
        asked["tool_name"] = tool.into();
        asked["tool_input"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        asked
    };
    let said = json!({ "description": "Deploys the shop", "timeout": 1000 });
    let id = ask(&place, &[], &with("Bash", said.clone()));
    let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
    let context = shown["context"].as_str().unwrap();
    assert!(context.contains("NOT BOUND") && context.contains("Deploys the shop"), "{context}");
    for other in [json!({}), json!({ "description": "Other words" }), json!({ "timeout": 9 })] {
        assert_eq!(ask(&place, &[], &with("Bash", other.clone())), id, "{other}");
    }
    for other in [json!({ "run_in_background": true }), json!({ "descriptions": "x" })] {
        assert_ne!(ask(&place, &[], &with("Bash", other.clone())), id, "{other}");
    }
    respond(&place, &id, "approve");
    let mut ran = with("Bash", json!({ "description": "Ran" }));
    assert_eq!(pre(&place, &[], &ran).0, "allow");
    ran["hook_event_name"] = "PostToolUse".into();
    ran["tool_response"] = "done".into();
    assert_eq!(status(&run(&place, &["post-tool-use"], &ran)), 0);
    let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
    assert_eq!(shown["claimed_outcome"]["status"], "SUCCEEDED");
    // A server's tool of a name that sounds the same is bound whole, and so is another host's.
    let of_server = ask(&place, &[], &with("mcp__x__Bash", said.clone()));
    assert_ne!(ask(&place, &[], &with("mcp__x__Bash", json!({}))), of_server);
    let codex = |more| {
        let mut asked = with("Bash", more);
        asked["turn_id"] = "t".into();
        asked
    };
    assert_ne!(ask(&place, &[], &codex(said)), ask(&place, &[], &codex(json!({}))));
}

#[test]
fn hooks_of_one_call_in_other_words_ask_once() {
    let place = Place::with_log();
    let hooks: Vec<_> = (0..5)
        .map(|number| {
            let mut asked = call("s", "make deploy");
            asked["tool_input"]["description"] = format!("words {number}").into();
            start(&place, &["pre-tool-use"], &asked.to_string())
        })
        .collect();
    for hook in hooks {
        assert_eq!(verdict(&hook.wait_with_output().unwrap()).0, "deny");
    }
    assert_eq!(decisions(&place).len(), 1);
}

#[test]
fn the_table_of_what_is_not_bound_is_that_of_the_document() {
    let rows = [
        ("Claude Code", "`Bash`", "`description`, `timeout`"),
        ("Claude Code", "`Agent`, `Task`", "`description`"),
        ("Gemini CLI", "`run_shell_command`", "`description`"),
        ("Gemini CLI", "`replace`", "`instruction`"),
        ("Copilot CLI", "`Bash`, `bash`", "`description`, `initial_wait`, `timeout`"),
        ("Copilot CLI", "`task`", "`description`"),
        ("OpenCode", "`bash`", "`description`, `timeout`"),
        ("OpenCode", "`task`", "`description`"),
        ("OpenCode", "`webfetch`", "`timeout`"),
    ];
    for (host, tools, fields) in rows {
        let row = format!("| {host} | {tools} | {fields} |");
        assert!(DOCUMENT.contains(&row), "{row}");
    }
}

/// A hook with this on its stdin, which stays open.
fn kept_open(place: &Place, options: &[&str], input: &str) -> (std::process::Output, Duration) {
    let begun = Instant::now();
    let mut command = place.command(&[&["hook", "pre-tool-use"], options].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    (output, begun.elapsed())
}

#[test]
fn at_the_deadline_a_call_is_denied_whatever_the_hook_waits_for() {
    let place = Place::with_log();
    let (output, took) = kept_open(&place, &["--deadline", "700ms"], "{");
    let (decision, reason) = verdict(&output);
    assert!(decision == "deny" && reason.contains("no answer within 700ms"), "{reason}");
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn the_denial_at_the_deadline_names_the_question() {
    let place = Place::with_log();
    let options = ["pre-tool-use", "--wait", "3s", "--deadline", "3s"];
    let waiting = start(&place, &options, &call("s", "make deploy").to_string());
    let (decision, reason) = verdict(&waiting.wait_with_output().unwrap());
    let asked = decisions(&place);
    assert_eq!((decision.as_str(), asked.len()), ("deny", 1), "{reason}");
    assert!(reason.contains(asked[0]["id"].as_str().unwrap()), "{reason}");
}

#[test]
fn a_call_whose_log_is_locked_is_denied_with_the_question_that_waits() {
    let place = Place::with_log();
    let id = ask(&place, &[], &call("s", "make deploy"));
    let lock = File::open(place.log.join("LOCK")).unwrap();
    lock.lock().unwrap();
    let reason = denied(&place, &["--deadline", "8s"], &call("s", "make deploy"), "locked");
    assert!(reason.contains(&id), "{reason}");
    drop(lock);
}

#[test]
fn an_allow_that_nobody_takes_becomes_a_denial_at_the_deadline() {
    let place = Place::with_log();
    let id = ask(&place, &[], &call("s", "make deploy"));
    respond(&place, &id, "approve");
    let (reader, writer) = pipe().unwrap();
    let mut full = writer.try_clone().unwrap();
    let filling = std::thread::spawn(move || full.write_all(&vec![b'x'; 1 << 20]));
    let mut command = place.command(&["hook", "pre-tool-use", "--deadline", "4s"]);
    command.stdin(Stdio::piped()).stdout(writer).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(command);
    let input = call("s", "make deploy").to_string();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 2, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(&id), "{}", text(&output.stderr));
    drop(reader);
    drop(filling.join());
}

#[test]
fn a_wait_above_the_deadline_is_denied_with_that_sentence_and_only_the_command_line_raises_it() {
    let place = Place::with_log();
    let words = "--wait 30s is longer than the deadline of 25s";
    denied(&place, &["--wait", "30s"], &call("s", "ls"), words);
    let config = place.directory.path().join("holdpoint.toml");
    for key in ["deadline", "hook_deadline"] {
        std::fs::write(&config, format!("[hook]\n{key} = \"60s\"\n")).unwrap();
        let output = run(&place, &["pre-tool-use", "--wait", "30s"], &call("s", "ls"));
        assert_eq!(status(&output), 2, "{}", text(&output.stderr));
    }
    std::fs::remove_file(&config).unwrap();
    let mut command = place.command(&["hook", "pre-tool-use", "--wait", "30s"]);
    command.env("HOLDPOINT_DEADLINE", "60s").env("HOLDPOINT_HOOK_DEADLINE", "60s");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.output().unwrap();
    assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    assert!(decisions(&place).is_empty());
}
