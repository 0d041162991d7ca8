//! An agent offers options that are explained in Markdown.
//!
//! `cargo run -p holdpoint-engine --example decision_rich_options [DIRECTORY]`

use holdpoint_engine::shell::DecisionPointRecord;
use holdpoint_engine::{Engine, Origin};
use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let anywhere = || std::env::temp_dir().join(format!("holdpoint-rich-{}", std::process::id()));
    let directory = std::env::args_os().nth(1).map_or_else(anywhere, PathBuf::from);
    println!("{}", ask(&directory)?);
    Ok(())
}

/// What a person reads before answering.
fn ask(directory: &Path) -> Result<String, Box<dyn Error>> {
    let engine = Engine::open(directory)?;
    let record = DecisionPointRecord {
        issue_id: "bd-def456".to_string(),
        prompt: "Which caching strategy should we implement?".to_string(),
        options: DecisionPointRecord::parse_options(
            r#"[
                {
                    "id": "redis",
                    "short": "Redis",
                    "label": "Use Redis for distributed caching",
                    "description": "Pros:\n- Distributed\n- Persistent\n\nCons:\n- Infrastructure"
                },
                {
                    "id": "memory",
                    "short": "In-memory",
                    "label": "Use in-memory LRU cache",
                    "description": "Pros:\n- Simple\n- No dependencies\n\nCons:\n- Not shared"
                }
            ]"#,
        )?,
        max_iterations: 3,
        requested_by: "agent-session-xyz".to_string(),
        ..DecisionPointRecord::default()
    };
    let agent = Origin::agent("agent-session-xyz");
    engine.create_decision_point(&agent, (), &record)?.accepted()?;
    let recorded = engine.get_decision_point("bd-def456")?.ok_or("it was just created")?;
    let mut text = recorded.prompt;
    for option in &recorded.options {
        let more = option.description.as_deref().unwrap_or_default();
        text.push_str(&format!("\n\n{} ({})\n{more}", &*option.label, &*option.id));
    }
    Ok(text)
}
