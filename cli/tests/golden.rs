//! Screens as they were, in `tests/golden/screens`: a change to one is seen where it is made.
//! `HOLDPOINT_WRITE_GOLDEN=1` writes what is not there yet.

use crate::agents::hook::sample;
use crate::log::agent_sessions::asks;
use crate::ui::screen::width;
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::decision_point::{
    ClaimedStatus, ConsumeApproval, DecisionPointCommand, OutcomeClaim, ReportOutcome,
    RespondToDecisionPoint, Response,
};
use holdpoint_domain::{Command, Envelope};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::BootId;
use holdpoint_replay::{
    Filter, ReadOptions, Retry, Run, RunLookup, Session, begun, find_sessions, retries_of, run_of,
    runs_of,
};
use holdpoint_testing::hand_made::HandMadeLog;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// How wide the terminals are.
pub(crate) const COLUMNS: [usize; 4] = [20, 40, 80, 120];

/// Compares a screen with the one that it was, and that no line is wider than the terminal.
pub(crate) fn compare(name: &str, columns: usize, lines: &[String]) {
    for line in lines {
        assert!(width(line) <= columns, "{name}: {} columns: {line}", width(line));
    }
    compare_file(&format!("{name}-{columns}.txt"), &format!("{}\n", lines.join("\n")));
}

/// Compares a text with the one that is kept under this name.
pub(crate) fn compare_file(name: &str, shown: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/screens");
    let file = directory.join(name);
    if !file.exists() && std::env::var_os("HOLDPOINT_WRITE_GOLDEN").is_some() {
        fs::create_dir_all(&directory).unwrap();
        fs::write(&file, shown).unwrap();
    }
    let was = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(shown, was, "{name}; HOLDPOINT_WRITE_GOLDEN=1 adds what is new");
}

/// A log of runs that always come out the same, and a moment at which somebody looks.
pub(crate) struct Sample {
    directory: TempDir,
    ids: Vec<String>,
    pub(crate) now: Timestamp,
}

impl Sample {
    pub(crate) fn new() -> Self {
        let mut log = HandMadeLog::new();
        let ids = vec![
            log.run_of("make deploy ENVIRONMENT=production REGION=eu-central-1 TIMEOUT=600"),
            log.crash(),
            log.run_of("echo \u{6587}\u{5b57}\u{5316}\u{3051} \u{30c6}\u{30b9}\u{30c8}"),
            log.awaited("sleep 100000"),
        ];
        Self::of(log, ids)
    }

    /// A run that failed and was ended after a RETRY, another one, and one that was begun again
    /// because of the RETRY.
    pub(crate) fn begun_again() -> Self {
        let mut log = HandMadeLog::new();
        let (first, retry) = log.retry_of_halted("make deploy REGION=eu-central-1");
        let other = log.run_of("make test");
        let again = log.run_caused_by("make deploy REGION=eu-central-1", retry);
        Self::of(log, vec![first, other, again])
    }

    /// A run, and behind it a session that asked about four tools: one ran and is told of, one
    /// ran and is not, one was denied, and about one nobody has answered.
    pub(crate) fn guarded() -> Self {
        let mut log = HandMadeLog::new();
        let ids = vec![log.run_of("make test")];
        for (command, answer, is_told) in [
            ("make build", Some("approve"), true),
            ("make deploy REGION=eu-central-1", Some("approve"), false),
            ("rm -rf /srv/shop", Some("deny"), false),
            ("git push --force", None, false),
        ] {
            guarded_call(&mut log, command, answer, is_told);
        }
        Self::of(log, ids)
    }

    /// Every session, as a list has them.
    pub(crate) fn sessions(&self) -> Vec<Session> {
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let found =
            find_sessions(&self.storage(), &Filter::default(), (9, 9), &asks, options).unwrap();
        assert!(found.looked_back_to.is_none() && found.searched.is_sound());
        found.sessions
    }

