//! `docs/approvals.md` is true: its commands really print what it shows, and its tables are
//! those of the code.

use crate::machine::take_claims;
use crate::program::{Place, json, text};
use crate::session::{Step, shell, steps};
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::decision_point::{
    DEFAULT_MAX_ITERATIONS, DecisionPointCommand, DecisionPointState, MAX_CONTEXT_BYTES,
    MAX_DESCRIPTION_BYTES, MAX_ITERATIONS, MAX_LABEL_BYTES, MAX_OPTIONS, MAX_PROMPT_BYTES,
    MAX_RESPONSE_BYTES, MAX_TIMEOUT_MS, OnTimeout, ResolutionKind, Response, Urgency,
};
use holdpoint_domain::world::REGISTRY;
use holdpoint_domain::{Command as Request, Refusal, decide};
use holdpoint_testing::story::Story;
use holdpoint_testing::story::points::{every_corner, option, person};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

const DOCUMENT: &str = include_str!("../../docs/approvals.md");
const REFUSALS: &str = include_str!("../../engine/domain/src/decision_point/refusal.rs");

/// What each step really prints.
fn really(place: &Place, steps: &[Step]) -> Vec<String> {
    const END: &str = "@end of step@";
    let commands: Vec<String> =
        steps.iter().map(|step| format!("{}\nprintf '%s\\n' '{END}'\n", step.command)).collect();
    let output = shell(place, &format!("exec 2>&1\n{}", commands.concat()));
    let printed = text(&output.stdout);
    let mut parts: Vec<String> = printed.split(&format!("{END}\n")).map(String::from).collect();
    assert_eq!(parts.pop().as_deref(), Some(""));
    parts
}

#[test]
fn the_story_is_what_really_happens() {
    let steps = steps(DOCUMENT);
    assert!(steps.len() > 15, "{}", steps.len());
    let place = Place::new();
    take_claims();
    let really = really(&place, &steps);
    assert_eq!(really.len(), steps.len());
    let user = text(&Command::new("id").arg("-un").output().unwrap().stdout);
    for (step, really) in steps.iter().zip(&really) {
        let (shown, found) =
            (masked(&step.shown, "ada"), masked(&without_root(really), user.trim()));
        assert_eq!(shown, found, "{}\nreally:\n{really}", step.command);
    }
    let verified = shell(&place, "holdpoint verify --json");
    assert_eq!(json(&verified)["verdict"], "intact");
}

/// Text without what is said where root asks: the document has an ordinary user.
fn without_root(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("asked as root "));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Text without what differs from run to run: the user, ids, digests, times, how much time is gone
/// or left, and how wide a table is.
fn masked(text: &str, user: &str) -> Vec<String> {
    text.lines().map(|line| masked_line(line, user)).collect()
}

fn masked_line(line: &str, user: &str) -> String {
    let words = line.split_whitespace();
    words.map(|word| masked_word(word, user)).collect::<Vec<_>>().join(" ")
}

fn masked_word(word: &str, user: &str) -> String {
    let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let masked = if bare == user {
        "USER".to_string()
    } else if bare.len() >= 20 && bare.ends_with('Z') && bare.contains('T') {
        "TIME".to_string()
    } else if is_length_of_time(bare) {
        "LENGTH".to_string()
    } else {
        without_hex(bare)
    };
    word.replacen(bare, &masked, 1)
}

/// `59m`, `3s`, `12ms`.
fn is_length_of_time(word: &str) -> bool {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < word.len() && ["s", "m", "h", "d", "ms", "us", "ns"].contains(&unit)
}

/// Runs of eight or more hexadecimal digits, and what follows `DP-`, stand for one another.
fn without_hex(word: &str) -> String {
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let mut found = String::new();
    for part in word.split_inclusive(|c| !is_hex(c)) {
        let digits = part.trim_end_matches(|c| !is_hex(c));
        let is_id = found.ends_with("DP-") && !digits.is_empty();
        found.push_str(if digits.len() >= 8 || is_id { "#" } else { digits });
        found.push_str(&part[digits.len()..]);
    }
    found
}

