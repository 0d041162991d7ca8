//! Decisions by the program: asked, guided, refined, answered once, spent once, and the same at
//! every record that the log is replayed to.

use crate::decision_support::{
    asked, created, decision, done, id_of, newest_record, refused, shown, without_standing,
};
use crate::machine::take_claims;
use crate::program::{Place, contents, json, status, text};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

/// Every decision that is listed.
fn list(place: &Place, words: &[&str]) -> Vec<Value> {
    done(place, &[&["list"], words].concat()).as_array().unwrap().clone()
}

fn ids(decisions: &[Value]) -> Vec<String> {
    decisions.iter().map(id_of).collect()
}

/// `decision WORDS` for a person, which has to be done.
fn said(place: &Place, words: &[&str]) -> String {
    let output = place.holdpoint(&[&["decision"], words].concat());
    assert_eq!(status(&output), 0, "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The lines of the seed's "Planned CLI Commands", word for word, with `holdpoint` for `bd`.
#[test]
fn the_seeds_own_lines_work() {
    let seed = "holdpoint decision create bd-abc123 \\\n  --prompt \"Which approach?\" \\\n  \
                --option \"a:Use approach A\" \\\n  --option \"b:Use approach B\" \\\n  \
                --default a \\\n  --json";
    let redis = "holdpoint decision create bd-abc123 --prompt 'Which caching strategy?' --option \
                 'redis:Use Redis' --option 'memory:In-memory' --json";
    for (ask, answer, kind) in [
        (redis, "holdpoint decision respond bd-abc123 --option redis --json", "option"),
        (
            seed,
            "holdpoint decision respond bd-abc123 --text \"Use a hybrid approach\" --json",
            "text",
        ),
        (
            seed,
            "holdpoint decision respond bd-abc123 --guidance \"Consider memory constraints\" \
             --json",
            "guidance",
        ),
    ] {
        let place = Place::with_log();
        assert_eq!(json(&shell(&place, "holdpoint decision list --json")), json!([]));
        let asked = json(&shell(&place, ask));
        let listed = json(&shell(&place, "holdpoint decision list --json"));
        assert_eq!(listed.as_array().unwrap().len(), 1);
        assert_eq!(without_standing(&listed[0]), asked);
        for key in ["issue_id", "prompt", "options", "created_at"] {
            assert!(!listed[0][key].is_null(), "{key}");
        }
        assert_eq!(
            json(&shell(&place, "holdpoint decision show bd-abc123 --json"))["id"],
            asked["id"]
        );
        let told = json(&shell(&place, answer));
        match kind {
            "guidance" => {
                assert_eq!(told["decision"]["state"], "iterated");
                assert_eq!(told["next_decision"]["state"], "refining");
                assert_eq!(told["next_decision"]["guidance"], "Consider memory constraints");
            }
            kind => {
                assert_eq!(told["decision"]["resolution_kind"], kind);
                assert_eq!(told["next_decision"], Value::Null);
            }
        }
        let left = json(&shell(&place, "holdpoint decision list --json"));
        let left = left.as_array().unwrap();
        let turns: Vec<&Value> = left.iter().map(|it| &it["waits_for"]).collect();
        assert_eq!(turns, vec!["refinement"; usize::from(kind == "guidance")]);
        let pending = shell(&place, "holdpoint decision list state=pending --json");
        assert_eq!(json(&pending), json!([]));
        place.verified();
    }
}

/// A line as it is typed, with the program on the path and the log in the environment.
fn shell(place: &Place, line: &str) -> std::process::Output {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_holdpoint"));
    let others = std::env::var("PATH").unwrap();
    let path = format!("{}:{others}", program.parent().unwrap().display());
    let mut command = std::process::Command::new("sh");
    command.args(["-c", line]).env("PATH", path).env("HOLDPOINT_LOG", &place.log);
    let output = command.current_dir(place.directory.path()).output().unwrap();
    assert_eq!(status(&output), 0, "{line}: {}", text(&output.stderr));
    output
}

/// Asked, guided, refined, answered, spent, answered too late; another one cancelled. What was done
/// and which decisions there are is told after each step.
fn history(place: &Place, after: &mut dyn FnMut(&[&str])) {
    let bind = ["--bind", "tool=Bash", "--bind", r#"input={"command":"make deploy"}"#];
    let first = asked(place, &[&["gt-1", "--blocks", "deploy"], bind.as_slice()].concat());
    after(&[&first]);
    let told = done(place, &["respond", &first, "--guidance", "Cheaper, please"]);
    let second = id_of(&told["next_decision"]);
    after(&[&first, &second]);
    let anew = ["--option", "c:The cheap one", "--option", "no:Neither", "--reject", "no"];
    let verbs = [
        [&["create", "--revises", &second, "--as", "bot", "--agent"], anew.as_slice()].concat(),
        vec!["notify", &second],
        vec!["notify", &second, "--to", "grace", "--reason", "ada is away"],
        vec!["respond", &second, "--option", "c", "--reason", "fine"],
        [&["consume", &second], bind.as_slice()].concat(),
    ];
    for words in verbs {
        done(place, &words);
        after(&[&first, &second]);
    }
    let (exit, late) = refused(place, &["respond", &second, "--option", "no"]);
    assert_eq!((exit, &late["code"]), (4, &json!("already_ended")), "{late}");
    after(&[&first, &second]);
    let other = asked(place, &["gt-2"]);
    after(&[&first, &second, &other]);
    done(place, &["cancel", &other, "--reason", "no longer needed"]);
    after(&[&first, &second, &other]);
}

#[test]
fn a_history_replays_at_every_record_to_what_was_shown_live() {
    let place = Place::new();
    // The newest record of each moment, and every decision as it was shown then.
    let mut moments: Vec<(u64, Vec<Value>)> = Vec::new();
    history(&place, &mut |ids| {
        let live = ids.iter().map(|id| shown(&place, id)).collect();
        moments.push((newest_record(&place), live));
    });
    let (newest, last) = moments.last().unwrap().clone();
    for at in moments[0].0..=newest {
        // Inside a batch, what was before it.
        let (_, live) = moments.iter().rfind(|(then, _)| *then <= at).unwrap();
        for decision in live {
            let replayed = done(&place, &["show", &id_of(decision), "--at", &at.to_string()]);
            assert_eq!(&replayed, decision, "at {at}");
        }
        for later in &last[live.len()..] {
            let words = ["show", &id_of(later), "--at", &at.to_string()];
            assert_eq!(refused(&place, &words).0, 3, "at {at}");
        }
    }
    let states: Vec<&Value> =
        moments.iter().flat_map(|(_, live)| live).map(|decision| &decision["state"]).collect();
    for state in ["pending", "iterated", "refining", "resolved", "cancelled"] {
        assert!(states.contains(&&json!(state)), "{state}");
    }
}

/// What a verb told of a decision is what the replay to that record shows.
#[test]
fn what_was_told_live_is_what_a_replay_shows() {
    let place = Place::new();
    let id = asked(&place, &[]);
    let second = id_of(&done(&place, &["respond", &id, "--guidance", "again"])["next_decision"]);
    let verbs: [&[&str]; 6] = [
        &["create", "--revises", &second, "--prompt", "Which, then?"],
        &["notify", &second],
        &["notify", &second, "--to", "grace"],
        &["respond", &second, "--option", "a"],
        &["respond", &second, "--option", "a"],
        &["show", &second],
    ];
    for words in verbs {
        let told = done(&place, words);
        let decision = told.get("decision").cloned().unwrap_or_else(|| without_standing(&told));
        let version = decision["head"]["seq"].as_u64().unwrap().to_string();
        let replayed = done(&place, &["show", &second, "--at", &version]);
        assert_eq!(without_standing(&replayed), decision, "{words:?}");
    }
    let chain = done(&place, &["show", &id, "--chain"]);
    assert_eq!(ids(chain.as_array().unwrap()), [id.clone(), second.clone()]);
    assert_eq!(done(&place, &["show", &second, "--chain"]), chain);
}

#[test]
fn the_first_answer_counts_the_same_again_is_fine_and_another_shows_the_winner() {
    let place = Place::new();
    let id = asked(&place, &[]);
    let first = done(&place, &["respond", &id, "--option", "a"]);
    assert_eq!(
        (&first["replayed"], &first["decision"]["selected_option"]),
        (&json!(false), &json!("a"))
    );
    assert_eq!(first["event"]["seq"], first["decision"]["head"]["seq"]);
    assert_eq!(first["event"]["hash"], first["decision"]["head"]["hash"]);
    let again = done(&place, &["respond", &id, "--option", "a"]);
    assert_eq!(again["replayed"], true);
    assert_eq!(again["event"], first["event"]);
    assert_eq!(newest_record(&place), first["event"]["seq"].as_u64().unwrap());

    for _ in 0..2 {
        let (exit, error) = refused(&place, &["respond", &id, "--option", "b", "--as", "eve"]);
        assert_eq!((exit, &error["code"]), (4, &json!("already_ended")));
        assert_eq!(error["current"]["selected_option"], "a");
        assert_eq!(error["current"]["late_total"], 1);
        assert_eq!(error["decision_id"], id.as_str());
    }
    let said = place.holdpoint(&["decision", "respond", &id, "--option", "b", "--as", "eve"]);
    assert!(text(&said.stderr).contains("resolved: option a by"), "{}", text(&said.stderr));
}

#[test]
fn guidance_at_the_limit_is_refused_and_the_decision_stays_answerable() {
    let place = Place::new();
    let id = asked(&place, &["--max-iterations", "1"]);
    let (exit, error) = refused(&place, &["respond", &id, "--guidance", "once more"]);
    assert_eq!((exit, &error["code"]), (5, &json!("iteration_limit")));
    assert_eq!(error["current"]["state"], "pending");
    assert_eq!(done(&place, &["respond", &id, "--option", "b"])["decision"]["state"], "resolved");
}

#[test]
fn a_word_that_was_never_offered_is_refused_and_not_kept_when_it_is_over_too() {
    let place = Place::new();
    let id = asked(&place, &[]);
    done(&place, &["respond", &id, "--option", "a", "--as", "ada"]);
    let (exit, error) = refused(&place, &["respond", &id, "--option", "aa", "--as", "eve"]);
    assert_eq!((exit, &error["code"]), (5, &json!("bad_option")), "{error}");
    let (exit, error) = refused(&place, &["respond", &id, "--option", "b", "--as", "eve"]);
    assert_eq!((exit, &error["current"]["late_total"]), (4, &json!(1)), "{error}");
    place.verified();
}

#[test]
fn nobody_approves_what_they_asked_for_and_only_those_who_are_asked() {
    let place = Place::new();
    take_claims();
    let policy = ["--approvers", "ada,grace,bot", "--quorum", "2", "--authentication", "none"];
    let id = asked(&place, &[&policy[..], &["--reject", "b", "--blocks", "deploy"]].concat());
    let answer = |words: &[&'static str]| [&["respond", id.as_str()], words].concat();
    let code = |words: &[&'static str]| {
        let (exit, error) = refused(&place, &answer(words));
        (exit, error["code"].as_str().unwrap().to_string())
    };
    assert_eq!(code(&["--option", "a", "--as", "bot"]), (5, "self_approval".into()));
    assert_eq!(code(&["--option", "a", "--as", "ada", "--agent"]), (5, "agent_excluded".into()));
    assert_eq!(code(&["--option", "a", "--as", "eve"]), (5, "not_an_approver".into()));
    assert_eq!(code(&["--text", "yes", "--as", "ada"]), (5, "text_not_allowed".into()));
    assert_eq!(code(&["--option", "z", "--as", "ada"]), (5, "bad_option".into()));
    let first = done(&place, &answer(&["--option", "a", "--as", "ada"]));
    assert_eq!(first["decision"]["state"], "pending");
    assert_eq!(first["decision"]["approvals"][0]["by"], "ada");
    assert_eq!(code(&["--option", "b", "--as", "ada"]), (4, "vote_conflict".into()));
    let second = done(&place, &answer(&["--option", "a", "--as", "grace"]));
    assert_eq!(second["decision"]["approved"], true);
    assert!(!second["decision"]["released_at"].is_null());

    let other = asked(&place, &[&policy[..], &["--reject", "b", "--blocks", "deploy"]].concat());
    let no = done(&place, &["respond", &other, "--option", "b", "--as", "grace"]);
    let no = &no["decision"];
    assert_eq!((&no["state"], &no["approved"]), (&json!("resolved"), &json!(false)));
    assert!(no["released_at"].is_null());
}

#[test]
fn what_is_said_beside_an_answer_is_shown_once_for_each_who_said_it() {
    let place = Place::new();
    take_claims();
    let policy = ["--approvers", "ada,grace", "--quorum", "2", "--authentication", "none"];
    let id = asked(&place, &policy);
    for (name, why) in [("ada", "it is needed"), ("grace", "it was looked at")] {
        let respond = ["respond", &id, "--option", "a", "--as", name, "--reason", why];
        done(&place, &respond);
        let shown = said(&place, &["show", &id]);
        assert_eq!(shown.matches(why).count(), 1, "{shown}");
        assert!(shown.contains(&format!("comment of {name}")), "{shown}");
    }
}

#[test]
fn a_claimed_name_counts_for_nothing_where_the_system_has_to_prove_it() {
    let place = Place::new();
    let id = asked(&place, &["--quorum", "1"]);
    let (exit, error) = refused(&place, &["respond", &id, "--option", "a", "--as", "ada"]);
    assert_eq!((exit, &error["code"]), (5, &json!("claim_not_taken")));
    let told = done(&place, &["respond", &id, "--option", "a"]);
    assert_eq!(told["decision"]["authenticated_by"], "os-user");
}

#[test]
fn an_approval_is_spent_once_and_for_what_it_was_given() {
    let place = Place::new();
    let bind = |input: &'static str| ["--bind", "tool=Bash", "--bind", input];
    let id = asked(&place, &bind(r#"input={"a": 1, "b": 2.0}"#));
    let consume = |input| [&["consume", &id], &bind(input)[..]].concat();
    let same = r#"input={"b":2,"a":1}"#;
    assert_eq!(refused(&place, &consume(same)).1["code"], "not_approved");
    done(&place, &["respond", &id, "--option", "a"]);
    for other in [r#"input={"a":1,"b":3}"#, "input={}", "input=[]"] {
        let (exit, error) = refused(&place, &consume(other));
        assert_eq!((exit, &error["code"]), (5, &json!("binding_mismatch")));
    }
    let spent = done(&place, &consume(same));
    assert!(!spent["decision"]["consumed_at"].is_null());
    let (exit, error) = refused(&place, &consume(same));
    assert_eq!((exit, &error["code"]), (5, &json!("already_consumed")));
    place.verified();
}

#[test]
fn silence_approves_nothing_and_nobody_can_agree_that_it_does() {
    let place = Place::new();
    let bind = ["--bind", "tool=Bash", "--bind", "input={}"];
    let default = ["--on-timeout", "default", "--default", "a"];
    let ask =
        ["create", "--prompt", "Which?", "--option", "a:A", "--option", "b:B", "--reject", "b"];
    let endless = refused(&place, &[&ask[..], &bind, &default].concat());
    assert_eq!((endless.0, &endless.1["code"]), (5, &json!("bad_timeout")));
    let option = [&ask[..], &bind, &default, &["--expires", "1h", "--default-approves"]].concat();
    assert_eq!(status(&decision(&place, &option)), 2, "there is no such option");
    let id = asked(&place, &[&bind[..], &default, &["--expires", "1ms", "--blocks", "x"]].concat());
    let (exit, error) = refused(&place, &[&["consume", &id], &bind[..]].concat());
    assert_eq!((exit, &error["code"]), (5, &json!("not_approved")));
    let over = shown(&place, &id);
    assert_eq!((&over["state"], &over["selected_option"]), (&json!("expired"), &json!("a")));
    assert_eq!((&over["approved"], &over["released_at"]), (&json!(false), &Value::Null));
    assert_eq!(status(&decision(&place, &["wait", &id])), 16);
    place.verified();
}

#[test]
fn an_approval_that_says_no_releases_and_spends_nothing() {
    let place = Place::new();
    let bind = ["--bind", "tool=Bash", "--bind", "input={}"];
    let words = [&["--reject", "b", "--blocks", "deploy"][..], &bind].concat();
    let id = asked(&place, &words);
    let told = done(&place, &["respond", &id, "--option", "b"]);
    assert_eq!(told["decision"]["approved"], false);
    assert!(told["decision"]["released_at"].is_null());
    let (exit, error) = refused(&place, &[&["consume", &id], &bind[..]].concat());
    assert_eq!((exit, &error["code"]), (5, &json!("not_approved")));
}

#[test]
fn a_no_to_what_something_waits_for_is_no_success_of_a_wait() {
    let place = Place::new();
    let answers = [(["--option", "b"], 16), (["--option", "a"], 0), (["--text", "As you like"], 0)];
    for (answer, exit) in answers {
        let id = asked(&place, &["--reject", "b", "--blocks", "deploy"]);
        let told = done(&place, &[&["respond", id.as_str()], &answer[..]].concat());
        assert_eq!(told["decision"]["released_at"].is_null(), exit != 0);
        let waited = place.holdpoint(&["decision", "wait", &id]);
        assert_eq!(status(&waited), exit, "{answer:?}");
    }
}

#[test]
fn cancelling_twice_is_fine_and_cancelling_what_was_answered_is_a_conflict() {
    let place = Place::new();
    let (first, second) = (asked(&place, &[]), asked(&place, &[]));
    assert_eq!(done(&place, &["cancel", &first])["decision"]["state"], "cancelled");
    assert_eq!(done(&place, &["cancel", &first])["replayed"], true);
    done(&place, &["respond", &second, "--option", "a"]);
    let (exit, error) = refused(&place, &["cancel", &second]);
    assert_eq!((exit, &error["code"]), (4, &json!("already_ended")));
    let third = asked(&place, &[]);
    let (exit, error) = refused(&place, &["cancel", &third, "--as", "other", "--agent"]);
    assert_eq!((exit, &error["code"]), (5, &json!("not_requester")));
}

#[test]
fn one_takes_the_place_of_another_only_where_that_is_asked_for() {
    let place = Place::new();
    let first = asked(&place, &["gt-1"]);
    let second = asked(&place, &["gt-1", "--supersedes", &first]);
    assert_eq!(shown(&place, &first)["superseded_by"], second.as_str());
    let (exit, _) = refused(&place, &["respond", &first, "--option", "a"]);
    assert_eq!(exit, 4);
    let third = asked(&place, &["gt-1"]);
    assert_eq!(ids(&list(&place, &[])), [second.clone(), third.clone()]);
    let (exit, error) = refused(&place, &["show", "gt-1"]);
    assert_eq!((exit, &error["code"]), (4, &json!("ambiguous_issue")));
    assert_eq!(error["decision_ids"].as_array().unwrap().len(), 2);
}

#[test]
fn the_time_that_passed_is_recorded_by_whoever_writes_next_and_an_answer_comes_too_late() {
    let place = Place::new();
    let (end, default) = (["--expires", "1ms"], ["--on-timeout", "default", "--default", "a"]);
    let aborted = asked(&place, &[&end[..], &["--blocks", "deploy"]].concat());
    let expired = asked(&place, &[&end[..], &default].concat());
    let held = asked(&place, &[&end[..], &["--on-timeout", "hold"]].concat());
    let recorded = done(&place, &["expire"]);
    // Of the one that stays open a warning is due.
    let is_end = |one: &&Value| one["kind"] != "decision_point.warned";
    let mut ends = recorded.as_array().unwrap().iter().filter(is_end);
    assert!(ends.all(|one| one["decision_id"] != held.as_str()), "{recorded:#}");
    assert_eq!(done(&place, &["expire"]), json!([]));
    let found = shown(&place, &aborted);
    assert_eq!((&found["state"], &found["responded_kind"]), (&json!("aborted"), &json!("system")));
    assert!(found["released_at"].is_null() && found["approved"] == false);
    let found = shown(&place, &expired);
    assert_eq!((&found["state"], &found["selected_option"]), (&json!("expired"), &json!("a")));
    for id in [&aborted, &expired] {
        let (exit, error) = refused(&place, &["respond", id, "--option", "b"]);
        assert_eq!((exit, &error["code"]), (5, &json!("expired")));
        assert_eq!(error["current"]["late_responses"][0]["option_id"], "b");
    }
    assert_eq!(ids(&list(&place, &["overdue=true"])), std::slice::from_ref(&held));
    done(&place, &["respond", &held, "--option", "a"]);
    place.verified();
}

#[test]
fn the_list_shows_the_urgent_first_then_the_oldest_page_by_page() {
    let place = Place::new();
    let of = |urgency| asked(&place, &["--urgency", urgency]);
    let (low, high, medium, high_too) = (of("low"), of("high"), of("medium"), of("high"));
    let order = [&high, &high_too, &medium, &low].map(Clone::clone);
    assert_eq!(ids(&list(&place, &[])), order);
    assert_eq!(ids(&list(&place, &["--limit", "2"])), order[..2]);
    // The page goes on behind it also when it was answered in the meantime.
    done(&place, &["respond", &high_too, "--option", "a"]);
    assert_eq!(ids(&list(&place, &["--after", &high_too])), order[2..]);
    assert_eq!(ids(&list(&place, &["urgency=low"])), std::slice::from_ref(&low));
    assert_eq!(ids(&list(&place, &["state=resolved"])), std::slice::from_ref(&high_too));
    assert_eq!(ids(&list(&place, &["state=all"])), order);
    assert_eq!(list(&place, &["requested_by=nobody"]), [] as [Value; 0]);
    let next = done(&place, &["respond", &low, "--guidance", "again"])["next_decision"].clone();
    assert_eq!(ids(&list(&place, &["state=refining"])), [id_of(&next)]);
    assert_eq!(list(&place, &["state=open"]).len(), 3);
    let listed = said(&place, &["list"]);
    assert!(listed.lines().any(|line| line.contains("refining") && line.contains("turn of ")));
    for line in listed.lines().skip(1).filter(|line| !line.starts_with('|')) {
        let short = line.split(' ').next().unwrap();
        assert!(id_of(&shown(&place, short)).starts_with(short));
    }
}

#[test]
fn a_key_makes_asking_and_answering_safe_to_repeat() {
    let place = Place::new();
    let ask = ["--prompt", "Go?", "--option", "y:Yes", "--idempotency-key", "k1"];
    let first = created(&place, &ask);
    assert_eq!(created(&place, &ask), first);
    let (exit, error) = refused(
        &place,
        &["create", "--prompt", "Stop?", "--option", "y:Yes", "--idempotency-key", "k1"],
    );
    assert_eq!((exit, &error["code"]), (4, &json!("idempotency_conflict")));
    assert_eq!(list(&place, &[]).len(), 1);
    let answer = ["respond", &first, "--guidance", "more", "--idempotency-key", "k2"];
    let told = done(&place, &answer);
    let again = done(&place, &answer);
    assert_eq!(
        (&again["replayed"], &again["next_decision"]["id"]),
        (&json!(true), &told["next_decision"]["id"])
    );
    let (exit, error) =
        refused(&place, &["notify", "--expected-version", "1", &id_of(&told["next_decision"])]);
    assert_eq!((exit, &error["code"]), (4, &json!("stale_version")));
}

#[test]
fn options_come_as_json_with_descriptions_from_a_file_or_from_standard_input() {
    let place = Place::new();
    let seed = json!([
        { "id": "redis", "short": "Redis", "label": "Use Redis for distributed caching",
          "description": "## Redis\n\nPros:\n- Distributed" },
        { "id": "memory", "label": "Use in-memory LRU cache", "reject": true },
    ]);
    std::fs::write(place.directory.path().join("options.json"), seed.to_string()).unwrap();
    let ask = ["--prompt", "Which?", "--option"];
    let of = |given: &str| created(&place, &[&ask[..], &[given]].concat());
    let (inline, file) = (of(&seed.to_string()), of("@options.json"));
    let words = [&["decision", "create", "--json"][..], &ask, &["-"]].concat();
    let mut child = place.command(&words);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(seed.to_string().as_bytes()).unwrap();
    let piped = id_of(&json(&child.wait_with_output().unwrap()));
    for id in [inline, file, piped] {
        let options = &shown(&place, &id)["options"];
        assert_eq!(options[0], {
            let mut redis = seed[0].clone();
            redis["reject"] = false.into();
            redis
        });
        assert_eq!((&options[1]["short"], &options[1]["reject"]), (&json!("memory"), &json!(true)));
    }
}

#[test]
fn evidence_is_kept_by_its_digest() {
    let place = Place::new();
    std::fs::write(place.directory.path().join("plan.md"), "abc").unwrap();
    std::fs::write(place.directory.path().join("a:b"), "").unwrap();
    let files = ["--evidence", "plan.md:the plan", "--evidence", "plan.md", "--evidence", "a:b"];
    let evidence = shown(&place, &asked(&place, &files))["evidence"].clone();
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let media_type = "text/markdown";
    let of_plan = |label: &str| {
        json!({ "sha256": abc, "bytes": 3, "media_type": media_type,
            "label": label })
    };
    assert_eq!(evidence[0], of_plan("the plan"));
    assert_eq!(evidence[1], of_plan("plan.md"));
    assert_eq!((&evidence[2]["label"], &evidence[2]["bytes"]), (&json!("a:b"), &json!(0)));
}

#[test]
fn what_a_program_wrote_is_shown_line_by_line_with_nothing_hidden() {
    let place = Place::new();
    let hostile = "Deploy?\n\u{1b}[2Joption          yes: all is well\u{202e}";
    let label = "a:go\u{1b}]0;title\u{7}";
    let words = ["--prompt", hostile, "--option", label, "--context", "x\u{200b}y\rz"];
    let id = created(&place, &words);
    for shown in [said(&place, &["show", &id]), said(&place, &["list"])] {
        let is_plain = |c: char| c == '\n' || (' '..='~').contains(&c);
        assert!(shown.chars().all(is_plain), "{shown:?}");
        assert!(shown.contains("\\u{1b}[2J"), "{shown}");
    }
    let shown = said(&place, &["show", &id]);
    assert!(!shown.lines().any(|line| line.starts_with("option          yes")), "{shown}");
}

#[test]
fn creating_says_the_id_first_and_then_a_command_line_that_answers() {
    let place = Place::new();
    let ask = ["create", "--prompt", "Go?", "--option", "y:Yes", "--option", "n:No"];
    let created = place.holdpoint(&[&["decision"][..], &ask].concat());
    let (id, rest) = (text(&created.stdout), text(&created.stderr));
    let id = id.trim_end();
    let answer = rest.split_once("holdpoint ").unwrap().1;
    let answer = answer.split_once("\n                or n").unwrap().0;
    shell(&place, &format!("holdpoint {answer}"));
    assert_eq!(shown(&place, id)["selected_option"], "y");
}

#[test]
fn looking_needs_no_right_to_write_and_no_log() {
    let place = Place::new();
    for words in [
        &["list"][..],
        &["list", "--after", "gt-1"],
        &["show", "gt-1"],
        &["wait", "gt-1"],
        &["respond", "gt-1", "_accept"],
        &["create", "--revises", "gt-1", "--prompt", "Which?"],
        &["cancel", "gt-1"],
        &["notify", "gt-1", "--to", "bob"],
        &["notify", "gt-1"],
        &["consume", "gt-1", "--bind", "tool=t", "--bind", "input={}"],
        &["expire"],
    ] {
        let (exit, error) = refused(&place, words);
        assert_eq!((exit, &error["code"]), (3, &json!("nothing_here")), "{words:?}");
    }
    assert!(!place.log.exists());
    let id = asked(&place, &["--expires", "1ms"]);
    let before = contents(&place.log);
    assert_eq!(shown(&place, &id)["overdue"], true);
    assert_eq!(list(&place, &["overdue=true"]).len(), 1);
    let screen = text(&place.holdpoint(&["decision", "show", &id]).stdout);
    assert!(screen.contains("answers are no longer accepted"), "{screen}");
    assert!(!screen.contains("respond"), "{screen}");
    assert_eq!(contents(&place.log), before);
}
