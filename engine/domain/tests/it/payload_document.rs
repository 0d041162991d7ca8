//! FORMAT.md says enough of payloads to read them without this crate: a decoder that knows nothing
//! but its tables reads what the codec reads, gives the same values, and refuses the same bytes.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use holdpoint_domain::core::actor::{Actor, Authentication};
use holdpoint_domain::core::codec::DecodeError;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::core::limits;
use holdpoint_domain::core::payload::{Raw, RawData};
use holdpoint_domain::log::{
    ClockStepped, FingerprintRecorded, HistoryArchived, LogEvent, RecordsUnproven, RulesAdopted,
    Salvaged, SegmentIndexed, SystemRules, UnprovenReason,
};
use holdpoint_domain::world::REGISTRY;
use holdpoint_domain::world::envelope::{decode, encode};
use holdpoint_domain::{ActorId, Envelope, Event, Idempotency, Proof, Time, decision_point};

/// The kinds of which the document has an example.
const KINDS: [u16; 6] = [4, 7, 9, 10, 13, 14];

const DOCUMENT: &str = include_str!("../../../../log-format/FORMAT.md");

// ---- The tables --------------------------------------------------------------------------------

#[test]
fn table_kinds_of_the_document_are_those_of_the_registry() {
    for row in table("### Kinds", "kind") {
        let entry = REGISTRY.iter().find(|entry| entry.kind.to_string() == row[0]).unwrap();
        assert_eq!((entry.name, entry.version.to_string()), (row[1].as_str(), row[2].clone()));
    }
}

#[test]
fn table_older_versions_are_those_of_the_registry() {
    let rows = table("### Versions of payloads", "kind");
    let stated = rows.iter().map(|row| (row[0].clone(), row[1].clone(), row[2].clone()));
    let older = REGISTRY.iter().flat_map(|entry| {
        (1..entry.version).map(|old| (entry.kind.to_string(), entry.name.into(), old.to_string()))
    });
    assert_eq!(stated.collect::<Vec<_>>(), older.collect::<Vec<_>>());
}

#[test]
fn table_bounds_are_those_of_the_code() {
    let code = [
        limits::MAX_PAYLOAD_BYTES,
        limits::MAX_LIST_ITEMS,
        decision_point::MAX_OPTIONS,
        limits::MAX_ID_BYTES,
        limits::MAX_SENTENCE_BYTES,
        limits::MAX_COMMAND_LINE_BYTES,
        limits::MAX_RAW_BYTES,
        decision_point::MAX_PROMPT_BYTES,
        decision_point::MAX_CONTEXT_BYTES,
        decision_point::MAX_RESPONSE_BYTES,
        decision_point::MAX_DESCRIPTION_BYTES,
        decision_point::MAX_LABEL_BYTES,
        decision_point::MAX_OPTION_ID_BYTES,
    ];
    let number = |word: &str| word.parse::<usize>().ok();
    let largest = |row: Vec<String>| row[1].split([' ', ',']).filter_map(number).max().unwrap();
    let stated: Vec<usize> = table("### Bounds", "what").into_iter().map(largest).collect();
    assert_eq!(stated, code);
}

#[test]
fn table_numbers_are_written_as_the_document_says() {
    let rows = table("### Numbers", "value");
    for row in &rows {
        let ends: Vec<u64> = row[0].split(" to ").map(|end| end.parse().unwrap()).collect();
        for number in [ends[0], ends[0] + 1, ends[1] - 1, ends[1]] {
            let width: usize = row[2].parse().unwrap();
            let first = row[1].parse().unwrap_or_else(|_| u8::try_from(number).unwrap());
            let stated = [&[1, first], &number.to_le_bytes()[..width]].concat();
            let envelope = Envelope { causation: Some(number), ..plain(step(1)) };
            let payload = encode(&envelope).unwrap().payload;
            let fields = Reader::fields(&payload, 3).unwrap();
            let causation = fields.iter().find(|field| field.name == "causation").unwrap();
            assert_eq!(payload[causation.at.clone()], stated, "{number}");
        }
    }
    assert_eq!(rows.last().unwrap()[0].split(" to ").last(), Some("18446744073709551615"));
}

#[test]
fn the_enums_have_the_numbers_of_the_document() {
    let numbered = |names: Vec<&str>| {
        let each = names.iter().enumerate().map(|(number, name)| format!("{name} {number}"));
        each.collect::<Vec<_>>().join(", ")
    };
    let sections = [section("### Speaker"), section("### log.records_unproven")];
    let text = sections.concat().replace('\n', " ");
    let actors = Actor::ALL.iter().map(|actor| actor.name()).collect();
    let proofs = Authentication::ALL.iter().map(|proof| proof.name()).collect();
    let reasons = UnprovenReason::ALL.iter().map(|reason| reason.name()).collect();
    for due in [numbered(actors), numbered(proofs), numbered(reasons)] {
        assert!(text.contains(&due), "{due}");
    }
}

