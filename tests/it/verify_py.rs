//! Two programs that share no line of code say the same of every log: `holdpoint verify`, and
//! `replay/verify.py`, which was written from FORMAT.md alone. Intact logs, archived, salvaged and
//! withheld ones, forged beginnings, logs with their archives, and every kind of single damage: the
//! same row, the same verdict, the same first bad place, the same records tied to HEAD.

use crate::filler::fill;
use crate::program;
use crate::program::{Place, skip, status};
use crate::tamper::changes::rechained;
use crate::tamper::memory::{ACTIVE, Image, SEALED};
use crate::verify_py_support;
use crate::verify_py_support::Damage;
use holdpoint_domain::codec::{self, Encoded};
use holdpoint_domain::decision_point::Authentication;
use holdpoint_domain::event::{ClockStepped, HistoryArchived, Raw};
use holdpoint_domain::hash::Digest;
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::{Idempotency, Proof};
use holdpoint_log_files::{DirectoryStorage, LogReader, Ties};
use holdpoint_log_format::{Flags, Head, LogId, SegmentHeader, names};
use holdpoint_replay::machine::this_boot;
use holdpoint_replay::{Problem, ReadOptions, Report, Verdict, verify};
use holdpoint_testing::hand_made as support;
use holdpoint_testing::hand_made::{HandMade, change_head, encoded, envelope};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Reads paths, one a line, and answers each with what the verifier says of the log there.
const DRIVER: &str = r#"
import importlib.util, json, pathlib, sys
spec = importlib.util.spec_from_file_location("verify", sys.argv[1])
verify = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verify)
for line in sys.stdin:
    log = verify.settled(pathlib.Path(line.rstrip("\n")))
    first = list(log.findings[0][:3]) if log.findings else None
    said = {"row": log.row, "verdict": log.verdict, "first": first}
    print(json.dumps(said | {"standing": verify.standing(log)}), flush=True)
"#;

fn verifier() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("replay/verify.py")
}

fn python(arguments: &[&str]) -> Command {
    let mut python = Command::new("python3");
    python.arg("-B").args(arguments);
    python
}

/// Whether there is a Python to compare with; says so where there is none.
fn has_python() -> bool {
    let is_there = python(&["--version"]).output().is_ok_and(|output| output.status.success());
    if !is_there {
        skip("no python3 here, so verify.py is not compared with `holdpoint verify`");
    }
    is_there
}

// ---- What both say -----------------------------------------------------------------------------

/// What a verifier says, as far as both can: one of them knows nothing of events.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    row: u64,
    verdict: String,
    first: Option<(String, u64, u64)>,
}

impl Said {
    fn of_report(report: &Report) -> Self {
        let of_bytes =
            |finding: &&holdpoint_replay::Finding| matches!(finding.problem, Problem::Log(_));
        let places = report.findings.iter().filter(of_bytes).map(|finding| &finding.place);
        let first = places.min_by_key(|place| (place.file.contains('/'), *place));
        let unstated = report.findings.iter().find(|finding| is_unstated(finding));
        let first = first.or(unstated.map(|finding| &finding.place));
        let is_unproven = report.row == 12 || report.unproven.is_some();
        let verdict = match report.verdict {
            Verdict::ForbiddenEvents if unstated.is_some() => Verdict::ForbiddenEvents,
            Verdict::ForbiddenEvents if is_unproven => Verdict::TailUnproven,
            Verdict::ForbiddenEvents => Verdict::Intact,
            of_bytes => of_bytes,
        };
        Self {
            row: report.row.into(),
            verdict: verdict.to_string(),
            first: first.map(|place| (place.file.clone(), place.offset, place.sequence)),
        }
    }

    fn of_python(said: &Value) -> Self {
        let first = said["first"].as_array().map(|first| {
            let file = first[0].as_str().unwrap().to_string();
            (file, first[1].as_u64().unwrap(), first[2].as_u64().unwrap())
        });
        let verdict = said["verdict"].as_str().unwrap().to_string();
        Self { row: said["row"].as_u64().unwrap(), verdict, first }
    }
}

