//! A log that is short of HEAD is continued by a person at a terminal, and by nobody else: it gets
//! another identity, all that was open ends, and no approval of it can be spent.

use crate::decision_support::{asked, created, decision, done, shown};
use crate::program::{Place, by_person, contents, json, status, text, with_hold};
use crate::terminal::Terminal;
use crate::verify_py::verifier;
use rustix::process::Signal;
use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const BIND: [&str; 4] = ["--bind", "tool=Bash", "--bind", "input={}"];

/// The segments of a log, put aside.
fn put_aside(place: &Place) -> PathBuf {
    let aside = place.directory.path().join("aside");
    fs::create_dir(&aside).unwrap();
    copy_files(&place.log.join("segments"), &aside);
    aside
}

fn copy_files(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|it| it == "seg") {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// What was put aside takes the place of the segments, as in a copy that read HEAD last.
fn cut_back(place: &Place, aside: &Path) {
    let segments = place.log.join("segments");
    fs::remove_dir_all(&segments).unwrap();
    fs::create_dir(&segments).unwrap();
    copy_files(aside, &segments);
    for file in ["LOCK", "SYNC"] {
        let _ = fs::remove_file(place.log.join(file));
    }
    for directory in ["snapshots", "runs"] {
        let _ = fs::remove_dir_all(place.log.join(directory));
    }
    let report = json(&place.holdpoint(&["verify", "--json"]));
    assert_eq!(report["verdict"], "short of HEAD", "{report:#}");
}

/// Whoever sits at a terminal types the word.
pub(crate) fn continued(place: &Place) -> Value {
    let log = place.log.to_str().unwrap().to_string();
    let output = by_person(&place.command(&["continue", &log, "--json"]));
    assert_eq!(status(&output), 0, "{}{}", text(&output.stderr), text(&output.stdout));
    json(&output)
}

/// Every file by its name below the directory, with its bytes.
pub(crate) fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let below = |path: PathBuf| path.strip_prefix(directory).unwrap().to_path_buf();
    contents(directory).into_iter().map(|(path, bytes)| (below(path), bytes)).collect()
}

pub(crate) fn old_log(place: &Place) -> PathBuf {
    let mut name = place.log.file_name().unwrap().to_os_string();
    name.push(".before-continue");
    place.log.with_file_name(name)
}

/// A log that is short of HEAD: the approval in it was spent in a record that is missing.
pub(crate) struct Sample {
    pub(crate) place: Place,
    approval: String,
    unbound: String,
    open: String,
}

pub(crate) fn short() -> Sample {
    let place = Place::with_log();
    place.run(&["true"]);
    let held = place.holdpoint(&["run", "--hold", "after", "--no-wait", "--", "true"]);
    assert_eq!(status(&held), 122, "{}", text(&held.stderr));
    let approval = asked(&place, &BIND);
    done(&place, &["respond", &approval, "--option", "a"]);
    let unbound = asked(&place, &["--quorum", "1"]);
    done(&place, &["respond", &unbound, "--option", "a"]);
    let open = created(&place, &["i1", "--prompt", "Open?", "--option", "a:A"]);
    let aside = put_aside(&place);
    let spent = decision(&place, &[&["consume", &approval][..], &BIND].concat());
    assert_eq!(status(&spent), 0, "{}", text(&spent.stderr));
    cut_back(&place, &aside);
    Sample { place, approval, unbound, open }
}