// ---- The examples ------------------------------------------------------------------------------

#[test]
fn the_examples_are_taken_apart_as_both_decoders_read_them() {
    for kind in KINDS {
        let (payload, lines) = example(kind);
        let version = version_of(kind);
        let length = payload.len();
        let said = format!(", kind {kind}, version {version}, {length} bytes:\n");
        assert!(section("### Examples").contains(&said), "{said}");
        let fields = Reader::fields(&payload, kind).unwrap();
        let told = |field: &Field| (field.at.start, format!("{}: {}", field.name, field.value));
        assert_eq!(lines, fields.iter().map(told).collect::<Vec<_>>());
        assert_eq!(values(fields), of_codec(kind, &payload).unwrap());
    }
}

#[test]
fn the_state_in_the_example_has_the_fingerprint_of_the_document() {
    let Event::Log(LogEvent::HistoryArchived(event)) = decode(9, 1, &example(9).0).unwrap().event
    else {
        panic!("no event of kind 9");
    };
    assert!(DOCUMENT.contains(
        "fingerprint  =  BLAKE3, derive_key \"holdpoint world fingerprint\", of (state schema, 4 | \
         state)"
    ));
    let mut hasher = blake3::Hasher::new_derive_key("holdpoint world fingerprint");
    hasher.update(&event.state_schema.to_le_bytes()).update(event.state.as_bytes());
    assert_eq!(event.state_fingerprint.as_bytes(), hasher.finalize().as_bytes());
}

// ---- Both decoders on any bytes ----------------------------------------------------------------

/// Payloads of the kinds that the document lays out, and of one with a signed number.
fn payloads() -> Vec<(u16, Vec<u8>)> {
    let mut all: Vec<(u16, Vec<u8>)> =
        KINDS.into_iter().map(|kind| (kind, example(kind).0)).collect();
    let archived = HistoryArchived {
        first_sequence: 250,
        anchor_sequence: 70_000,
        anchor_link: sha256(b"link"),
        archived_to: "archive \u{e9}".into(),
        state_schema: 65_535,
        state_fingerprint: sha256(b"state"),
        state: Raw::from(RawData::from(vec![0xff; 251])),
    };
    let indexed = SegmentIndexed {
        first_sequence: 251,
        last_sequence: u64::MAX,
        format: u32::MAX,
        digest: sha256(b"index"),
    };
    let unproven = RecordsUnproven {
        first_sequence: 250,
        last_sequence: 1 << 40,
        reason: UnprovenReason::NoWitness,
    };
    let steps = [i64::MIN, -1, i64::MAX].map(step);
    let adopted = |numbers: &[u32]| {
        let system = |number: &u32| SystemRules { system: "log".into(), number: *number };
        RulesAdopted { systems: numbers.iter().map(system).collect() }.into()
    };
    let rules = [adopted(&[]), adopted(&[1, 70_000, u32::MAX])];
    let events = [archived.into(), indexed.into(), unproven.into()];
    let events = events.into_iter().chain(rules).chain(steps);
    for event in events {
        let kind = event.kind().kind;
        all.push((kind, encode(&plain(event.clone())).unwrap().payload));
        all.push((kind, encode(&full(event)).unwrap().payload));
    }
    all
}

fn step(step_ns: i64) -> Event {
    ClockStepped { step_ns }.into()
}

fn plain(event: Event) -> Envelope {
    Envelope {
        clock: None,
        actor: ActorId { kind: Actor::Automation, id: "ci".into() },
        proof: None,
        correlation: "story".into(),
        causation: None,
        idempotency: None,
        event,
    }
}

fn full(event: Event) -> Envelope {
    let key = |text: &str| text.to_string();
    Envelope {
        proof: Some(Proof { user: 70_000, by: Authentication::Terminal }),
        causation: Some(1 << 40),
        idempotency: Some(Idempotency {
            tenant: key("tenant"),
            engine: key("engine"),
            key: key("\u{e9}"),
            content: sha256(b"content"),
        }),
        ..plain(event)
    }
}