/// The one finding about events that both know.
fn is_unstated(finding: &holdpoint_replay::Finding) -> bool {
    matches!(finding.problem, Problem::BeginningUnstated { .. })
}

/// First and last record, and how they stand.
type Part = (u64, u64, String);

/// Records at either end of a part that are compared: a forged HEAD can name 2^64 of them.
const COMPARED: u64 = 20;

/// Asserts that the ties of the reading verbs, without any index, say the same of these records.
/// They do not tell a withheld payload from one that is there.
fn assert_standing(directory: &Path, parts: &[Part], what: &str) {
    let storage = DirectoryStorage::new(directory);
    let reader = LogReader::of(&storage).unwrap();
    let mut ties = Ties::begin(&reader);
    while ties.due(&reader).is_some() {
        ties.read(&reader, &mut |_| {}, &mut |_| {}).unwrap();
    }
    for (first, last, standing) in parts {
        let behind_first = first.saturating_add(COMPARED).min(*last);
        let before_last = last.saturating_sub(COMPARED).max(*first);
        for sequence in (*first..=behind_first).chain(before_last..=*last) {
            let found = ties.standing_of(sequence).name();
            let stated = if standing == "withheld" { "proven" } else { standing };
            assert_eq!(stated, found, "{what}: record {sequence} of {parts:?}");
        }
    }
}

fn rust(directory: &Path) -> Said {
    let storage = DirectoryStorage::new(directory);
    let options = ReadOptions { boot: this_boot(), is_locked: &|| false };
    Said::of_report(&verify(&storage, options, &mut |_| {}).unwrap())
}