#[test]
fn a_person_continues_a_log_that_is_short_of_head_and_no_approval_of_it_can_be_spent() {
    let Sample { place, approval, unbound, open } = short();
    let before = files(&place.log);
    let report = json(&place.holdpoint(&["verify", "--json"]));
    let log = place.log.to_str().unwrap();
    let mut terminal = Terminal::sized(&place, (60, 120), &["continue", log]);
    let page = terminal.wait_for("type continue");
    for said in ["missing", approval.as_str(), open.as_str(), "runs that are recorded as lost   1"]
    {
        assert!(page.contains(said), "{said}: {page}");
    }
    terminal.type_line("continue");
    let (code, said) = terminal.end();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("before-continue"), "{said}");

    let verified = place.verified();
    assert_ne!(verified["log_id"], report["log_id"], "another identity");
    assert!(files(&old_log(&place)) == before, "the old log is kept as it was");
    // What the record says.
    let records = text(&place.holdpoint(&["log", "--json"]).stdout);
    let records: Vec<Value> = records.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let last = records.last().unwrap();
    assert_eq!(last["kind"], "log.continued");
    let body = last.to_string();
    for value in [&report["log_id"], &report["head"]["link"]] {
        assert!(body.contains(value.as_str().unwrap()), "{value}: {body}");
    }
    // All of it ended.
    let show = |id: &str| shown(&place, id);
    assert_eq!(show(&open)["state"], "cancelled");
    assert!(show(&open).to_string().contains("the log was continued"), "{}", show(&open));
    for id in [&approval, &unbound] {
        assert!(show(id)["revoked_at"].is_string(), "{}", show(id));
        assert_eq!(status(&decision(&place, &["wait", id, "--timeout", "1ms"])), 13, "{id}");
    }
    let spent = decision(&place, &[&["consume", approval.as_str()][..], &BIND].concat());
    assert_eq!(status(&spent), 5, "{}", text(&spent.stderr));
    assert!(text(&spent.stderr).contains("revoked"), "{}", text(&spent.stderr));
    let waiting =
        with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
    assert!(!waiting.to_string().contains("REQ-"), "{waiting}");
    let runs = text(&place.holdpoint(&["runs"]).stdout);
    assert!(runs.contains("lost"), "{runs}");
    // It goes on.
    assert_eq!(status(&place.run(&["true"])), 0);
    let id = asked(&place, &BIND);
    done(&place, &["respond", &id, "--option", "a"]);
    let spent = decision(&place, &[&["consume", &id][..], &BIND].concat());
    assert_eq!(status(&spent), 0, "an approval of the new log: {}", text(&spent.stderr));
    place.verified();
    // Once.
    let again = by_person(&place.command(&["continue", log, "--json"]));
    assert_eq!(
        (status(&again), &json(&again)["error"]["code"]),
        (5, &"nothing_to_continue".into())
    );
}

#[test]
fn the_verifier_in_python_agrees_on_a_continued_log_and_what_is_salvaged_of_it_verifies() {
    let Sample { place, .. } = short();
    let told = continued(&place);
    assert_eq!((&told["lost_runs"], &told["lapsed_approvals"]), (&1.into(), &2.into()), "{told:#}");
    assert_eq!(told["ended_questions"], 2, "{told:#}");
    assert_eq!(told["is_adopted"], true);
    let checked = Command::new("python3").arg(verifier()).arg(&place.log).output().unwrap();
    assert_eq!(status(&checked), 0, "{}", text(&checked.stdout));
    let salvaged = place.holdpoint(&["copy", "--salvage", place.log.to_str().unwrap(), "salvaged"]);
    assert_eq!(status(&salvaged), 0, "{}", text(&salvaged.stderr));
    let report = place.directory.path().join("report.html");
    let out = report.to_str().unwrap();
    let page = place.holdpoint(&["export", "--format", "html", "--since", "1", "--output", out]);
    assert_eq!(status(&page), 0, "{}", text(&page.stderr));
    let checked = Command::new("python3").arg(verifier()).arg(out).output().unwrap();
    assert_eq!(status(&checked), 0, "{}", text(&checked.stdout));
}

#[test]
fn nobody_but_a_person_at_a_terminal_who_types_the_word_continues_a_log() {
    let Sample { place, .. } = short();
    let log = place.log.to_str().unwrap();
    let before = contents(place.directory.path());
    let nobody = place.holdpoint(&["continue", log, "--json"]);
    assert_eq!((status(&nobody), &json(&nobody)["error"]["code"]), (5, &"no_terminal".into()));
    let mut terminal = Terminal::start(&place, &["continue", log]);
    terminal.wait_for("type continue");
    terminal.type_line("yes");
    assert_eq!(terminal.end().0, 10);
    // A command that is recorded is none, whatever terminal it has.
    let other = Place::with_log();
    let program = env!("CARGO_BIN_EXE_holdpoint");
    let run = ["run", "--tty", "--hold", "never", "--", program, "continue", log];
    let (code, said) = Terminal::start(&other, &run).end();
    assert_eq!(code, 5, "{said}");
    assert!(contents(place.directory.path()) == before, "nothing was changed");
}