    fn of(log: HandMadeLog, ids: Vec<String>) -> Self {
        let directory = TempDir::new().unwrap();
        log.write(directory.path());
        let minutes_later = log.chain.time + 7 * 60 * 1_000_000_000;
        Self { directory, ids, now: Timestamp::from_nanoseconds(minutes_later) }
    }

    pub(crate) fn storage(&self) -> DirectoryStorage {
        DirectoryStorage::new(self.directory.path())
    }

    /// Every run, the newest first, as a list has them.
    pub(crate) fn listed(&self) -> Vec<Run> {
        let (storage, options) = (self.storage(), ReadOptions::new(BootId::UNKNOWN, &|| Ok(false)));
        let (found, searched) = begun(&storage, &Filter::default(), 9, options).unwrap();
        let listed = runs_of(&storage, &found, options).unwrap();
        assert!(searched.is_sound() && listed.searched.is_sound() && listed.uncounted.is_empty());
        assert_eq!(listed.runs.len(), self.ids.len());
        listed.runs
    }

    /// The RETRY with which each says that it began, by its loop.
    pub(crate) fn retries(&self) -> BTreeMap<String, Retry> {
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let (retries, searched) = retries_of(&self.storage(), &self.listed(), options).unwrap();
        assert!(searched.is_none_or(|searched| searched.is_sound()));
        retries
    }

    /// Every run, the oldest first, with its output.
    pub(crate) fn whole(&self) -> Vec<Run> {
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let run = |id: &String| match run_of(&self.storage(), id, options).unwrap() {
            (RunLookup::Run(run), _) => *run,
            _ => panic!("no run {id}"),
        };
        self.ids.iter().map(run).collect()
    }
}

/// A tool that a session asks about, and what becomes of it.
fn guarded_call(log: &mut HandMadeLog, command: &str, answer: Option<&str>, is_told: bool) {
    let agent = principal(Actor::Agent, "claude-code:8f1c9a7e-52d0", Authentication::None);
    let ada = principal(Actor::Human, "ada", Authentication::Terminal);
    let mut submit = |by: &Principal, command: Command| {
        log.command_in(&command, |envelope| Envelope {
            actor: by.actor(),
            correlation: agent.id.to_string(),
            ..envelope
        });
    };
    let entropy =
        Entropy::from_bytes(sha256(command.as_bytes()).as_bytes()[..16].try_into().unwrap());
    let decision_id = format!("DP-{entropy}");
    let (asked, binding) = sample(entropy, agent.clone(), command);
    submit(&agent, asked);
    let Some(answer) = answer else { return };
    let answered = RespondToDecisionPoint {
        decision_id: decision_id.clone(),
        entropy,
        by: ada.clone(),
        response: Response::Option(answer.into()),
        comment: None,
    };
    submit(&ada, Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(answered)));
    if answer == "approve" {
        let (decision_id, by) = (decision_id.clone(), agent.clone());
        let used =
            DecisionPointCommand::ConsumeApproval(ConsumeApproval { decision_id, by, binding });
        submit(&agent, Command::DecisionPoint(used));
    }
    if is_told {
        let claim = OutcomeClaim {
            tool_use_id: "toolu_01".into(),
            status: ClaimedStatus::Succeeded,
            response_bytes: 0,
            response_sha256: sha256(b""),
            head: "".into(),
            tail: "".into(),
        };
        let (by, claim) = (agent.clone(), Box::new(claim));
        let told = DecisionPointCommand::ReportOutcome(ReportOutcome { decision_id, by, claim });
        submit(&agent, Command::DecisionPoint(told));
    }
}

fn principal(kind: Actor, id: &str, authenticated_by: Authentication) -> Principal {
    let means = match kind {
        Actor::Agent => "hook run by uid 1000, in /srv/shop (0)",
        _ => "uid 1000",
    };
    Principal { kind, id: id.into(), authenticated_by, means: means.into() }
}