/// A Python that verifies one directory after another.
struct Verifier {
    python: Child,
    paths: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Verifier {
    fn start() -> Self {
        let mut command = python(&["-c", DRIVER]);
        command.arg(verifier()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut python = command.spawn().unwrap();
        let answers = BufReader::new(python.stdout.take().unwrap());
        let paths = python.stdin.take();
        Self { python, paths, answers }
    }

    fn verify(&mut self, directory: &Path) -> Said {
        let (said, parts) = self.verify_with_standing(directory);
        assert_standing(directory, &parts, &directory.display().to_string());
        said
    }

    fn verify_with_standing(&mut self, directory: &Path) -> (Said, Vec<Part>) {
        writeln!(self.paths.as_mut().unwrap(), "{}", directory.display()).unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        let said = serde_json::from_str(&answer);
        let said: Value = said.unwrap_or_else(|error| panic!("{directory:?}: {error}: {answer:?}"));
        (Said::of_python(&said), serde_json::from_value(said["standing"].clone()).unwrap())
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        drop(self.paths.take());
        let ended = self.python.wait();
        assert!(ended.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// Asserts that both say the same of every image; gives how many said which verdict.
fn assert_agreement(damages: &[Damage]) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let share = damages.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for damages in damages.chunks(share) {
            scope.spawn(|| compare(damages));
        }
    });
}

fn compare(damages: &[Damage]) {
    let mut verifier = Verifier::start();
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(names::SEGMENTS)).unwrap();
    for (what, image) in damages {
        for file in [names::HEAD, names::LOCK, SEALED, ACTIVE] {
            fs::write(directory.path().join(file), image.bytes(file)).unwrap();
        }
        let (said, parts) = verifier.verify_with_standing(directory.path());
        assert_eq!(said, rust(directory.path()), "{what}");
        assert_standing(directory.path(), &parts, what);
    }
}

// ---- One damage at a time ----------------------------------------------------------------------

#[test]
fn both_verifiers_name_the_same_place_for_every_single_damage() {
    if !has_python() {
        return;
    }
    let damages = verify_py_support::all(&Image::sample());
    assert!(damages.len() > 2_500, "{}", damages.len());
    assert_agreement(&damages);
}

#[test]
fn both_verifiers_tell_a_torn_tail_from_damage_whoever_left_it() {
    if !has_python() {
        return;
    }
    let unwitnessed = verify_py_support::unwitnessed(&Image::sample());
    let mut damages = Vec::new();
    for (owner, image) in verify_py_support::owners(&unwitnessed) {
        let tails = verify_py_support::tails(&image).into_iter();
        damages.extend(tails.map(|(what, image)| (format!("{what}, owner {owner}"), image)));
    }
    assert!(damages.len() > 600, "{}", damages.len());
    assert_agreement(&damages);
}

#[test]
fn both_verifiers_agree_on_files_that_are_missing_moved_or_of_another_kind() {
    if !has_python() {
        return;
    }
    let mut verifier = Verifier::start();
    for (what, change) in changes() {
        let directory = tempfile::tempdir().unwrap();
        Image::sample().write(directory.path());
        change(directory.path());
        let (said, parts) = verifier.verify_with_standing(directory.path());
        assert_eq!(said, rust(directory.path()), "{what}");
        // Where a name that is no segment's is wrong, `verify` looks at no segment; the reading
        // verbs do.
        if !["cut is a file", "ARCHIVE is a directory"].iter().any(|wrong| what.contains(wrong)) {
            assert_standing(directory.path(), &parts, what);
        }
    }
}

type Change = (&'static str, fn(&Path));

/// What becomes of names in the directory.
fn changes() -> Vec<Change> {
    fn gone(directory: &Path, name: &str) {
        fs::remove_file(directory.join(name)).unwrap();
    }
    fn linked(directory: &Path, name: &str) {
        fs::rename(directory.join(name), directory.join("elsewhere")).unwrap();
        symlink(directory.join("elsewhere"), directory.join(name)).unwrap();
    }
    fn renamed(directory: &Path, from: &str, to: u64) {
        let to = directory.join(names::SEGMENTS).join(names::segment(to));
        fs::rename(directory.join(from), to).unwrap();
    }
    fn blank(directory: &Path, first: u64) {
        let file = directory.join(names::SEGMENTS).join(names::segment(first));
        fs::write(file, vec![0; 65_536]).unwrap();
    }
    fn garbage_head(directory: &Path) {
        fs::write(directory.join(names::HEAD), "garbage").unwrap();
    }
    fn numbered_too_high(directory: &Path) -> PathBuf {
        directory.join(names::SEGMENTS).join("18446744073709551616.seg")
    }
    vec![
        ("no HEAD", |directory| gone(directory, names::HEAD)),
        ("no LOCK", |directory| gone(directory, names::LOCK)),
        ("no first segment", |directory| gone(directory, SEALED)),
        ("no last segment", |directory| gone(directory, ACTIVE)),
        ("HEAD alone", |directory| fs::remove_dir_all(directory.join("segments")).unwrap()),
        ("HEAD linked", |directory| linked(directory, names::HEAD)),
        ("LOCK linked", |directory| linked(directory, names::LOCK)),
        ("a segment linked", |directory| linked(directory, ACTIVE)),
        ("segments linked", |directory| linked(directory, names::SEGMENTS)),
        ("a segment renamed", |directory| renamed(directory, ACTIVE, 8)),
        ("the first renamed", |directory| renamed(directory, SEALED, 3)),
        ("another file beside", |directory| fs::write(directory.join("notes"), "x").unwrap()),
        ("ARCHIVE is a directory", |directory| {
            fs::create_dir(directory.join(names::ARCHIVE)).unwrap();
        }),
        ("a segment twice", |directory| {
            let again = directory.join(names::SEGMENTS).join(names::segment(9));
            fs::copy(directory.join(ACTIVE), again).unwrap();
        }),
        ("a blank segment behind", |directory| blank(directory, 11)),
        ("a blank segment behind records that are not there", |directory| blank(directory, 15)),
        ("a blank segment behind a seal and records that are not there", |directory| {
            gone(directory, ACTIVE);
            blank(directory, 15);
        }),
        ("no segment but a blank one", |directory| {
            gone(directory, SEALED);
            gone(directory, ACTIVE);
            blank(directory, 15);
        }),
        ("a blank segment below the mark", |directory| {
            let length = fs::metadata(directory.join(ACTIVE)).unwrap().len();
            fs::write(directory.join(ACTIVE), vec![0; usize::try_from(length).unwrap()]).unwrap();
        }),
        ("an empty segment", |directory| fs::write(directory.join(ACTIVE), "").unwrap()),
        ("a segment with a number that no sequence has", |directory| {
            fs::copy(directory.join(SEALED), numbered_too_high(directory)).unwrap();
        }),
        ("no segment but one with such a number", |directory| {
            gone(directory, SEALED);
            fs::rename(directory.join(ACTIVE), numbered_too_high(directory)).unwrap();
        }),
        ("garbage in HEAD and cut is a file", |directory| {
            garbage_head(directory);
            fs::write(directory.join(names::CUT), "").unwrap();
        }),
        ("garbage in HEAD and segments linked", |directory| {
            garbage_head(directory);
            linked(directory, names::SEGMENTS);
        }),
        ("no HEAD and ARCHIVE is a directory", |directory| {
            gone(directory, names::HEAD);
            fs::create_dir(directory.join(names::ARCHIVE)).unwrap();
        }),
        ("no HEAD and cut is a file", |directory| {
            gone(directory, names::HEAD);
            fs::write(directory.join(names::CUT), "").unwrap();
        }),
        ("no HEAD and segments linked", |directory| {
            gone(directory, names::HEAD);
            linked(directory, names::SEGMENTS);
        }),
        ("no HEAD, no LOCK and segments linked", |directory| {
            gone(directory, names::HEAD);
            gone(directory, names::LOCK);
            linked(directory, names::SEGMENTS);
        }),
        ("cut is a file and segments linked", |directory| {
            fs::write(directory.join(names::CUT), "").unwrap();
            linked(directory, names::SEGMENTS);
        }),
        ("no segment, and HEAD at the end of an archive", |directory| {
            fs::remove_dir_all(directory.join("segments")).unwrap();
            change_head(directory, |head| Head {
                anchor_sequence: head.newest_sequence,
                anchor_link: head.newest_link,
                ..head
            });
        }),
        ("a HEAD at its anchor with another link", |directory| {
            change_head(directory, |head| Head { newest_sequence: 0, ..head });
        }),
        ("a HEAD that begins at another link than genesis", |directory| {
            change_head(directory, |head| Head { anchor_link: head.newest_link, ..head });
        }),
        ("a HEAD at the last number of all", |directory| {
            change_head(directory, |head| Head { newest_sequence: u64::MAX, ..head });
        }),
        ("a HEAD just before it", |directory| {
            change_head(directory, |head| Head { newest_sequence: u64::MAX - 1, ..head });
        }),
        ("nothing at all", |directory| {
            fs::remove_dir_all(directory.join("segments")).unwrap();
            gone(directory, names::HEAD);
        }),
    ]
}

// ---- Whole logs --------------------------------------------------------------------------------

#[test]
fn both_verifiers_agree_on_the_stored_log_of_version_1() {
    if !has_python() {
        return;
    }
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("log-format/tests/golden/v1-segment.bin");
    let mut segment = fs::read(golden).unwrap();
    segment.resize(65_536, 0);
    let header = SegmentHeader::decode(segment.first_chunk().unwrap()).unwrap();
    let head = Head::at_anchor(header.log, &header.previous, this_boot());
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(names::SEGMENTS)).unwrap();
    fs::write(directory.path().join(names::HEAD), head.encode()).unwrap();
    fs::write(directory.path().join(SEALED), segment).unwrap();
    let said = Verifier::start().verify(directory.path());
    assert_eq!((said.row, said.verdict.as_str()), (9, "intact"));
    assert_eq!(said, rust(directory.path()));
}

#[test]
fn both_verifiers_agree_on_filled_archived_and_salvaged_logs_and_on_damage_in_them() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    fill(&place.log, 200);
    let mut verifier = Verifier::start();
    let mut assert_same = |directory: &Path| {
        let said = verifier.verify(directory);
        assert_eq!(said, rust(directory), "{directory:?}");
        said.verdict
    };
    assert_eq!(assert_same(&place.log), "intact");
    let (archive, salvaged) =
        (place.directory.path().join("old"), place.directory.path().join("new"));
    let moved = place.holdpoint(&["log", "archive", archive.to_str().unwrap()]);
    assert_eq!(status(&moved), 0, "{}", program::text(&moved.stderr));
    assert_eq!(assert_same(&place.log), "intact");
    assert_eq!(assert_same(&archive), "intact");
    for at in [4_096 + 40, 50_000, 120_000] {
        support::flip(&archive.join(SEALED), at.min(65_000));
        assert_eq!(assert_same(&archive), "corrupt");
    }
    let (from, to) = (archive.to_str().unwrap(), salvaged.to_str().unwrap());
    let output = place.holdpoint(&["salvage", from, to]);
    assert!(salvaged.join(names::HEAD).exists(), "{}", program::text(&output.stderr));
    assert_eq!(assert_same(&salvaged), "intact");
}