#[test]
fn masks_hide_what_differs_and_nothing_else() {
    let line = "DP-01ab  ada  2026-01-25T16:00:00.123Z, 59m left of 1h: redis (0123456789), 3";
    let masked = "DP-# USER TIME, LENGTH left of LENGTH: redis (#), 3";
    assert_eq!(masked_line(line, "ada"), masked);
}

/// The rows of the table below this header, cell by cell.
fn table(header: &str) -> Vec<Vec<&'static str>> {
    table_of(DOCUMENT, header)
}

fn table_of(document: &'static str, header: &str) -> Vec<Vec<&'static str>> {
    let from = document.lines().skip_while(|line| !line.starts_with(header)).skip(2);
    let rows = from.take_while(|line| line.starts_with('|'));
    let rows: Vec<Vec<&str>> =
        rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect();
    assert!(!rows.is_empty(), "there is no table {header}");
    rows
}

/// Everything in backticks.
fn codes(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Everything in backticks in a column.
fn column(header: &str, column: usize) -> Vec<&'static str> {
    table(header).iter().flat_map(|row| codes(row[column])).collect()
}

#[test]
fn every_closed_set_is_documented_whole() {
    let states = DecisionPointState::ALL.iter().map(|one| one.name());
    assert_eq!(column("| state |", 0), states.collect::<Vec<_>>());
    let kinds = ResolutionKind::ALL.iter().map(|one| one.name());
    assert_eq!(column("| resolution |", 0), kinds.collect::<Vec<_>>());
    let proofs = Authentication::ALL.iter().map(|one| one.name());
    assert_eq!(column("| proof |", 0), proofs.collect::<Vec<_>>());
    let keys = table("| key |");
    let values = OnTimeout::ALL.iter().map(|one| ("on_timeout", one.name()));
    for (key, value) in values.chain(Urgency::ALL.iter().map(|one| ("urgency", one.name()))) {
        let row = keys.iter().find(|row| codes(row[0]).contains(&key)).unwrap();
        assert!(codes(row[1]).contains(&value), "{key}: {value}");
    }
}

#[test]
fn every_event_is_documented_with_its_kind() {
    let documented: Vec<(String, &str)> =
        table("| kind |").iter().map(|row| (row[0].to_string(), codes(row[1])[0])).collect();
    let of_decisions = REGISTRY.iter().filter(|kind| kind.system == "decision_point");
    let found: Vec<(String, &str)> =
        of_decisions.map(|kind| (kind.kind.to_string(), kind.name)).collect();
    assert_eq!(documented, found);
}

/// The reason codes whose exit status is not 5. The conflicts of decision points are those of the
/// code.
fn exits() -> BTreeMap<&'static str, u8> {
    let (table, rest) = REFUSALS.split_once("\n}\n").unwrap();
    let (_, conflicts) = rest.split_once("fn is_conflict(&self)").unwrap();
    let (conflicts, _) = conflicts.split_once("\n    }\n").unwrap();
    let conflicts = conflicts.split("Self::").skip(1).map(|rest| rest.split(' ').next().unwrap());
    let mut exits: BTreeMap<&str, u8> = conflicts
        .map(|name| {
            let (_, line) = table.split_once(&format!("\n    {name} {{")).unwrap();
            (line.split('"').nth(1).unwrap(), 4)
        })
        .collect();
    exits.extend([("UNKNOWN_DECISION", 3), ("UNKNOWN_REQUEST", 3)]);
    let of_all = ["ALREADY_ANSWERED", "REQUEST_WITHDRAWN", "STALE_VERSION", "IDEMPOTENCY_CONFLICT"];
    exits.extend(of_all.map(|code| (code, 4)));
    exits
}

