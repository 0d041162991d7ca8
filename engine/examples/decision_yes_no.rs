//! An agent asks for a yes or no before it goes on.
//!
//! `cargo run -p holdpoint-engine --example decision_yes_no [DIRECTORY]`

use holdpoint_engine::shell::DecisionPointRecord;
use holdpoint_engine::{Engine, Origin};
use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let anywhere = || std::env::temp_dir().join(format!("holdpoint-yes-no-{}", std::process::id()));
    let directory = std::env::args_os().nth(1).map_or_else(anywhere, PathBuf::from);
    println!("{}", ask(&directory)?);
    Ok(())
}

/// What waits for an answer, in words.
fn ask(directory: &Path) -> Result<String, Box<dyn Error>> {
    let engine = Engine::open(directory)?;
    let record = DecisionPointRecord {
        issue_id: "bd-abc123".to_string(),
        prompt: "Deploy to production?".to_string(),
        options: DecisionPointRecord::parse_options(
            r#"[
                {"id": "yes", "short": "Yes", "label": "Deploy now"},
                {"id": "no", "short": "No", "label": "Wait for review"}
            ]"#,
        )?,
        default_option: Some("no".to_string()),
        max_iterations: 1,
        requested_by: "agent-session-xyz".to_string(),
        ..DecisionPointRecord::default()
    };
    // A refusal by a rule is an answer; an error is the disk's, or that the issue has one already.
    let agent = Origin::agent("agent-session-xyz");
    engine.create_decision_point(&agent, (), &record)?.accepted()?;
    let waiting = engine.list_pending_decisions()?;
    let lines = waiting.iter().map(|record| format!("{}: {}", record.issue_id, record.prompt));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}