#[test]
fn both_verifiers_find_withheld_records_that_nothing_authorises() {
    if !has_python() {
        return;
    }
    let mut log = HandMade::of(LogId([9; 16]));
    log.run();
    let record = || encoded(ClockStepped { step_ns: 1 }.into());
    log.batch_with(&[record(), record()], Flags::WITHHELD, true);
    log.run();
    let directory = tempfile::tempdir().unwrap();
    log.write(directory.path());
    let said = Verifier::start().verify(directory.path());
    assert_eq!(said, rust(directory.path()));
    assert_eq!((said.row, said.verdict.as_str()), (10, "corrupt"));
    log.batch_with(&[record(), record()], Flags::WITHHELD, false);
    log.write(directory.path());
    assert_eq!(Verifier::start().verify(directory.path()), rust(directory.path()));
    support::flip(&directory.path().join(SEALED), log.head().end_offset + 64);
    let said = Verifier::start().verify(directory.path());
    assert_eq!(said, rust(directory.path()));
    assert!(said.first.is_some_and(|(_, offset, _)| offset < log.head().end_offset));
}

// ---- Where a log begins ------------------------------------------------------------------------

/// Records, each a batch of its own.
type Records = Vec<(Encoded, Flags)>;

/// Words, the records that are made of a right statement, and whether they state the beginning.
type Statement = (&'static str, fn(HistoryArchived) -> Records, bool);

fn statements() -> Vec<Statement> {
    fn one(body: HistoryArchived) -> Records {
        vec![(encoded(body.into()), Flags::NONE)]
    }
    fn proven(body: HistoryArchived) -> Encoded {
        let mut envelope = envelope(body.into());
        envelope.proof = Some(Proof { user: 70_000, by: Authentication::Terminal });
        envelope.causation = Some(251);
        let text = |text: &str| text.to_string();
        let (tenant, engine, key) = (text("tenant"), text("engine"), text("key"));
        let content = Digest::from_bytes([3; 32]);
        envelope.idempotency = Some(Idempotency { tenant, engine, key, content });
        codec::encode(&envelope).unwrap()
    }
    fn changed(body: HistoryArchived, change: fn(&mut Encoded)) -> Records {
        let mut statement = encoded(body.into());
        change(&mut statement);
        vec![(statement, Flags::NONE)]
    }
    vec![
        ("none", |_| Vec::new(), false),
        ("one", one, true),
        (
            "one by a proven speaker, with a cause and a key",
            |b| vec![(proven(b), Flags::NONE)],
            true,
        ),
        ("two", |body| [one(body.clone()), one(body)].concat(), true),
        (
            "one of another anchor",
            |body| one(HistoryArchived { anchor_sequence: body.anchor_sequence + 1, ..body }),
            false,
        ),
        (
            "one with another link",
            |body| one(HistoryArchived { anchor_link: Digest::from_bytes([3; 32]), ..body }),
            false,
        ),
        ("one that is withheld", |b| vec![(encoded(b.into()), Flags::WITHHELD)], false),
        ("one of another version", |body| changed(body, |it| it.version = 2), false),
        ("one under another kind", |body| changed(body, |it| it.kind = 10), false),
        ("one with a byte behind it", |body| changed(body, |it| it.payload.push(0)), false),
        (
            "one that is cut",
            |body| changed(body, |it| it.payload.truncate(it.payload.len() - 1)),
            false,
        ),
        (
            "one with its kind in a wider form",
            |body| changed(body, |it| drop(it.payload.splice(..1, [251, 9, 0]))),
            false,
        ),
        ("one by an unknown speaker", |body| changed(body, |it| it.payload[1] = 5), false),
        (
            "one whose cause is no option",
            |body| {
                // Kind, speaker, length, `ci`, length, `story-1`.
                changed(body, |it| it.payload[13] = 2)
            },
            false,
        ),
        ("one by a name that is no text", |body| changed(body, |it| it.payload[3] = 0xff), false),
    ]
}

/// A log of three segments of which HEAD says that it begins behind the first.
fn behind_an_anchor(made: impl Fn(HistoryArchived) -> Records) -> (HandMade, Head) {
    let mut log = HandMade::new();
    log.run();
    let (anchor, state) = (log.chain, log.world.carry());
    let statement = HistoryArchived {
        first_sequence: 1,
        anchor_sequence: anchor.sequence,
        anchor_link: Digest::from_bytes(anchor.link.0),
        archived_to: "archive \u{e9}".into(),
        state_schema: STATE_SCHEMA_VERSION,
        state_fingerprint: log.world.fingerprint_digest(),
        state: Raw::from(state),
    };
    log.roll();
    log.run();
    log.roll();
    log.run();
    for (record, flags) in made(statement) {
        log.batch_with(&[record], flags, true);
    }
    log.run();
    let (anchor_sequence, anchor_link) = (anchor.sequence, anchor.link);
    let head = Head { anchor_sequence, anchor_link, ..log.head() };
    (log, head)
}

#[test]
fn both_verifiers_find_a_beginning_that_no_event_states() {
    if !has_python() {
        return;
    }
    let mut verifier = Verifier::start();
    for (what, made, is_stated) in statements() {
        let (log, head) = behind_an_anchor(made);
        let directory = tempfile::tempdir().unwrap();
        log.write_with_head(directory.path(), &head);
        let said = verifier.verify(directory.path());
        assert_eq!(said, rust(directory.path()), "{what}");
        let first = head.anchor_sequence + 1;
        let place = (format!("segments/{}", names::segment(first)), 4_096, first);
        if is_stated {
            assert_eq!((said.verdict.as_str(), said.first), ("intact", None), "{what}");
        } else if said.verdict == "corrupt" {
            assert_eq!(what, "one that is withheld");
        } else {
            let due = ("forbidden events", Some(place));
            assert_eq!((said.verdict.as_str(), said.first), due, "{what}");
        }
        // Behind damage nothing is looked for, and the damage comes first.
        support::flip(&directory.path().join(names::SEGMENTS).join(names::segment(first)), 4_200);
        let said = verifier.verify(directory.path());
        assert_eq!(said, rust(directory.path()), "{what}, damaged");
        assert_eq!(said.verdict, "corrupt");
    }
}

// ---- With an archive ---------------------------------------------------------------------------

/// What both say of a log and an archive: the exit code, the verdict, the first record that was
/// checked, and where the two do not fit.
fn together(place: &Place, archive: &Path) -> [(Option<i32>, Value); 2] {
    let archive = archive.to_str().unwrap();
    let other = python(&[verifier().to_str().unwrap(), "--json", "--archive", archive]);
    let output = { other }.arg(&place.log).output().unwrap();
    [place.holdpoint(&["verify", "--archive", archive, "--json"]), output].map(|output| {
        let said = program::json(&output);
        let places = said["findings"].as_array().unwrap().iter().map(|finding| {
            let file = finding["segment"].as_str().unwrap();
            let file = file.rsplit('/').next().unwrap();
            serde_json::json!([file, finding["offset"], finding["sequence"]])
        });
        let places: Vec<Value> = places.collect();
        let verdicts = ["log", "archive"].map(|which| said[which]["verdict"].clone());
        let said = serde_json::json!([said["verdict"], said["first_sequence"], verdicts, places]);
        (output.status.code(), said)
    })
}

fn moved(place: &Place, to: &Path) {
    let output = place.holdpoint(&["log", "archive", to.to_str().unwrap()]);
    assert_eq!(status(&output), 0, "{}", program::text(&output.stderr));
}

#[test]
fn both_verifiers_say_the_same_of_a_log_and_its_archive() {
    if !has_python() {
        return;
    }
    let (place, other) = (Place::new(), Place::new());
    let at = |name: &str| place.directory.path().join(name);
    let mut verdicts = Vec::new();
    let mut assert_same = |archive: &Path, what: &str| {
        let [rust, python] = together(&place, archive);
        assert_eq!(rust, python, "{what}");
        verdicts.push((what.to_string(), python.1[0].as_str().unwrap().to_string()));
    };
    fill(&place.log, 60);
    assert_same(&at("nowhere"), "no log begins elsewhere");
    moved(&place, &at("one"));
    assert_same(&at("one"), "the archive");
    fill(&place.log, 120);
    moved(&place, &at("two"));
    assert_same(&at("two"), "the second of two archives");
    assert_same(&at("one"), "the first of two archives");
    assert_same(&at("nowhere"), "no archive");
    fill(&other.log, 60);
    assert_same(&other.log, "another log");
    let two = at("two").join(names::SEGMENTS);
    let segments = || -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> =
            fs::read_dir(&two).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.retain(|path| path.extension().is_some_and(|extension| extension == "seg"));
        found.sort();
        found
    };
    let first = segments()[0].clone();
    support::flip(&first, 4_200);
    assert_same(&at("two"), "a damaged archive");
    support::flip(&first, 4_200);
    let head = fs::read(at("two").join(names::HEAD)).unwrap();
    change_head(&at("two"), |head| Head { log: LogId([1; 16]), ..head });
    assert_same(&at("two"), "an archive with another identity");
    fs::write(at("two").join(names::HEAD), &head).unwrap();
    let last = segments().pop().unwrap();
    let kept = fs::read(&last).unwrap();
    fs::remove_file(&last).unwrap();
    assert_same(&at("two"), "an archive whose last segment is missing");
    fs::write(&last, kept).unwrap();
    assert_same(&at("two"), "the archive again");
    let intact = ["the archive", "the second of two archives", "the archive again"];
    for (what, verdict) in &verdicts {
        let due = match what.as_str() {
            what if intact.contains(&what) => "intact",
            "no log begins elsewhere" | "no archive" => "nothing here",
            _ => "corrupt",
        };
        assert_eq!(verdict, due, "{what}");
    }
    let log = place.log.to_str().unwrap();
    let itself = python(&[verifier().to_str().unwrap(), "--archive", log, log]).output().unwrap();
    assert_eq!(itself.status.code(), Some(2));
}