#[test]
fn every_verb_that_writes_refuses_a_log_that_is_short_of_head() {
    let Sample { place, approval, open, .. } = short();
    let before = files(&place.log);
    let spend = [&["decision", "consume", approval.as_str()][..], &BIND].concat();
    let verbs: [(&[&str], i32); 14] = [
        (&["init"], 6),
        (&["run", "--", "true"], 125),
        (&["run", "--hold", "before", "--no-wait", "--", "true"], 125),
        (&["run", "--approval", &approval, "--", "true"], 125),
        (&["record", "--stream", "s", "--type", "t"], 6),
        (&["apply"], 6),
        (&["decision", "create", "--prompt", "P", "--option", "a:A"], 6),
        (&["decision", "respond", &open, "--option", "a"], 6),
        (&["decision", "cancel", &open], 6),
        (&spend, 6),
        (&["decision", "expire"], 6),
        (&["policy", "set", "default=before"], 6),
        (&["doctor", "clock-step"], 6),
        (&["archive", "archive"], 6),
    ];
    for (words, code) in verbs {
        let output = match words {
            ["policy" | "doctor", ..] => by_person(&place.command(words)),
            _ => place.holdpoint(words),
        };
        let said = format!("{}{}", text(&output.stderr), text(&output.stdout));
        assert_eq!(status(&output), code, "{words:?}: {said}");
        assert!(said.contains("short of HEAD"), "{words:?}: {said}");
    }
    assert!(files(&place.log) == before, "nothing was written");
}

#[test]
fn a_log_in_any_other_state_is_not_continued_and_the_advice_is_true() {
    let code = |place: &Place, log: &Path| -> (i32, Value) {
        let words = ["continue", log.to_str().unwrap(), "--json"];
        let output = by_person(&place.command(&words));
        (status(&output), json(&output)["error"]["code"].clone())
    };
    let place = Place::with_log();
    place.run(&["true"]);
    assert_eq!(code(&place, &place.log), (5, "nothing_to_continue".into()), "intact");
    let nothing = place.directory.path().join("nothing");
    assert_eq!(code(&place, &nothing), (3, "nothing_here".into()));
    fs::create_dir(&nothing).unwrap();
    assert_eq!(code(&place, &nothing), (3, "nothing_here".into()), "an empty directory");
    let Sample { place, .. } = short();
    let mut writer = place.command(&["apply"]);
    drop(writer.stdin(std::process::Stdio::null()).output().unwrap());
    // A byte of a record in the middle.
    let segments = place.log.join("segments");
    let first = segments.join("00000000000000000001.seg");
    let mut bytes = fs::read(&first).unwrap();
    bytes[5_000] ^= 1;
    fs::write(&first, bytes).unwrap();
    let before = contents(place.directory.path());
    assert_eq!(code(&place, &place.log), (6, "damaged".into()));
    assert!(contents(place.directory.path()) == before);
}

/// What a log that is being made is called, beside the log.
pub(crate) fn building(place: &Place) -> Option<PathBuf> {
    let entries = fs::read_dir(place.directory.path()).unwrap().map(|it| it.unwrap().path());
    entries.into_iter().find(|path| path.to_string_lossy().ends_with(".continuing"))
}

/// Kills `continue` as soon as this is so after the word was typed, or it has ended.
fn killed_when(place: &Place, is_so: impl Fn(&Place) -> bool) {
    let mut terminal = Terminal::start(place, &["continue", place.log.to_str().unwrap()]);
    terminal.wait_for("type continue");
    terminal.type_line("continue");
    let begun = Instant::now();
    while !is_so(place) && begun.elapsed() < Duration::from_secs(30) {
        std::hint::spin_loop();
    }
    terminal.signal(Signal::KILL);
    terminal.end_plain();
}

