//! A record is looked up by what it is about, whose it is, who did it, its kind, its cause and its
//! key; and no two terms are taken for one another.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::execution_loop::Exit;
use holdpoint_domain::log::LogEvent;
use holdpoint_domain::world::envelope::{Encoded, encode};
use holdpoint_domain::world::{
    QuestionKey, REGISTRY, RowFact, RowKind, RunKey, TERMS_VERSION, Term, kind_may_begin,
    label_hash, row_of_record, terms_of, terms_of_record, written_in_rows,
};
use holdpoint_domain::{ActorId, Envelope, Event, Idempotency};
use holdpoint_testing::story::samples::samples;
use holdpoint_testing::story::seed;
use quickcheck::{Arbitrary as _, Gen};

const DOCUMENT: &str = include_str!("../../../../log-format/index/INDEX.md");

/// Every term of an envelope, by its canonical bytes.
fn canonical(envelope: &Envelope) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    terms_of(envelope, &mut |term| found.push(term.canonical()));
    found
}

fn has(envelope: &Envelope, term: Term<'_>) -> bool {
    canonical(envelope).contains(&term.canonical())
}

/// Events that are about nothing that has an id: the log itself, and what an actor may do.
const ABOUT_NOTHING: [&str; 18] = [
    "application.reducer_fingerprint_recorded",
    "interruption_thread.capability_changed",
    "log.clock_step_accepted",
    "log.clock_stepped",
    "log.configuration_changed",
    "log.continued",
    "log.fingerprint_recorded",
    "log.head_missing_accepted",
    "log.history_archived",
    "log.policy_changed",
    "log.policy_unknown",
    "log.policy_unlocked",
    "log.records_lost",
    "log.records_unproven",
    "log.recovery_performed",
    "log.rules_adopted",
    "log.salvaged",
    "log.segment_indexed",
];

#[test]
fn every_event_is_found_by_what_it_is_about() {
    let mut kinds: BTreeSet<&str> = REGISTRY.iter().map(|kind| kind.name).collect();
    for sample in samples() {
        let mut entities = 0;
        terms_of(&sample, &mut |term| entities += u32::from(is_entity(&term)));
        if entities > 0 {
            kinds.remove(sample.event.kind().name);
        }
        let expected = [
            sample.event.loop_id().map(Term::Loop),
            sample.event.decision_point().map(Term::DecisionPoint),
            sample.event.stream().map(Term::Stream),
            sample.event.thread().map(|(tenant, correlation)| Term::Thread { tenant, correlation }),
        ];
        assert!(expected.into_iter().flatten().all(|term| has(&sample, term)), "{sample:?}");
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ABOUT_NOTHING);
}

fn is_entity(term: &Term<'_>) -> bool {
    match term {
        Term::Loop(_)
        | Term::Request(_)
        | Term::DecisionPoint(_)
        | Term::Thread { .. }
        | Term::Tenant(_)
        | Term::Session { .. }
        | Term::WorkOrder { .. }
        | Term::Stream(_)
        | Term::Refused(_) => true,
        Term::Correlation(_)
        | Term::Actor { .. }
        | Term::Kind(_)
        | Term::CausedBy(_)
        | Term::Key { .. } => false,
    }
}

#[test]
fn every_event_of_a_request_is_found_by_the_request() {
    let mut systems = BTreeMap::new();
    for sample in samples() {
        let kind = sample.event.kind();
        let mut of_request = false;
        terms_of(&sample, &mut |term| of_request |= matches!(term, Term::Request(_)));
        *systems.entry(kind.system).or_insert(of_request) &= of_request;
    }
    let with: Vec<_> = systems.into_iter().filter(|(_, all)| *all).map(|(name, _)| name).collect();
    assert_eq!(with, ["human_decision"]);
}