// ---- What ties records to HEAD -----------------------------------------------------------------

fn standing(directory: &Path) -> Vec<Part> {
    Verifier::start().verify_with_standing(directory).1
}

fn part(first: u64, last: u64, standing: &str) -> Part {
    (first, last, standing.to_string())
}

#[test]
fn what_lies_behind_damage_is_tied_back_to_head() {
    if !has_python() {
        return;
    }
    let image = Image::sample();
    let items = image.items(SEALED);
    let on = |image: &Image| {
        let directory = tempfile::tempdir().unwrap();
        image.write(directory.path());
        standing(directory.path())
    };
    assert_eq!(on(&image), [part(1, 10, "proven")]);
    let mut flipped = image.clone();
    flipped.bytes_mut(SEALED)[items[2].at.start + 70] ^= 1;
    assert_eq!(on(&flipped), [part(1, 3, "unproven"), part(4, 10, "proven")]);
    // The link of the fifth is known, by the sixth; its content and the link before it are not.
    flipped.bytes_mut(SEALED)[items[4].at.start + 70] ^= 1;
    assert_eq!(on(&flipped), [part(1, 5, "unproven"), part(6, 10, "proven")]);
    // Its link is made anew: the link before the record behind it is lost.
    let (mut remade, _) = rechained(&image, SEALED, 2);
    let behind = items[3].at.start..;
    remade.bytes_mut(SEALED)[behind.clone()].copy_from_slice(&image.bytes(SEALED)[behind]);
    assert_eq!(on(&remade), [part(1, 4, "unproven"), part(5, 10, "proven")]);
    // Sealed anew as well: the next header names another end, and nothing leads into the segment.
    let (mut resealed, last) = rechained(&image, SEALED, 2);
    resealed.reseal(last);
    assert_eq!(on(&resealed), [part(1, 6, "unproven"), part(7, 10, "proven")]);
    let unwitnessed = verify_py_support::unwitnessed(&image);
    assert_eq!(on(&unwitnessed), [part(1, 7, "proven"), part(8, 10, "unproven")]);
}