#[test]
fn a_crash_at_any_point_leaves_the_old_log_or_the_new_one_whole_at_the_place() {
    type IsSo = Box<dyn Fn(&Place) -> bool>;
    let has = |name: &'static str| -> IsSo {
        Box::new(move |place| building(place).is_some_and(|it| it.join(name).exists()))
    };
    let mut points: Vec<IsSo> = vec![
        Box::new(|place| building(place).is_some()),
        has("HEAD"),
        has("segments/00000000000000000001.seg"),
        Box::new(|place| old_log(place).exists()),
    ];
    points.extend((0..12).map(|number| -> IsSo {
        let (begun, delay) = (Cell::new(None), Duration::from_millis(number * 8));
        Box::new(move |_| {
            let from = begun.get().unwrap_or_else(Instant::now);
            begun.set(Some(from));
            from.elapsed() > delay
        })
    }));
    let mut reached = [0, 0];
    for (number, is_so) in points.iter().enumerate() {
        let Sample { place, .. } = short();
        let before = files(&place.log);
        killed_when(&place, is_so);
        let report = json(&place.holdpoint(&["verify", "--json"]));
        if report["verdict"] == "short of HEAD" {
            reached[0] += 1;
            assert!(files(&place.log) == before, "the old log is whole: {number}: {report:#}");
            continued(&place);
        } else {
            reached[1] += 1;
            assert_eq!(report["verdict"], "intact", "{number}");
            // Where the old log got no name, whoever asks again gives it one.
            let again = by_person(&place.command(&["continue", place.log.to_str().unwrap()]));
            assert_eq!(status(&again), 5, "{}", text(&again.stderr));
        }
        place.verified();
        assert!(files(&old_log(&place)) == before, "the old log is kept: {number}");
    }
    println!("the old log {} times, the new one {} times", reached[0], reached[1]);
    assert!(reached.iter().all(|count| *count > 0), "{reached:?}");
}

#[test]
fn an_old_log_that_a_crash_left_without_its_name_gets_it_beside_what_is_removed() {
    let Sample { place, .. } = short();
    let before = files(&place.log);
    continued(&place);
    let hidden = |digits: &str| place.log.with_file_name(format!(".log.{digits}.continuing"));
    // As a crash between the two steps leaves it, beside what one before them leaves.
    fs::rename(old_log(&place), hidden("00000000000000aa")).unwrap();
    fs::create_dir_all(hidden("00000000000000bb").join("segments")).unwrap();
    // The name is taken meanwhile.
    fs::create_dir(old_log(&place)).unwrap();
    let again = by_person(&place.command(&["continue", place.log.to_str().unwrap()]));
    let said = text(&again.stderr);
    assert_eq!(status(&again), 5, "{said}");
    assert!(said.contains("log.before-continue-2") && said.contains("it was removed"), "{said}");
    assert!(files(&place.log.with_file_name("log.before-continue-2")) == before);
    assert!(building(&place).is_none());
    place.verified();
}

