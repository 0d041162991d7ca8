//! Where a log begins, what its archive says, and what ties its records to HEAD: `holdpoint verify`
//! and `replay/verify.py` say the same.

use crate::filler::fill;
use crate::program;
use crate::program::{Place, status};
use crate::salvage_forged::{ends_up_to, set_head_back};
use crate::tamper::changes::rechained;
use crate::tamper::memory::{Image, SEALED};
use crate::verify_py::{Part, Verifier, has_python, python, rust, verifier};
use crate::verify_py_support;
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::payload::Raw;
use holdpoint_domain::log::{ClockStepped, HistoryArchived};
use holdpoint_domain::world::envelope::Encoded;
use holdpoint_domain::world::{STATE_SCHEMA_VERSION, envelope};
use holdpoint_domain::{Idempotency, Proof};
use holdpoint_log_format::{Flags, Head, LogId, names};
use holdpoint_testing::hand_made as support;
use holdpoint_testing::hand_made::{HandMadeLog, change_head, encoded, envelope};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

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
        envelope::encode(&envelope).unwrap()
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
                // Kind, speaker, length, `holdpoint`, length, `story-1`.
                changed(body, |it| it.payload[20] = 2)
            },
            false,
        ),
        ("one by a name that is no text", |body| changed(body, |it| it.payload[3] = 0xff), false),
    ]
}

/// A log of three segments of which HEAD says that it begins behind the first.
fn behind_an_anchor(made: impl Fn(HistoryArchived) -> Records) -> (HandMadeLog, Head) {
    let mut log = HandMadeLog::new();
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
    let output = place.holdpoint(&["archive", to.to_str().unwrap()]);
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
    fs::remove_file(at("two").join(names::ARCHIVE)).unwrap();
    assert_same(&at("two"), "an archive that is not marked as one");
    fs::write(at("two").join(names::ARCHIVE), "").unwrap();
    let ends = ends_up_to(&at("two"), u64::MAX);
    set_head_back(&at("two"), ends[ends.len() - 2]);
    assert_same(&at("two"), "an archive whose HEAD was set back");
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
    let mut log = HandMadeLog::of(LogId([9; 16]));
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
    let output = place.holdpoint(&["log", "--json", "--log", path]);
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