#[test]
fn standing_is_what_the_reading_verbs_say_of_each_record() {
    if !has_python() {
        return;
    }
    let mut log = HandMade::of(LogId([9; 16]));
    log.run();
    let record = || encoded(ClockStepped { step_ns: 1 }.into());
    log.batch_with(&[record(), record()], Flags::WITHHELD, true);
    log.roll();
    log.run();
    let head = log.head();
    log.run();
    let directory = tempfile::tempdir().unwrap();
    log.write_with_head(directory.path(), &head);
    let parts = standing(directory.path());
    let shown: Vec<&str> = parts.iter().map(|part| part.2.as_str()).collect();
    assert_eq!(shown, ["proven", "withheld", "proven", "unproven"]);
    let place = Place::new();
    let path = directory.path().to_str().unwrap();
    let output = place.holdpoint(&["log", "show", "--json", "--log", path]);
    let told = program::text(&output.stdout);
    let mut count = 0;
    for line in told.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let sequence = line["sequence"].as_u64().unwrap();
        let holds = |part: &&Part| (part.0..=part.1).contains(&sequence);
        assert_eq!(line["standing"], parts.iter().find(holds).unwrap().2.as_str(), "{line}");
        count += 1;
    }
    assert_eq!(count, log.chain.sequence);
    let other = python(&[verifier().to_str().unwrap(), "--standing", path]).output().unwrap();
    let printed = program::text(&other.stdout);
    for (first, last, how) in &parts {
        assert!(printed.contains(&format!("records {first} to {last}: {how}\n")), "{printed}");
    }
}