#[test]
fn what_a_killed_one_left_is_named_by_doctor_and_removed_by_the_next_and_by_nobody_while_it_lives()
{
    let Sample { place, .. } = short();
    let log = place.log.to_str().unwrap();
    let doctor = || {
        let told = text(&place.holdpoint(&["doctor"]).stdout).to_string();
        told.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let late = stopped_behind_its_copy(&place);
    assert!(!doctor().contains("was left by"), "{}", doctor());
    let second = by_person(&place.command(&["continue", log]));
    assert_eq!(status(&second), 4, "{}", text(&second.stderr));
    assert!(building(&place).unwrap().join("HEAD").exists(), "it is used");
    late.signal(Signal::KILL);
    late.end_plain();
    let left = building(&place).unwrap();
    assert!(doctor().contains("was left by a `continue` that was killed"), "{}", doctor());
    assert!(doctor().contains(&*left.to_string_lossy()), "{}", doctor());
    let next = by_person(&place.command(&["continue", log]));
    assert_eq!(status(&next), 0, "{}", text(&next.stderr));
    let said = format!("{}{}", text(&next.stderr), text(&next.stdout));
    assert!(said.contains("it was removed"), "{said}");
    assert!(building(&place).is_none(), "{:?}", building(&place));
    assert!(!doctor().contains("was left by"), "{}", doctor());
    place.verified();
}

#[test]
fn a_new_log_that_took_no_place_is_removed_and_what_may_be_an_old_log_is_kept() {
    let hidden = |place: &Place| place.log.with_file_name(".log.00000000000000aa.continuing");
    let again =
        |place: &Place| by_person(&place.command(&["continue", place.log.to_str().unwrap()]));
    // As a crash right before the exchange leaves it: the whole new log has its last name.
    let Sample { place, .. } = short();
    continued(&place);
    fs::rename(&place.log, hidden(&place)).unwrap();
    fs::rename(old_log(&place), &place.log).unwrap();
    let done = again(&place);
    let said = text(&done.stderr).to_string();
    assert_eq!(status(&done), 0, "{said}");
    assert!(said.contains("it was removed") && building(&place).is_none(), "{said}");
    // The log whose records name it was moved away.
    let Sample { place, .. } = short();
    continued(&place);
    fs::rename(old_log(&place), hidden(&place)).unwrap();
    let before = files(&hidden(&place));
    fs::rename(&place.log, place.log.with_file_name("moved")).unwrap();
    let other = short().place;
    fs::rename(&other.log, &place.log).unwrap();
    let said = text(&again(&place).stderr).to_string();
    assert!(said.contains("may be a log that was at this place"), "{said}");
    assert!(files(&hidden(&place)) == before, "it was touched");
}

#[test]
fn a_copy_that_is_not_adopted_is_continued_and_answers_nobody_before_it_is() {
    let Sample { place, .. } = short();
    let copy = place.directory.path().join("copy");
    assert!(Command::new("cp").arg("-a").arg(&place.log).arg(&copy).status().unwrap().success());
    let place = Place { log: copy, ..place };
    let told = continued(&place);
    assert_eq!(told["is_adopted"], false, "{told:#}");
    let run = place.holdpoint(&["run", "--hold", "after", "--", "true"]);
    assert_eq!(status(&run), 125, "{}", text(&run.stderr));
    assert!(text(&run.stderr).contains("inbox --add"), "{}", text(&run.stderr));
}

#[test]
fn what_lies_in_the_directory_and_is_no_log_stays_with_the_old_one_and_is_told() {
    let Sample { place, .. } = short();
    fs::create_dir(place.log.join("cut")).unwrap();
    fs::write(place.log.join("cut").join("00000000000000000001-4096-1.cut"), "cut").unwrap();
    fs::write(place.log.join("notes.txt"), "mine").unwrap();
    fs::create_dir_all(place.log.join("runs")).unwrap();
    let outcome = format!("runs/OUTCOME-{:032x}", 7);
    fs::write(place.log.join(&outcome), "an outcome").unwrap();
    let told = continued(&place);
    for name in ["notes.txt", outcome.as_str()] {
        assert!(told["left_behind"].to_string().contains(name), "{told:#}");
        assert!(old_log(&place).join(name).exists(), "{name}");
    }
    assert_eq!(told["left_outcomes"], 1, "{told:#}");
    assert_eq!(fs::read(old_log(&place).join("notes.txt")).unwrap(), b"mine");
    assert!(place.log.join("cut").join("00000000000000000001-4096-1.cut").exists());
}

/// A `continue` that has copied all records and is stopped before it takes the log's place.
fn stopped_behind_its_copy(place: &Place) -> Terminal {
    // The bytes that were cut are copied last, one file after another.
    let cut = place.log.join("cut");
    fs::create_dir(&cut).unwrap();
    for number in 0..1_000 {
        fs::write(cut.join(format!("00000000000000000001-{number}-1.cut")), "cut").unwrap();
    }
    let mut terminal = Terminal::start(place, &["continue", place.log.to_str().unwrap()]);
    terminal.wait_for("type continue");
    terminal.type_line("continue");
    let begun = Instant::now();
    while building(place).is_none_or(|it| !it.join("cut").exists()) {
        assert!(begun.elapsed() < Duration::from_secs(60), "it copies nothing");
        std::hint::spin_loop();
    }
    terminal.signal(Signal::STOP);
    assert!(building(place).is_some(), "it was stopped too late");
    terminal
}

#[test]
fn of_two_who_continue_one_log_at_a_time_the_second_is_refused_and_displaces_nothing() {
    let Sample { place, .. } = short();
    let first = stopped_behind_its_copy(&place);
    let before = files(&place.log);
    let log = place.log.to_str().unwrap();
    let second = by_person(&place.command(&["continue", log, "--json"]));
    assert_eq!((status(&second), &json(&second)["error"]["code"]), (4, &"locked".into()));
    assert!(text(&second.stdout).contains("somebody else is continuing"), "{second:?}");
    assert!(files(&place.log) == before, "the second changed nothing");
    first.signal(Signal::CONT);
    let (code, said) = first.end();
    assert_eq!(code, 0, "{said}");
    assert!(files(&old_log(&place)) == before, "the old log is kept as it was");
    assert_eq!(status(&place.run(&["true"])), 0);
    place.verified();
    let others = fs::read_dir(place.directory.path()).unwrap().map(|it| it.unwrap().file_name());
    let logs = others.filter(|name| name.to_string_lossy().contains("log")).count();
    assert_eq!(logs, 2, "the new log and the old one");
}

/// Ways in which the name of a log comes to stand for something else.
fn replaced_by(way: &str, place: &Place, other: &Place) {
    let aside = place.log.with_file_name("moved");
    match way {
        "continued" => {
            continued(place);
        }
        "link" => {
            fs::rename(&place.log, &aside).unwrap();
            std::os::unix::fs::symlink(&aside, &place.log).unwrap();
        }
        "nothing" => fs::rename(&place.log, &aside).unwrap(),
        _ => {
            fs::rename(&place.log, &aside).unwrap();
            fs::rename(&other.log, &place.log).unwrap();
        }
    }
}

#[test]
fn a_log_that_was_continued_or_replaced_while_a_person_looked_at_it_is_refused_as_that() {
    for way in ["continued", "link", "nothing", "another log"] {
        let (Sample { place, .. }, other) = (short(), Place::with_log());
        other.run(&["true"]);
        let log = place.log.to_str().unwrap().to_string();
        let mut late = Terminal::start(&place, &["continue", &log]);
        late.wait_for("type continue");
        replaced_by(way, &place, &other);
        if way == "continued" {
            assert_eq!(status(&place.run(&["true"])), 0);
        }
        let before = contents(place.directory.path());
        late.type_line("continue");
        let (code, said) = late.end();
        assert_eq!(code, 1, "{way}: {said}");
        assert!(said.contains("somebody continued the log"), "{way}: {said}");
        assert!(contents(place.directory.path()) == before, "{way}: nothing was changed");
    }
}

#[test]
fn a_log_that_takes_the_place_of_one_that_is_being_continued_keeps_the_place() {
    for way in ["link", "nothing", "another log"] {
        let (Sample { place, .. }, other) = (short(), Place::with_log());
        other.run(&["true"]);
        let late = stopped_behind_its_copy(&place);
        replaced_by(way, &place, &other);
        let unfinished = building(&place).unwrap();
        let kept = || {
            let mut kept = files(place.directory.path());
            kept.retain(|path, _| !path.to_string_lossy().contains(".continuing"));
            kept
        };
        let before = kept();
        late.signal(Signal::CONT);
        let (code, said) = late.end();
        assert_eq!(code, 1, "{way}: {said}");
        assert!(kept() == before, "{way}: what has the place was not touched");
        assert!(!unfinished.exists(), "{way}: what was made is removed");
    }
}