#[test]
fn every_refusal_is_documented_once_with_its_exit_code() {
    let rows = table_of(include_str!("../../docs/refusals.md"), "| reason code |");
    let documented: Vec<&str> = rows.iter().map(|row| codes(row[0])[0]).collect();
    let found: BTreeSet<&str> = Refusal::codes().into_iter().collect();
    assert_eq!(documented, found.into_iter().collect::<Vec<_>>(), "in this order");
    let exits = exits();
    assert_eq!(exits.len(), 10, "{exits:?}");
    for row in rows {
        let code = codes(row[0])[0];
        assert_eq!(row[1], exits.get(code).unwrap_or(&5).to_string(), "{code}");
        assert!(row[2..].iter().all(|cell| !cell.is_empty()), "{code}");
    }
}

#[test]
fn every_exit_code_is_documented() {
    const EXIT: &str = include_str!("../../cli/ui/exit.rs");
    let constants = EXIT.split("Self = Self(").skip(1);
    let numbers = constants.map(|rest| rest.split_once(')').unwrap().0);
    let found: Vec<&str> = numbers.filter(|number| number.parse::<u8>().is_ok()).collect();
    const CODES: &str = include_str!("../../docs/exit-codes.md");
    let rows = ["| code |", "| of a wait |"].map(|header| table_of(CODES, header)).concat();
    let documented: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(documented, found);
}

#[test]
fn every_key_of_a_decision_is_documented() {
    let place = Place::new();
    let created = place.holdpoint(&[
        "decision", "create", "gt-1", "--prompt", "Which?", "--option", "a:A", "--json",
    ]);
    assert!(created.status.success(), "{}", text(&created.stderr));
    let listed = json(&place.holdpoint(&["decision", "list", "--json"]));
    let decision = listed[0].as_object().unwrap();
    let found: BTreeSet<&str> = decision.keys().map(String::as_str).collect();
    let documented = column("| key |", 0);
    assert_eq!(documented.iter().copied().collect::<BTreeSet<_>>(), found);
    assert_eq!(documented.len(), found.len(), "each once");
}

#[test]
fn every_verb_is_documented_with_its_options() {
    let place = Place::new();
    let help = |words: &[&str]| text(&place.holdpoint(&[words, &["--help"]].concat()).stdout);
    let verbs: Vec<String> = listed(&help(&["decision"]));
    let rows = table("| verb |");
    assert_eq!(rows.iter().map(|row| words(row[0])[0]).collect::<Vec<_>>(), verbs);
    for row in rows {
        let verb = words(row[0])[0];
        let documented: BTreeSet<&str> = codes(row[2])
            .iter()
            .map(|code| words(code)[0])
            .filter(|word| word.starts_with("--"))
            .collect();
        let help = help(&["decision", verb]);
        let found = long_options(&help);
        assert_eq!(documented, found.iter().map(String::as_str).collect(), "{verb}");
    }
}

fn words(code: &str) -> Vec<&str> {
    code.split([' ', '`', '[']).filter(|word| !word.is_empty()).collect()
}

/// The verbs that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| line.starts_with("  "));
    let names = names.filter(|line| !line.starts_with("   "));
    let words = names.map(|line| line.split_whitespace().next().unwrap().to_string());
    words.filter(|word| word != "help").collect()
}

/// The long options that only this verb has.
fn long_options(help: &str) -> BTreeSet<String> {
    const EVERYWHERE: [&str; 7] =
        ["--log", "--config", "--json", "--color", "--no-pager", "--read-only", "--help"];
    let entries = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let words = entries.flat_map(|line| line.split([' ', ',', '[']).take(3));
    let long = words.filter(|word| word.starts_with("--") && !EVERYWHERE.contains(word));
    long.map(String::from).collect()
}

