//! A person answers, and the agent goes on with the answer.
//!
//! `cargo run -p holdpoint-engine --example decision_handling_response [DIRECTORY]`

use holdpoint_engine::shell::DecisionPointRecord;
use holdpoint_engine::{Engine, Origin};
use std::error::Error;
use std::path::PathBuf;

const ISSUE: &str = "bd-abc123";

fn main() -> Result<(), Box<dyn Error>> {
    let anywhere = || std::env::temp_dir().join(format!("holdpoint-handle-{}", std::process::id()));
    let directory = std::env::args_os().nth(1).map_or_else(anywhere, PathBuf::from);
    let engine = Engine::open(&directory)?;
    ask(&engine)?;
    println!("{}", go_on(&engine)?);
    choose(&engine, "redis")?;
    println!("{}", go_on(&engine)?);
    Ok(())
}

/// The agent asks.
fn ask(engine: &Engine) -> Result<(), Box<dyn Error>> {
    let record = DecisionPointRecord {
        issue_id: ISSUE.to_string(),
        prompt: "Which caching strategy?".to_string(),
        options: DecisionPointRecord::parse_options(
            r#"[
                {"id": "redis", "short": "Redis", "label": "Use Redis for distributed caching"},
                {"id": "memory", "short": "In-memory", "label": "Use in-memory LRU cache"}
            ]"#,
        )?,
        requested_by: "agent-session-xyz".to_string(),
        ..DecisionPointRecord::default()
    };
    let agent = Origin::agent("agent-session-xyz");
    engine.create_decision_point(&agent, (), &record)?.accepted()?;
    Ok(())
}

/// A person reads what is asked, and chooses. The first answer counts.
fn choose(engine: &Engine, option: &str) -> Result<(), Box<dyn Error>> {
    let mut record = engine.get_decision_point(ISSUE)?.ok_or("nothing is asked")?;
    record.selected_option = Some(option.to_string());
    record.responded_by = Some("ada".to_string());
    engine.update_decision_point(&Origin::human("ada"), (), &record)?.accepted()?;
    Ok(())
}

/// After the person answered, the agent goes on.
fn go_on(engine: &Engine) -> Result<String, Box<dyn Error>> {
    let record = engine.get_decision_point(ISSUE)?.ok_or("nothing is asked")?;
    Ok(match (record.selected_option.as_deref(), record.response_text) {
        (Some("redis"), _) => "implement Redis caching".to_string(),
        (Some("memory"), _) => "implement in-memory caching".to_string(),
        (Some(other), _) => return Err(format!("no option is called {other}").into()),
        (None, Some(text)) => format!("do as it was said: {text}"),
        (None, None) => "wait".to_string(),
    })
}