#[test]
fn both_decoders_give_the_same_values_and_refuse_the_same_bytes() {
    let mut accepted = 0_u32;
    let mut compare = |kind: u16, payload: &[u8], what: &dyn fmt::Display| {
        // The document says how numbers of rules are written, and not which ones a program has.
        if matches!(decode(kind, version_of(kind), payload), Err(DecodeError::UnknownRules { .. }))
        {
            return;
        }
        let theirs = Reader::fields(payload, kind).map(values);
        assert_eq!(theirs, of_codec(kind, payload), "kind {kind}, {what}: {payload:02x?}");
        accepted += u32::from(theirs.is_some());
    };
    for (kind, payload) in payloads() {
        compare(kind, &payload, &"as it is");
        compare(kind, &[&payload[..], &[0]].concat(), &"longer");
        for at in 0..payload.len() {
            compare(kind, &payload[..at], &"cut");
            let (before, behind) = (&payload[..at], &payload[at + 1..]);
            for byte in 0..=u8::MAX {
                compare(kind, &[before, &[byte], behind].concat(), &format!("{byte} at {at}"));
            }
            for (mark, width) in [(251_u8, 2_usize), (252, 4), (253, 8), (254, 16)] {
                let wide = [&[mark, payload[at]][..], &vec![0; width - 1]].concat();
                compare(kind, &[before, &wide, behind].concat(), &format!("{mark} at {at}"));
            }
        }
    }
    assert!(accepted > 10_000, "{accepted}");
}

// ---- A decoder that knows the tables alone -----------------------------------------------------

/// A value as the document speaks of it.
#[derive(Debug, PartialEq, Eq)]
enum Value {
    Number(u64),
    Signed(i64),
    Text(String),
    Bytes(Vec<u8>),
    Name(String),
    Several(Vec<Value>),
    Nothing,
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(out, "{number}"),
            Self::Signed(number) => write!(out, "{number}"),
            Self::Text(text) => write!(out, "`{text}`"),
            Self::Bytes(bytes) => write!(out, "{} bytes", bytes.len()),
            Self::Name(name) => write!(out, "{name}"),
            Self::Several(values) => {
                let shown: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(out, "{}", shown.join(", "))
            }
            Self::Nothing => write!(out, "nothing"),
        }
    }
}

/// A field of a payload, where it lies and what it holds.
struct Field {
    name: String,
    at: Range<usize>,
    value: Value,
}

fn values(fields: Vec<Field>) -> Vec<Value> {
    fields.into_iter().map(|field| field.value).collect()
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Every field of a payload of this kind; `None` where the document says to refuse it.
    fn fields(bytes: &'a [u8], kind: u16) -> Option<Vec<Field>> {
        let mut reader = Self { bytes, at: 0 };
        let mut fields = Vec::new();
        for (name, of) in TABLES.heading.iter().chain(&TABLES.bodies[&kind]) {
            let start = reader.at;
            let value = reader.value(of)?;
            fields.push(Field { name: name.clone(), at: start..reader.at, value });
        }
        let is_its = fields[0].value == Value::Number(kind.into());
        (is_its && reader.at == bytes.len()).then_some(fields)
    }

    fn value(&mut self, of: &str) -> Option<Value> {
        if let Some(inner) = of.strip_prefix("option ") {
            return match self.raw(1)?[0] {
                0 => Some(Value::Nothing),
                1 => self.value(inner),
                _ => None,
            };
        }
        if let Some(inner) = of.strip_prefix("list ") {
            let count = self.number(8)?;
            let is_bounded = count <= limits::MAX_LIST_ITEMS as u64;
            let items = (0..if is_bounded { count } else { 0 }).map(|_| self.value(inner));
            return items.collect::<Option<_>>().filter(|_| is_bounded).map(Value::Several);
        }
        let numbers = |reader: &mut Self, count: usize| {
            let each = (0..count).map(|_| reader.number(8).map(Value::Number));
            each.collect::<Option<_>>().map(Value::Several)
        };
        Some(match of {
            "time" => Value::Number(self.number(8)?),
            "run" => numbers(self, 3)?,
            "range" => numbers(self, 2)?,
            "u16" => Value::Number(self.number(2)?),
            "u32" => Value::Number(self.number(4)?),
            "u64" => Value::Number(self.number(8)?),
            "i64" => {
                let folded = self.number(8)?;
                let half = i64::try_from(folded / 2).unwrap();
                Value::Signed(if folded % 2 == 0 { half } else { -half - 1 })
            }
            "text" => Value::Text(String::from_utf8(self.run()?.to_vec()).ok()?),
            "bytes" => Value::Bytes(self.run()?.to_vec()),
            "digest" => Value::Bytes(self.raw(32)?.to_vec()),
            "actor" => self.name(&["HUMAN", "AGENT", "AUTOMATION", "SYSTEM"])?,
            "authentication" => self.name(&["none", "os-user", "terminal"])?,
            "reason" => self.name(&["DAMAGE", "NO_WITNESS"])?,
            "system" => Value::Several(vec![self.value("text")?, self.value("u32")?]),
            "speaker" => {
                let row = TABLES.speakers.get(usize::try_from(self.number(4)?).ok()?)?;
                let fields = row[2].split(", ").map(|field| field.split_once(": ").unwrap().1);
                let named = [Some(Value::Name(row[1].clone()))].into_iter();
                let all = named.chain(fields.map(|of| self.value(of)));
                Value::Several(all.collect::<Option<_>>()?)
            }
            "proof" => {
                let fields = TABLES.proof.iter().map(|(_, of)| self.value(of));
                Value::Several(fields.collect::<Option<_>>()?)
            }
            "key" => {
                let fields = TABLES.key.iter().map(|(_, of)| self.value(of));
                Value::Several(fields.collect::<Option<_>>()?)
            }
            other => panic!("the document does not say what a {other} is"),
        })
    }

    fn raw(&mut self, length: usize) -> Option<&'a [u8]> {
        let found = self.bytes[self.at..].get(..length)?;
        self.at += length;
        Some(found)
    }

    fn run(&mut self) -> Option<&'a [u8]> {
        let length = self.number(8)?;
        self.raw(usize::try_from(length).ok()?)
    }

    fn number(&mut self, type_width: usize) -> Option<u64> {
        let first = self.raw(1)?[0];
        let (width, least) = match first {
            0..=250 => return Some(first.into()),
            251 => (2, 251),
            252 => (4, 65_536),
            253 => (8, 4_294_967_296),
            _ => return None,
        };
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(self.raw(width)?);
        let number = u64::from_le_bytes(bytes);
        (width <= type_width && number >= least).then_some(number)
    }

    fn name(&mut self, names: &[&str]) -> Option<Value> {
        let number = usize::try_from(self.number(4)?).ok()?;
        names.get(number).map(|name| Value::Name((*name).into()))
    }
}