#[test]
fn every_event_is_found_by_its_story_its_actor_its_kind_and_its_key() {
    for sample in samples() {
        let (kind, id) = (sample.actor.kind, sample.actor.id.as_str());
        assert!(has(&sample, Term::Correlation(&sample.correlation)));
        assert!(has(&sample, Term::Actor { kind, id }));
        assert!(has(&sample, Term::Kind(sample.event.kind().kind)));
        let mut keys = Vec::new();
        terms_of(&sample, &mut |term| {
            if term.is_key() {
                keys.push(term.canonical());
            }
        });
        let due = sample.idempotency.as_ref().map(|own| key_of(own, &sample.correlation));
        assert_eq!(keys, due.map(|key| key.canonical()).into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn every_event_is_found_by_what_caused_it() {
    for sample in samples() {
        let caused = Envelope { causation: Some(7), ..sample };
        assert!(has(&caused, Term::CausedBy(7)) && !has(&caused, Term::CausedBy(8)), "{caused:?}");
        let of_itself = Envelope { causation: None, ..caused };
        let mut causes = 0;
        terms_of(&of_itself, &mut |term| causes += u32::from(matches!(term, Term::CausedBy(_))));
        assert_eq!(causes, 0, "{of_itself:?}");
    }
}

fn key_of<'a>(own: &'a Idempotency, correlation: &'a str) -> Term<'a> {
    Term::Key { tenant: &own.tenant, engine: &own.engine, correlation, key: &own.key }
}

#[test]
fn a_record_has_the_terms_of_its_envelope_and_one_that_cannot_be_read_has_none() {
    for sample in samples() {
        let Encoded { kind, version, mut payload } = encode(&sample).unwrap();
        let of_record = |kind, version, payload: &[u8]| {
            let mut found = Vec::new();
            terms_of_record(kind, version, payload, &mut |term, is_key| {
                found.push((term.to_vec(), is_key));
            });
            found
        };
        let mut due = Vec::new();
        terms_of(&sample, &mut |term| due.push((term.canonical(), term.is_key())));
        assert_eq!(of_record(kind, version, &payload), due);
        assert_eq!(of_record(kind, version + 1, &payload), []);
        payload.push(0);
        assert_eq!(of_record(kind, version, &payload), []);
    }
}

/// Texts that run into each other when nothing keeps them apart.
const TEXTS: [&str; 6] = ["", "a", "ab", "b", "\0", "\u{1}\0\0\0\0\0\0\0a"];

#[test]
fn table_no_two_terms_have_the_same_canonical_bytes() {
    let mut terms: Vec<Term<'_>> = vec![Term::Kind(0), Term::Kind(1), Term::Kind(256)];
    terms.extend([0, 1, 256, u64::MAX].map(Term::CausedBy));
    for one in TEXTS {
        terms.extend([Term::Loop(one), Term::Request(one), Term::DecisionPoint(one)]);
        terms.extend([Term::Tenant(one), Term::Refused(one), Term::Correlation(one)]);
        terms.extend(Actor::ALL.iter().map(|kind| Term::Actor { kind: *kind, id: one }));
        for other in TEXTS {
            terms.push(Term::Thread { tenant: one, correlation: other });
            terms.push(Term::Session { tenant: one, session: other });
            terms.push(Term::WorkOrder { tenant: one, work_order: other });
            for (engine, key) in TEXTS.iter().flat_map(|third| TEXTS.map(|last| (*third, last))) {
                terms.push(Term::Key { tenant: one, engine, correlation: other, key });
            }
        }
    }
    let bytes: BTreeSet<Vec<u8>> = terms.iter().map(Term::canonical).collect();
    assert_eq!(bytes.len(), terms.len());
}

#[test]
fn scopes_of_random_texts_have_the_same_canonical_bytes_only_if_they_are_the_same() {
    let seed = seed();
    let mut random = Gen::from_size_and_seed(6, seed);
    let mut seen: BTreeMap<Vec<u8>, [String; 4]> = BTreeMap::new();
    for _ in 0..5_000 {
        let texts: [String; 4] = std::array::from_fn(|_| String::arbitrary(&mut random));
        let [tenant, engine, correlation, key] = texts.each_ref().map(String::as_str);
        let bytes = Term::Key { tenant, engine, correlation, key }.canonical();
        let known = seen.entry(bytes).or_insert(texts.clone());
        assert_eq!(*known, texts, "HOLDPOINT_SEED={seed}");
    }
}

#[test]
fn canonical_bytes_are_pinned_for_as_long_as_their_version_is() {
    assert_eq!(TERMS_VERSION, 5);
    let thread = Term::Thread { tenant: "t", correlation: "c\u{e9}" };
    let bytes = b"\x04\x01\0\0\0\0\0\0\0t\x03\0\0\0\0\0\0\0c\xc3\xa9";
    assert_eq!(thread.canonical(), bytes);
    assert_eq!(Term::Kind(0x0102).canonical(), [9, 2, 1]);
    assert_eq!(Term::CausedBy(0x0102).canonical(), [14, 2, 1, 0, 0, 0, 0, 0, 0]);
    let actor = Term::Actor { kind: Actor::Human, id: "" };
    assert_eq!(actor.canonical(), b"\x08\x05\0\0\0\0\0\0\0HUMAN\0\0\0\0\0\0\0\0");
}

#[test]
fn a_refused_command_is_found_by_what_it_named() {
    let found = samples().into_iter().find_map(|sample| match &sample.event {
        Event::Log(LogEvent::CommandRefused(body)) => {
            body.subject.clone().map(|subject| (sample, subject))
        }
        _ => None,
    });
    let (sample, subject) = found.unwrap();
    assert!(has(&sample, Term::Refused(&subject)));
    let other = Envelope { actor: ActorId { kind: Actor::Agent, id: "x".into() }, ..sample };
    assert!(has(&other, Term::Refused(&subject)));
}

/// The kinds in a cell such as `of kinds 1 to 2, 3 to 4 and 7`; `None`: the cell names none.
fn kinds_of(cell: &str) -> Option<Vec<RangeInclusive<u16>>> {
    let named = cell.strip_prefix("of kind")?.trim_start_matches('s').split(", where").next()?;
    let range = |range: &str| {
        let (first, last) = range.split_once(" to ").unwrap_or((range, range));
        first.trim().parse().unwrap()..=last.trim().parse().unwrap()
    };
    Some(named.split(", ").flat_map(|part| part.split(" and ")).map(range).collect())
}

/// The tags of a record, and the texts behind each, read as INDEX.md says.
#[test]
fn table_terms_of_the_document_are_those_that_records_have() {
    let rows = DOCUMENT.lines().skip_while(|line| !line.starts_with("| tag |")).skip(2);
    let rows: Vec<Vec<&str>> = rows
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 14);
    let mut seen = BTreeSet::new();
    for sample in samples() {
        let kind = sample.event.kind().kind;
        let mut found = canonical(&sample);
        for row in &rows {
            let tag: u8 = row[0].parse().unwrap();
            let at = found.iter().position(|term| term[0] == tag);
            let is_named =
                kinds_of(row[3]).map(|kinds| kinds.iter().any(|range| range.contains(&kind)));
            let due = match (tag, is_named) {
                (1, Some(is_named)) if kind == 15 => is_named && at.is_some(),
                (6, Some(is_named)) => is_named && at.is_some(),
                (10, None) => sample.idempotency.is_some(),
                (14, None) => sample.causation.is_some(),
                (_, is_named) => is_named.unwrap_or(true),
            };
            assert_eq!(at.is_some(), due, "kind {kind}, tag {tag}");
            let Some(term) = at.map(|at| found.swap_remove(at)) else { continue };
            seen.insert(tag);
            let texts = texts_of(&term, row[2].split(", ").count());
            match tag {
                7 => assert_eq!(texts, [sample.correlation.as_str()]),
                8 => assert_eq!(texts, [sample.actor.kind.name(), &sample.actor.id]),
                9 => assert_eq!(term, [&[9][..], &kind.to_le_bytes()].concat()),
                10 => {
                    let own = sample.idempotency.as_ref().unwrap();
                    assert_eq!(texts, [&own.tenant, &own.engine, &sample.correlation, &own.key]);
                }
                14 => {
                    let cause = sample.causation.unwrap_or_default();
                    assert_eq!(term, [&[14][..], &cause.to_le_bytes()].concat());
                }
                _ => {}
            }
        }
        assert_eq!(found, [] as [Vec<u8>; 0], "no term comes twice, none is unnamed");
    }
    assert_eq!(seen.len(), rows.len());
    assert!(DOCUMENT.contains(&format!("terms version {TERMS_VERSION}, and part of the version")));
    for term in [Term::Loop("L-1"), Term::Kind(10), Term::CausedBy(7)] {
        let bytes: Vec<String> =
            term.canonical().iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(DOCUMENT.contains(&format!("is `{}`", bytes.join(" "))), "{term:?}");
    }
}

/// So many texts behind the tag, each behind its length in eight bytes, and nothing else. The term
/// of a kind or a cause has none.
fn texts_of(term: &[u8], count: usize) -> Vec<&str> {
    if matches!(term[0], 9 | 14) {
        return Vec::new();
    }
    let mut rest = &term[1..];
    let texts = (0..count).map(|_| {
        let (length, behind) = rest.split_first_chunk().unwrap();
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap();
        let (text, behind) = behind.split_at(length);
        rest = behind;
        std::str::from_utf8(text).unwrap()
    });
    let texts = texts.collect();
    assert!(rest.is_empty(), "{term:?}");
    texts
}

/// What says something of a run or asks a question has a row, wherever it is looked for: by its
/// kind as well as by its envelope. Which row it is, the document says.
#[test]
fn every_fact_of_a_run_or_a_question_is_a_row_and_read_back() {
    let rows = DOCUMENT.lines().skip_while(|line| !line.starts_with("| row |")).skip(2);
    let rows: Vec<Vec<RangeInclusive<u16>>> = rows
        .take_while(|line| line.starts_with('|'))
        .filter_map(|line| kinds_of(line.trim_matches('|').split('|').next_back()?.trim()))
        .collect();
    let mut found = BTreeSet::new();
    for sample in samples() {
        let Encoded { kind, version, payload } = encode(&sample).unwrap();
        let fact = RowFact::of(&sample);
        let row = row_of_record(kind, version, &payload);
        assert_eq!(row, fact.as_ref().map(|fact| fact.encode().unwrap()), "kind {kind}");
        assert_eq!(row.as_deref().and_then(RowFact::decode), fact, "kind {kind}");
        let begun = match &fact {
            Some(RowFact::Began { run, .. }) => Some(run.loop_id()),
            Some(RowFact::Asked { question }) => Some(question.id()),
            _ => None,
        };
        let told = row.as_deref().and_then(|row| RowFact::id_begun(row, str::to_string));
        assert_eq!(told, begun, "kind {kind}");
        let kind_of_row = fact.as_ref().map(|fact| match fact {
            RowFact::Began { .. } => RowKind::Began,
            RowFact::Again { .. } => RowKind::Again,
            RowFact::Exited { .. } => RowKind::Exited,
            RowFact::Halted { .. } => RowKind::Halted,
            RowFact::Agreed { .. } => RowKind::Agreed,
            RowFact::Labelled { .. } => RowKind::Labelled,
            RowFact::Answered { .. } => RowKind::Answered,
            RowFact::Asked { .. } => RowKind::Asked,
        });
        assert_eq!(row.as_deref().and_then(RowKind::of), kind_of_row, "kind {kind}");
        let begins = matches!(kind_of_row, Some(RowKind::Began | RowKind::Asked));
        assert!(kind_may_begin(kind) || !begins, "kind {kind}");
        let Some(row) = row else { continue };
        let kinds = &rows[usize::from(row[0])];
        assert!(kinds.iter().any(|kinds| kinds.contains(&kind)), "kind {kind}, row {}", row[0]);
        found.insert((row[0], kind));
    }
    let named = rows.into_iter().enumerate().flat_map(|(row, kinds)| {
        kinds.into_iter().flatten().map(move |kind| (u8::try_from(row).unwrap(), kind))
    });
    assert_eq!(found, named.collect());
}

#[test]
fn a_run_is_known_by_its_bits_where_its_id_was_made_here_and_by_its_id_elsewhere() {
    let made = "LOOP-00112233445566778899aabbccddeeff";
    assert!(matches!(RunKey::of(made), RunKey::Made(_)));
    let others = ["LOOP-1", "LOOP-00112233445566778899AABBCCDDEEFF", "", "L"];
    assert!(others.iter().all(|id| matches!(RunKey::of(id), RunKey::Named(_))));
    for id in others.iter().chain([&made]) {
        assert_eq!(RunKey::of(id).loop_id(), *id);
    }
}

#[test]
fn a_question_is_known_by_its_bits_where_its_id_was_made_here_and_by_its_id_elsewhere() {
    let digits = "00112233445566778899aabbccddeeff";
    let (decision, request) = (format!("DP-{digits}"), format!("REQ-{digits}"));
    assert!(matches!(QuestionKey::of(&decision), QuestionKey::Decision(_)));
    assert!(matches!(QuestionKey::of(&request), QuestionKey::Request(_)));
    let run = format!("LOOP-{digits}");
    let others = [&run, "DP-1", "REQ-00112233445566778899AABBCCDDEEFF", "", "D"];
    assert!(others.iter().all(|id| matches!(QuestionKey::of(id), QuestionKey::Named(_))));
    for id in others.iter().copied().chain([&*decision, &*request]) {
        let question = QuestionKey::of(id);
        assert_eq!(question.id(), id);
        let row = RowFact::Asked { question: question.clone() }.encode().unwrap();
        let is_short = !matches!(question, QuestionKey::Named(_));
        assert!(row.len() == 18 || !is_short, "{id}: {row:?}");
        assert_eq!(RowFact::id_begun(&row, |id| String::from(id)).as_deref(), Some(id));
        assert_eq!(RowFact::decode(&row), Some(RowFact::Asked { question }));
        assert!((0..row.len()).all(|cut| RowFact::decode(&row[..cut]).is_none()));
    }
}

#[test]
fn in_the_row_of_an_id_stands_what_is_said_of_every_beginning_of_it() {
    let digits = "00112233445566778899aabbccddeeff";
    let made = ["LOOP-", "DP-", "REQ-"].map(|prefix| format!("{prefix}{digits}"));
    let other = ["LOOP-1", "DP-0011", "REQ-00112233445566778899AABBCCDDEEFF", "", "L"];
    for id in made.iter().map(String::as_str).chain(other) {
        let row = match QuestionKey::of(id) {
            question @ (QuestionKey::Decision(_) | QuestionKey::Request(_)) => {
                RowFact::Asked { question }
            }
            QuestionKey::Named(_) => RowFact::Again { run: RunKey::of(id) },
        };
        let row = row.encode().unwrap();
        let stands = |text: &Vec<u8>| {
            text.is_empty() || row.windows(text.len()).any(|bytes| bytes == text.as_slice())
        };
        for end in 0..=id.len() {
            let written = written_in_rows([&id[..end]].into_iter());
            assert!(written.iter().any(stands), "{id} to {end}");
        }
    }
    let written = written_in_rows(["LOOP-9a8a7", "DP-9a8a7", "REQ-9a8a7"].into_iter());
    assert_eq!(written, [vec![0x9a, 0x8a], b"9a8a7".to_vec()].into(), "once for all of them");
}

#[test]
fn facts_are_read_back_and_other_bytes_are_none() {
    let run = RunKey::of("LOOP-00112233445566778899aabbccddeeff");
    let labels = [label_hash("env", "prod"), 7].into_iter().collect();
    let facts = [
        RowFact::Exited { run: run.clone(), exit: Exit::Signal(9) },
        RowFact::Labelled { run, labels },
    ];
    for fact in facts {
        let row = fact.encode().unwrap();
        assert_eq!(RowFact::id_begun(&row, |_| ()), None);
        assert_eq!(RowFact::decode(&row), Some(fact));
        assert_eq!(RowFact::decode(&[&row[..], &[0]].concat()), None);
        assert!((0..row.len()).all(|cut| RowFact::decode(&row[..cut]).is_none()));
    }
    assert_eq!(RowFact::decode(&[0xff; 40]), None);
}
