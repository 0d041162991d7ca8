//! What the conformance documents say of the sources of the rules: what they are made of, and what
//! they never name.

use std::fs;
use std::path::{Path, PathBuf};

/// What the documents forbid, and how a source of Rust would name it.
const FORBIDDEN: [(&str, &[&str]); 8] = [
    ("import os", &["std::fs", "std::env", "std::os", "libc", "rustix", "nix::"]),
    ("import subprocess", &["std::process", "Command::new"]),
    ("import socket", &["std::net", "TcpStream", "UdpSocket", "UnixStream"]),
    ("import asyncio", &["tokio", "async_std", "smol::", "futures::"]),
    ("import playwright", &["playwright"]),
    ("import selenium", &["selenium", "webdriver"]),
    ("async def, await", &["async fn", "async move", "async {", ".await;", ".await?"]),
    ("a clock", &["SystemTime", "Instant::now", "std::time"]),
];

fn rules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("engine/domain/src")
}

/// Every source below a folder, without its comments.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            found.push((path, lines.collect::<Vec<_>>().join("\n")));
        }
    }
    found
}

#[test]
fn the_rules_name_no_system_process_network_runtime_browser_or_clock() {
    let sources = sources(&rules());
    assert!(sources.len() > 50);
    for (rule, names) in FORBIDDEN {
        for (path, text) in &sources {
            let named =
                names.iter().find(|name| text.to_lowercase().contains(&name.to_lowercase()));
            assert!(named.is_none(), "{rule}: {}: {named:?}", path.display());
        }
    }
    let root = fs::read_to_string(rules().join("lib.rs")).unwrap();
    assert!(root.contains("no_std"), "the rules are no_std");
}

#[test]
fn each_system_is_one_folder_with_the_same_files() {
    for system in ["sandbox_fault", "evidence_capture", "human_decision", "decision_point"] {
        for part in ["types", "command", "event", "rules"] {
            assert!(rules().join(format!("{system}/{part}.rs")).is_file(), "{system}/{part}");
        }
    }
    for name in ["sandbox", "sandbox_types.rs", "observation_engine.rs", "decision_engine.rs"] {
        assert!(!rules().join(name).exists(), "{name}");
    }
}

/// The functions of the documents whose signatures are others here, and by what.
#[test]
fn functions_whose_signatures_depart_take_what_the_documents_say_they_take() {
    let text: String = sources(&rules()).into_iter().map(|(_, text)| text + "\n").collect();
    let signatures: [(&str, &[&str]); 5] = [
        ("capture_evidence", &["OfferedEvidence", "timestamp", "ChainHead", "entropy"]),
        ("check_stop", &["StopFacts"]),
        ("create_request", &["EvidenceSummary", "HumanDecisionTimeout", "entropy"]),
        ("apply_decision", &["retry_count", "max_retries"]),
        ("capture_place", &["LoopStep"]),
    ];
    for (name, taken) in signatures {
        let (_, rest) = text.split_once(&format!("fn {name}(")).unwrap_or_else(|| panic!("{name}"));
        let (parameters, _) = rest.split_once('{').unwrap();
        for part in taken {
            assert!(parameters.contains(part), "{name}: {part}: {parameters}");
        }
    }
    assert!(!text.contains("fn validate_chain("), "there is no second walk of a chain");
    for place in ["pre_dispatch", "post_dispatch", "pre_evaluate", "post_evaluate", "halt_entry"] {
        assert!(!text.contains(&format!("fn capture_{place}(")), "{place}");
    }
}