/// Names and types of fields.
type Layout = Vec<(String, String)>;

/// The tables of the document, read once.
struct Tables {
    heading: Layout,
    speakers: Vec<Vec<String>>,
    proof: Layout,
    key: Layout,
    bodies: BTreeMap<u16, Layout>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let kinds = table("### Kinds", "kind").into_iter();
    let body = |row: Vec<String>| (row[0].parse().unwrap(), layout(&format!("### {}", row[1])));
    let step = (3, vec![("step_ns".to_string(), "i64".to_string())]);
    Tables {
        heading: layout("### Heading"),
        speakers: table("### Speaker", "variant"),
        proof: layout("### Proof"),
        key: layout("### Key"),
        bodies: kinds.map(body).chain([step]).collect(),
    }
});

// ---- The codec ---------------------------------------------------------------------------------

fn version_of(kind: u16) -> u8 {
    REGISTRY.iter().find(|entry| entry.kind == kind).unwrap().version
}

/// Who did it, in the document's order.
fn speaker(actor: ActorId, proof: Option<Proof>, clock: Option<Time>) -> Vec<Value> {
    let name = |name: &str| Value::Name(name.into());
    match (proof, clock) {
        (proof, Some(clock)) => {
            let proof = proof.map(|Proof { user, by }| {
                Value::Several(vec![Value::Number(user.into()), name(by.name())])
            });
            let (id, proof) = (Value::Text(actor.id), proof.unwrap_or(Value::Nothing));
            let clock = Value::Number(clock.nanoseconds());
            vec![name("clocked"), name(actor.kind.name()), id, proof, clock]
        }
        (None, None) => vec![name(actor.kind.name()), Value::Text(actor.id)],
        (Some(Proof { user, by }), None) => {
            let (user, id) = (Value::Number(user.into()), Value::Text(actor.id));
            vec![name("proven"), name(actor.kind.name()), id, user, name(by.name())]
        }
    }
}