// ---- The command line --------------------------------------------------------------------------

#[test]
fn both_programs_end_with_the_same_exit_code_and_print_the_verdict_and_the_first_bad_place() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    assert_eq!(exits(&place), [3, 3]);
    assert_eq!(status(&place.run(&["true"])), 0);
    assert_eq!(exits(&place), [0, 0]);
    let segment = place.log.join(SEALED);
    support::flip(&segment, 4_096 + 70);
    assert_eq!(exits(&place), [6, 6]);
    let shown = python(&[verifier().to_str().unwrap()]).arg(&place.log).output().unwrap();
    let shown = program::text(&shown.stdout);
    assert!(shown.starts_with("corrupt\n"), "{shown}");
    assert!(shown.contains(&format!("{SEALED}, byte 4096, sequence 1:")), "{shown}");
    let output = python(&[verifier().to_str().unwrap(), "--json"]).arg(&place.log).output();
    let found = program::json(&output.unwrap());
    assert_eq!(
        (&found["verdict"], &found["findings"][0]["offset"]),
        (&"corrupt".into(), &4_096.into())
    );
    support::make_newer(&place.log.join(names::HEAD));
    assert_eq!(exits(&place), [1, 1]);
    let wrong = python(&[verifier().to_str().unwrap(), "--no-such-option"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

/// How `holdpoint verify` and `verify.py` end.
fn exits(place: &Place) -> [i32; 2] {
    let other = python(&[verifier().to_str().unwrap()]).arg(&place.log).output().unwrap();
    [status(&place.holdpoint(&["verify"])), status(&other)]
}

#[test]
fn the_other_verifier_is_short_and_needs_the_standard_library_alone() {
    let text = fs::read_to_string(verifier()).unwrap();
    assert!(text.lines().count() <= 450 && text.lines().all(|line| line.len() <= 100));
    let imports: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("import ") || line.starts_with("from "))
        .collect();
    let standard = "import argparse, fcntl, hashlib, json, os, pathlib, stat, struct, sys, zlib";
    assert_eq!(imports, [standard, "from collections import namedtuple"]);
}