#[test]
fn every_limit_is_documented() {
    let kib = |bytes: usize| format!("{} KiB", bytes / 1024);
    let limits: [(&str, String); 9] = [
        ("options", MAX_OPTIONS.to_string()),
        ("prompt", kib(MAX_PROMPT_BYTES)),
        ("context", kib(MAX_CONTEXT_BYTES)),
        ("text, guidance, comment", kib(MAX_RESPONSE_BYTES)),
        ("label", kib(MAX_LABEL_BYTES)),
        ("description", kib(MAX_DESCRIPTION_BYTES)),
        ("rounds", format!("{MAX_ITERATIONS}, {DEFAULT_MAX_ITERATIONS} where nothing is said")),
        ("quorum", "16".to_string()),
        ("time", format!("{} days", MAX_TIMEOUT_MS / 86_400_000)),
    ];
    let rows = table("| limit |");
    assert_eq!(rows.len(), limits.len());
    for (row, (what, limit)) in rows.iter().zip(limits) {
        assert_eq!(row[0], what);
        assert!(row[1].starts_with(&limit), "{what}: {limit}");
    }
}

/// From which state which event leads to which.
type Transition = (String, String, String);

#[test]
fn every_transition_that_can_be_decided_is_documented_and_no_other() {
    let mut corners = Story::new();
    every_corner(&mut corners);
    with_every_timeout(&mut corners);
    let ids = all_ids(&corners);
    let mut found: BTreeSet<Transition> = BTreeSet::new();
    for id in &ids {
        for wait_ms in [0, 120_000] {
            let mut story = corners.clone();
            story.wait(wait_ms);
            for request in requests(&story, id) {
                found.extend(transitions(&story, &request));
            }
        }
    }
    let documented: BTreeSet<Transition> = table("| from |")
        .iter()
        .map(|row| {
            let from = codes(row[0]).first().copied().unwrap_or("nothing");
            (from.to_string(), codes(row[1])[0].to_string(), codes(row[2])[0].to_string())
        })
        .collect();
    assert_eq!(found, documented);
}

/// Open questions, in their first round and guided, for each thing that a deadline may do.
fn with_every_timeout(story: &mut Story) {
    for on_timeout in OnTimeout::ALL.iter().copied() {
        story.asks_with(|command| command.on_timeout = Some(on_timeout));
        let guided = story.asks_with(|command| command.on_timeout = Some(on_timeout));
        story.guides(&guided);
    }
}

fn all_ids(story: &Story) -> Vec<String> {
    let live = story.world.live_decision_points();
    let all = live.chain(story.world.closed_decision_points());
    all.map(|point| point.decision_id.to_string()).collect()
}

/// Everything that can be asked of a decision point.
fn requests(story: &Story, id: &str) -> Vec<Request> {
    let alice = || person("alice");
    let text = |words: &str| Response::Text(words.into());
    let mut other = story.question();
    other.supersedes = Some(id.into());
    vec![
        story.responds(id, alice(), option("go")),
        story.responds(id, alice(), option("stop")),
        story.responds(id, alice(), text("hybrid")),
        story.responds(id, alice(), Response::Accept),
        story.responds(id, alice(), Response::Guidance("mind the memory".into())),
        story.refines(id),
        story.cancels(id),
        story.escalates(id),
        story.reminds(id),
        story.consumes(id),
        story.lets_expire(id),
        Request::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(other.into())),
    ]
}

/// Every change of a state that a request leads to; none where a rule refuses it.
fn transitions(story: &Story, request: &Request) -> Vec<Transition> {
    let Ok(events) = decide(&story.world, request, story.now) else { return Vec::new() };
    let mut story = story.clone();
    let mut found = Vec::new();
    for event in events {
        let name = event.kind().name;
        let id = event.decision_point().unwrap().to_string();
        let before = state(&story, &id);
        assert_eq!(story.record(event), [], "{name}");
        let after = state(&story, &id);
        if before != after {
            let name = name.strip_prefix("decision_point.").unwrap();
            found.push((before, name.to_string(), after));
        }
    }
    found
}

fn state(story: &Story, id: &str) -> String {
    let found = story.world.decision_point(id);
    found.map_or("nothing".to_string(), |point| point.state.name().to_string())
}