/// What the codec reads, in the document's order; `None` where it refuses.
fn of_codec(kind: u16, payload: &[u8]) -> Option<Vec<Value>> {
    let Envelope { actor, proof, clock, correlation, causation, idempotency, event } =
        decode(kind, version_of(kind), payload).ok()?;
    let key = idempotency.map(|Idempotency { tenant, engine, key, content }| {
        let texts = [tenant, engine, key].map(Value::Text);
        Value::Several(texts.into_iter().chain([digest(&content)]).collect())
    });
    let mut values = vec![
        Value::Number(kind.into()),
        Value::Several(speaker(actor, proof, clock)),
        Value::Text(correlation),
        causation.map_or(Value::Nothing, Value::Number),
        key.unwrap_or(Value::Nothing),
    ];
    values.extend(match event {
        Event::Log(LogEvent::ClockStepped(ClockStepped { step_ns })) => {
            vec![Value::Signed(step_ns)]
        }
        Event::Log(LogEvent::FingerprintRecorded(FingerprintRecorded { schema, fingerprint })) => {
            vec![Value::Number(schema.into()), digest(&fingerprint)]
        }
        Event::Log(LogEvent::Salvaged(body)) => of_report(&body),
        Event::Log(LogEvent::HistoryArchived(body)) => vec![
            Value::Number(body.first_sequence),
            Value::Number(body.anchor_sequence),
            digest(&body.anchor_link),
            Value::Text(body.archived_to.to_string()),
            Value::Number(body.state_schema.into()),
            digest(&body.state_fingerprint),
            Value::Bytes(body.state.as_bytes().to_vec()),
        ],
        Event::Log(LogEvent::SegmentIndexed(body)) => vec![
            Value::Number(body.first_sequence),
            Value::Number(body.last_sequence),
            Value::Number(body.format.into()),
            digest(&body.digest),
        ],
        Event::Log(LogEvent::RecordsUnproven(body)) => vec![
            Value::Number(body.first_sequence),
            Value::Number(body.last_sequence),
            Value::Name(body.reason.name().into()),
        ],
        Event::Log(LogEvent::RulesAdopted(body)) => vec![Value::Several(
            body.systems
                .iter()
                .map(|SystemRules { system, number }| {
                    let system = Value::Text(system.to_string());
                    Value::Several(vec![system, Value::Number((*number).into())])
                })
                .collect(),
        )],
        other => panic!("{other:?}"),
    });
    Some(values)
}

fn of_report(body: &Salvaged) -> Vec<Value> {
    let numbers =
        |numbers: &[u64]| Value::Several(numbers.iter().copied().map(Value::Number).collect());
    let runs = body.runs.iter().map(|run| {
        numbers(&[run.source_first_sequence, run.source_last_sequence, run.first_sequence])
    });
    let ranges = body.unproven.iter().map(|it| numbers(&[it.first_sequence, it.last_sequence]));
    vec![
        Value::Text(body.source_log.to_string()),
        Value::Number(body.source_first_sequence),
        Value::Number(body.source_last_sequence),
        Value::Number(body.records_kept),
        Value::Number(body.records_lost),
        Value::Number(body.bytes_not_kept),
        Value::Number(body.salvaged_at.nanoseconds()),
        Value::Several(runs.collect()),
        Value::Number(body.runs_total),
        Value::Several(body.findings.iter().map(|it| Value::Text(it.to_string())).collect()),
        Value::Number(body.findings_total),
        Value::Number(body.last_sequence),
        Value::Several(ranges.collect()),
    ]
}

fn digest(digest: &Digest) -> Value {
    Value::Bytes(digest.as_bytes().to_vec())
}

// ---- Reading the document ----------------------------------------------------------------------

/// The text from a heading to the next one.
fn section(heading: &str) -> &'static str {
    let start = DOCUMENT.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    let body = &DOCUMENT[start + heading.len() + 2..];
    body.find("\n#").map_or(body, |end| &body[..end])
}

fn table(heading: &str, first: &str) -> Vec<Vec<String>> {
    let mut lines = section(heading).lines();
    let header = format!("| {first} |");
    lines.find(|line| line.starts_with(&header)).unwrap_or_else(|| panic!("no {header} table"));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect())
        .collect()
}

fn layout(heading: &str) -> Layout {
    table(heading, "field").into_iter().map(|row| (row[0].clone(), row[1].clone())).collect()
}

/// The bytes of an example, and what is said of them: where each line of words begins.
fn example(kind: u16) -> (Vec<u8>, Vec<(usize, String)>) {
    let fence = format!("```payload-{kind}\n");
    let block = &DOCUMENT[DOCUMENT.find(&fence).unwrap() + fence.len()..];
    let (mut payload, mut lines) = (Vec::new(), Vec::new());
    for line in block[..block.find("```").unwrap()].lines() {
        let (bytes, words) = line.split_once("  ").unwrap_or((line, ""));
        if !words.is_empty() {
            lines.push((payload.len(), words.trim().to_string()));
        }
        let byte = |byte| u8::from_str_radix(byte, 16).unwrap();
        payload.extend(bytes.split_whitespace().map(byte));
    }
    (payload, lines)
}
