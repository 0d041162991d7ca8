//! What a record's payload is, byte for byte, and what is not one (properties L8 and E10).

use holdpoint_domain::application::ApplicationEvent;
use holdpoint_domain::decision_point::DecisionPointEvent;
use holdpoint_domain::execution_loop::ExecutionLoopEvent;
use holdpoint_domain::human_decision::HumanDecisionEvent;
use holdpoint_domain::interruption_thread::InterruptionThreadEvent;
use holdpoint_domain::registration::RegistrationEvent;
use holdpoint_domain::sandbox_fault::SandboxFaultEvent;
use holdpoint_domain::{Envelope, Event, Idempotency, kind_name};
use std::collections::BTreeSet;

use holdpoint_domain::core::actor::{Actor, Authentication};
use holdpoint_domain::core::codec::DecodeError;
use holdpoint_domain::core::limits::MAX_PAYLOAD_BYTES;
use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::evidence_capture::{EvidenceCaptureEvent, EvidenceCaptured};
use holdpoint_domain::log::{ClockStepped, LogEvent, PolicyUnknown, RecoveryPerformed};
use holdpoint_domain::world::REGISTRY;
use holdpoint_domain::world::envelope::{Encoded, decode, encode};
use holdpoint_testing::story::samples::samples;
use holdpoint_testing::story::{envelope, seed};
use quickcheck::{Arbitrary as _, Gen};

use crate::sources;

/// One line for every sample: kind, version, payload in hex.
pub(crate) const GOLDEN: &str = include_str!("../golden/events_v10.txt");

/// The same from before a thread's end said what it waited for.
pub(crate) const GOLDEN_V9: &str = include_str!("../golden/events_v9.txt");

/// The same from before a loop could be given another instruction.
pub(crate) const GOLDEN_V8: &str = include_str!("../golden/events_v8.txt");

/// The same from before plans owned words, and rows named them.
pub(crate) const GOLDEN_V7: &str = include_str!("../golden/events_v7.txt");

/// The same from before the start of an attempt said what a full disk does to its command.
pub(crate) const GOLDEN_V6: &str = include_str!("../golden/events_v6.txt");

/// The same from before the recorder of an attempt had a key, and the ends of limits said by which
/// clock they did.
pub(crate) const GOLDEN_V5: &str = include_str!("../golden/events_v5.txt");

/// The same from before names had numbers beside them.
pub(crate) const GOLDEN_V4: &str = include_str!("../golden/events_v4.txt");

/// The same from before a question told what was observed, and labels which run begins.
pub(crate) const GOLDEN_V3: &str = include_str!("../golden/events_v3.txt");

/// The same from before every outcome of a thread was a row.
pub(crate) const GOLDEN_V2: &str = include_str!("../golden/events_v2.txt");

/// The same of the first payloads of all, from before two kinds had a second version.
pub(crate) const GOLDEN_V1: &str = include_str!("../golden/events_v1.txt");

#[test]
fn golden_bytes_of_every_kind_are_pinned() {
    let found: Vec<String> =
        samples().iter().map(|sample| line(&encode(sample).unwrap())).collect();
    let pinned: Vec<&str> = GOLDEN.lines().collect();
    for (found, pinned) in found.iter().zip(&pinned) {
        assert_eq!(found, pinned);
    }
    if std::env::var_os("HOLDPOINT_WRITE_GOLDEN").is_some() && found.len() > pinned.len() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/events_v10.txt");
        std::fs::write(file, found.join("\n") + "\n").unwrap();
    }
    assert_eq!(found.len(), pinned.len());
}

#[test]
fn golden_payloads_decode_for_ever() {
    let of = |golden: &'static str| golden.lines().zip(samples());
    let before = [
        GOLDEN_V9, GOLDEN_V8, GOLDEN_V7, GOLDEN_V6, GOLDEN_V5, GOLDEN_V4, GOLDEN_V3, GOLDEN_V2,
        GOLDEN_V1,
    ];
    for (line, sample) in [GOLDEN].into_iter().chain(before).flat_map(of) {
        let Encoded { kind, version, payload } = parsed(line);
        assert_eq!(decode(kind, version, &payload), Ok(sample), "{line}");
    }
}

#[test]
fn golden_file_has_every_kind() {
    let mut kinds: Vec<u16> = GOLDEN.lines().map(|line| parsed(line).kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, REGISTRY.iter().map(|entry| entry.kind).collect::<Vec<_>>());
}

/// The registry once more: whoever changes a number or a name breaks every log.
const PINNED: &[(u16, &str)] = &[
    (1, "log.recovery_performed"),
    (2, "log.head_missing_accepted"),
    (3, "log.clock_stepped"),
    (4, "log.fingerprint_recorded"),
    (5, "log.command_refused"),
    (6, "log.configuration_changed"),
    (7, "log.salvaged"),
    (8, "log.records_lost"),
    (9, "log.history_archived"),
    (10, "log.segment_indexed"),
    (11, "log.policy_changed"),
    (12, "log.policy_unknown"),
    (13, "log.records_unproven"),
    (14, "log.rules_adopted"),
    (15, "log.labelled"),
    (16, "log.policy_unlocked"),
    (17, "log.clock_step_accepted"),
    (18, "log.continued"),
    (32, "execution_loop.initialized"),
    (33, "execution_loop.dispatched"),
    (34, "execution_loop.response_awaited"),
    (35, "execution_loop.response_evaluated"),
    (36, "execution_loop.halted"),
    (64, "evidence_capture.observer_attached"),
    (65, "evidence_capture.evidence_captured"),
    (66, "evidence_capture.stop_condition_detected"),
    (67, "evidence_capture.chain_sealed"),
    (68, "evidence_capture.output_recorded"),
    (96, "sandbox_fault.fault_reported"),
    (97, "sandbox_fault.sandbox_decided"),
    (128, "human_decision.requested"),
    (129, "human_decision.visibility_overridden"),
    (130, "human_decision.warned"),
    (131, "human_decision.answered"),
    (132, "human_decision.timed_out"),
    (133, "human_decision.late_answer_recorded"),
    (134, "human_decision.request_withdrawn"),
    (135, "human_decision.output_shown"),
    (160, "interruption_thread.capability_changed"),
    (161, "interruption_thread.tenant_registered"),
    (162, "interruption_thread.user_registered"),
    (163, "interruption_thread.device_registered"),
    (164, "interruption_thread.session_registered"),
    (165, "interruption_thread.work_order_registered"),
    (166, "interruption_thread.lease_registered"),
    (167, "interruption_thread.turn_taken"),
    (168, "interruption_thread.row_committed"),
    (169, "interruption_thread.row_refused"),
    (170, "interruption_thread.buffer_expired"),
    (171, "interruption_thread.return_check_expired"),
    (172, "interruption_thread.remainders_discarded"),
    (173, "interruption_thread.rows_read"),
    (174, "interruption_thread.thread_closed"),
    (175, "interruption_thread.pending_disarmed"),
    (176, "interruption_thread.thread_moved"),
    (177, "interruption_thread.remainder_displaced"),
    (178, "interruption_thread.plan_drafted"),
    (179, "interruption_thread.turn_committed"),
    (180, "interruption_thread.plan_ended"),
    (192, "decision_point.created"),
    (193, "decision_point.refined"),
    (194, "decision_point.guidance_given"),
    (195, "decision_point.round_opened"),
    (196, "decision_point.vote"),
    (197, "decision_point.resolved"),
    (198, "decision_point.default_taken"),
    (199, "decision_point.aborted"),
    (200, "decision_point.cancelled"),
    (201, "decision_point.superseded"),
    (202, "decision_point.reminded"),
    (203, "decision_point.escalated"),
    (204, "decision_point.late_response"),
    (205, "decision_point.consumed"),
    (206, "decision_point.approval_lapsed"),
    (207, "decision_point.released"),
    (208, "decision_point.outcome_reported"),
    (209, "decision_point.approval_revoked"),
    (210, "decision_point.warned"),
    (224, "application.recorded"),
    (225, "application.reducer_fingerprint_recorded"),
];

#[test]
fn table_kinds_are_pinned() {
    let found: Vec<_> = REGISTRY.iter().map(|entry| (entry.kind, entry.name)).collect();
    assert_eq!(found, PINNED);
    for kind in 0..=u16::MAX {
        let name = PINNED.iter().find(|entry| entry.0 == kind).map(|entry| entry.1);
        assert_eq!(kind_name(kind), name);
    }
}

#[test]
fn table_kinds_lie_in_their_systems_range() {
    for entry in REGISTRY {
        let range = match entry.system {
            "log" => 1..=31,
            "execution_loop" => 32..=63,
            "evidence_capture" => 64..=95,
            "sandbox_fault" => 96..=127,
            "human_decision" => 128..=159,
            "interruption_thread" => 160..=191,
            "decision_point" => 192..=223,
            "application" => 224..=255,
            other => panic!("no range is given to {other}"),
        };
        assert!(range.contains(&entry.kind), "{entry:?}");
        assert!(entry.name.starts_with(&format!("{}.", entry.system)), "{entry:?}");
    }
}

#[test]
fn readable_events_carry_the_registered_name() {
    for sample in samples() {
        let json = serde_json::to_value(&sample.event).unwrap();
        assert_eq!(json["kind"], sample.event.kind().name);
    }
}

#[test]
fn names_in_an_envelope_are_checked() {
    for sample in samples() {
        assert_eq!(sample.check(), Ok(()));
        let correlation = " ".into();
        assert!(Envelope { correlation, ..sample.clone() }.check().is_err());
        let mut hidden = sample.clone();
        hidden.actor.id = "root\u{202e}".into();
        assert!(hidden.check().is_err());
        if let Some(key) = &sample.idempotency {
            let idempotency = Some(Idempotency { key: "k".repeat(257), ..key.clone() });
            assert!(Envelope { idempotency, ..sample.clone() }.check().is_err());
        }
    }
}

#[test]
fn unknown_kinds_and_versions_are_named() {
    assert_eq!(decode(223, 1, &[]), Err(DecodeError::UnknownKind { kind: 223, version: 1 }));
    assert_eq!(decode(32, 4, &[]), Err(DecodeError::UnknownVersion { kind: 32, version: 4 }));
    let text = decode(32, 4, &[]).unwrap_err().to_string();
    assert!(text.contains("32") && text.contains('4') && text.contains("newer"), "{text}");
}

/// Two bodies with the same fields are told apart by the kind inside the payload.
#[test]
fn a_payload_under_a_foreign_kind_is_refused() {
    for sample in samples() {
        let Encoded { kind, payload, .. } = encode(&sample).unwrap();
        for other in REGISTRY.iter().filter(|entry| entry.kind != kind) {
            let refused = decode(other.kind, other.version, &payload);
            let disagrees = DecodeError::KindDisagrees { expected: other.kind, found: kind };
            assert_eq!(refused, Err(disagrees));
        }
    }
}

#[test]
fn every_prefix_and_every_longer_payload_is_refused() {
    for sample in samples() {
        let Encoded { kind, version, payload } = encode(&sample).unwrap();
        for length in 0..payload.len() {
            assert!(decode(kind, version, &payload[..length]).is_err(), "{sample:?}");
        }
        let longer = [payload, vec![0]].concat();
        assert_eq!(decode(kind, version, &longer), Err(DecodeError::Trailing { kind, found: 1 }));
    }
}

/// An integer in more bytes than it needs is the same number and another payload.
#[test]
fn over_long_integers_are_not_canonical() {
    let event = PolicyUnknown { records_lost: 2 };
    let Encoded { kind, version, payload } = encode(&envelope(event.into())).unwrap();
    let (start, last) = payload.split_at(payload.len() - 1);
    assert_eq!(last, [2]);
    let over_long: [&[u8]; 3] = [&[251, 2, 0], &[252, 2, 0, 0, 0], &[253, 2, 0, 0, 0, 0, 0, 0, 0]];
    for number in over_long {
        let refused = decode(kind, version, &[start, number].concat());
        let offset = start.len();
        assert_eq!(refused, Err(DecodeError::NotCanonical { kind, offset }));
    }
}

/// Whatever the bytes: an error, or a payload that encodes to the same bytes.
#[test]
fn changed_payloads_never_panic_and_are_canonical_if_they_decode() {
    for sample in samples() {
        let Encoded { kind, version, payload } = encode(&sample).unwrap();
        for place in 0..payload.len() {
            for mask in [0x01, 0x80, 0xff] {
                let mut changed = payload.clone();
                changed[place] ^= mask;
                assert_canonical(kind, version, &changed);
            }
        }
    }
}

#[test]
fn random_payloads_never_panic_and_are_canonical_if_they_decode() {
    let seed = seed();
    let mut random = Gen::from_size_and_seed(200, seed);
    for _ in 0..20_000 {
        let entry = random.choose(REGISTRY).unwrap();
        let kind = u8::try_from(entry.kind).unwrap();
        let payload = [vec![kind], Vec::arbitrary(&mut random)].concat();
        assert_canonical(entry.kind, entry.version, &payload);
    }
}

fn assert_canonical(kind: u16, version: u8, payload: &[u8]) {
    if let Ok(decoded) = decode(kind, version, payload) {
        assert_eq!(encode(&decoded).unwrap().payload, payload);
    }
}

/// Event bodies are made of types that borrow from the payload before they allocate, and so is
/// everything that they are made of.
#[test]
fn event_bodies_hold_no_type_that_allocates_by_a_claimed_length() {
    let sources = sources::all();
    let bodies =
        sources.iter().filter(|source| source.part() == "event" && source.module() != "world");
    let mut open: Vec<&str> = bodies.flat_map(|source| sources::type_names(&source.text)).collect();
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name) {
            continue;
        }
        let Some(definition) = sources::definition(&sources, name) else { continue };
        for banned in ["String", "Vec<", "Box<[", "Box<str", "RawData"] {
            assert!(!definition.contains(banned), "{definition}: use Text or Raw");
        }
        open.extend(sources::type_names(definition));
    }
    assert!(seen.contains("RequestContext") && seen.contains("DegradationContext"), "{seen:?}");
}

/// A length that the payload claims but does not have is refused, whatever it is.
#[test]
fn claimed_lengths_are_not_believed() {
    let event = RecoveryPerformed {
        last_proven_sequence: 0,
        last_kept_sequence: 0,
        cut_bytes: 0,
        copied_to: Some("".into()),
    };
    let Encoded { kind, version, payload } = encode(&envelope(event.into())).unwrap();
    let (start, length) = payload.split_at(payload.len() - 1);
    assert_eq!(length, [0]);
    let hostile: [&[u8]; 4] = [
        &[1],
        &[252, 0, 0, 0, 1],
        &[252, 255, 255, 255, 255],
        &[253, 255, 255, 255, 255, 255, 255, 255, 255],
    ];
    for length in hostile {
        let refused = decode(kind, version, &[start, length].concat());
        assert!(matches!(refused, Err(DecodeError::Malformed { .. })), "{refused:?}");
    }
}

#[test]
fn payloads_beyond_the_limit_are_refused_both_ways() {
    let Some(sample) = samples().into_iter().find(|s| {
        matches!(s.event, Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(_)))
    }) else {
        panic!("there is a sample with evidence");
    };
    let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = sample.event.clone()
    else {
        unreachable!()
    };
    let raw_data = RawData::from(vec![0; MAX_PAYLOAD_BYTES]).into();
    let event = EvidenceCaptured { raw_data, ..body }.into();
    assert!(encode(&Envelope { event, ..sample }).is_err());
    let found = MAX_PAYLOAD_BYTES + 1;
    assert_eq!(decode(65, 1, &vec![0; found]), Err(DecodeError::TooLong { found }));
}

#[test]
fn confidence_of_one_does_not_decode() {
    let Some(sample) = samples().into_iter().find(|s| {
        matches!(s.event, Event::ExecutionLoop(ExecutionLoopEvent::ResponseEvaluated(_)))
    }) else {
        panic!("there is a sample with a response");
    };
    let Encoded { kind, version, payload } = encode(&sample).unwrap();
    let reason = b"Executor reported success (requires";
    let place = payload.windows(reason.len()).position(|w| w == reason).unwrap() - 2;
    assert_eq!(payload[place], 0, "the confidence of the first sample is 0");
    let certain = [&payload[..place], &[251, 0x10, 0x27], &payload[place + 1..]].concat();
    let refused = decode(kind, version, &certain);
    assert!(matches!(refused, Err(DecodeError::Malformed { .. })), "{refused:?}");
}

/// bincode is no longer maintained. A maintained crate reads and writes the same bytes: that is
/// the way out.
#[test]
fn a_maintained_crate_reads_and_writes_the_same_bytes() {
    let configuration = bincode_next::config::standard();
    for step_ns in [0, -1, 1, 250, -251, 65_536, i64::MAX, i64::MIN] {
        let body = ClockStepped { step_ns };
        let ours = bincode::serde::encode_to_vec(&body, bincode::config::standard()).unwrap();
        let theirs = bincode_next::serde::encode_to_vec(&body, configuration).unwrap();
        assert_eq!(ours, theirs);
    }
    for sample in samples() {
        let payload = encode(&sample).unwrap().payload;
        let (heading, rest) = read_heading(&payload);
        assert_eq!(heading.0, sample.event.kind().kind);
        let (kind, name, proof, clock) = heading.1.parts();
        assert_eq!(clock, sample.clock.map(|clock| clock.nanoseconds()));
        assert_eq!((kind, name), (sample.actor.kind, sample.actor.id.as_str()));
        assert_eq!(proof, sample.proof.map(|proof| (proof.user, proof.by)));
        assert_eq!(heading.2, sample.correlation);
        assert_eq!(heading.3, sample.causation);
        assert_eq!(reread(&sample.event, rest), sample.event);
    }
}

/// Who did it, by four kinds of actors without a proof, one with it, and by whose clock.
#[derive(serde::Deserialize)]
enum Speaker {
    Human(String),
    Agent(String),
    Automation(String),
    System(String),
    Proven(Actor, String, u32, Authentication),
    Clocked(Actor, String, Option<(u32, Authentication)>, u64),
}

/// Who, with what proof, by which clock.
type Parts<'a> = (Actor, &'a str, Option<(u32, Authentication)>, Option<u64>);

impl Speaker {
    fn parts(&self) -> Parts<'_> {
        match self {
            Self::Human(id) => (Actor::Human, id, None, None),
            Self::Agent(id) => (Actor::Agent, id, None, None),
            Self::Automation(id) => (Actor::Automation, id, None, None),
            Self::System(id) => (Actor::System, id, None, None),
            Self::Proven(kind, id, user, by) => (*kind, id, Some((*user, *by)), None),
            Self::Clocked(kind, id, proof, clock) => (*kind, id, *proof, Some(*clock)),
        }
    }
}

type Heading = (u16, Speaker, String, Option<u64>, Option<(String, String, String, [u8; 32])>);

fn read_heading(payload: &[u8]) -> (Heading, &[u8]) {
    let configuration = bincode_next::config::standard();
    let (heading, read) = bincode_next::serde::decode_from_slice(payload, configuration).unwrap();
    (heading, &payload[read..])
}

/// The body once more, decoded and encoded by the maintained crate.
fn reread(event: &Event, rest: &[u8]) -> Event {
    macro_rules! by_kind {
        ($($System:ident $Event:ident { $($Body:ident)+ })+) => {
            match event {
                $($(Event::$System($Event::$Body(_)) => {
                    Event::$System($Event::$Body(round_trip(rest)))
                })+)+
            }
        };
    }
    by_kind! {
        Log LogEvent {
            RecoveryPerformed HeadMissingAccepted ClockStepped FingerprintRecorded CommandRefused
            ConfigurationChanged Salvaged RecordsLost HistoryArchived SegmentIndexed PolicyChanged
            PolicyUnknown RecordsUnproven RulesAdopted RecordsLabelled PolicyUnlocked
            ClockStepAccepted LogContinued
        }
        ExecutionLoop ExecutionLoopEvent {
            LoopInitialized LoopDispatched ResponseAwaited ResponseEvaluated LoopHalted
        }
        EvidenceCapture EvidenceCaptureEvent {
            ObserverAttached EvidenceCaptured StopConditionDetected ChainSealed OutputRecorded
        }
        SandboxFault SandboxFaultEvent {
            FaultReported SandboxDecided
        }
        HumanDecision HumanDecisionEvent {
            HumanDecisionRequested VisibilityOverridden HumanDecisionWarned HumanDecisionAnswered
            HumanDecisionTimedOut LateAnswerRecorded RequestWithdrawn OutputShown
        }
        Registration RegistrationEvent {
            CapabilityChanged TenantRegistered UserRegistered DeviceRegistered SessionRegistered
            WorkOrderRegistered LeaseRegistered
        }
        InterruptionThread InterruptionThreadEvent {
            TurnTaken RowCommitted RowRefused BufferExpired ReturnCheckExpired RemaindersDiscarded
            RowsRead ThreadClosed PendingDisarmed ThreadMoved RemainderDisplaced PlanDrafted
            TurnCommitted PlanEnded
        }
        DecisionPoint DecisionPointEvent {
            DecisionPointCreated DecisionPointRefined GuidanceGiven RoundOpened VoteCast
            DecisionPointResolved DefaultTaken DecisionPointAborted DecisionPointCancelled
            DecisionPointSuperseded DecisionPointReminded DecisionPointEscalated
            LateResponseRecorded ApprovalConsumed ApprovalLapsed DependentsReleased
            OutcomeReported ApprovalRevoked DecisionPointWarned
        }
        Application ApplicationEvent { ApplicationRecorded ReducerFingerprintRecorded }
    }
}

fn round_trip<T: serde::Serialize + serde::de::DeserializeOwned>(bytes: &[u8]) -> T {
    let configuration = bincode_next::config::standard();
    let (value, read) = bincode_next::serde::decode_from_slice(bytes, configuration).unwrap();
    assert_eq!(read, bytes.len());
    assert_eq!(bincode_next::serde::encode_to_vec(&value, configuration).unwrap(), bytes);
    value
}

fn line(encoded: &Encoded) -> String {
    let hex = base16ct::lower::encode_string(&encoded.payload);
    format!("{} {} {hex}", encoded.kind, encoded.version)
}

pub(crate) fn parsed(line: &str) -> Encoded {
    let parts: Vec<&str> = line.split(' ').collect();
    let [kind, version, hex] = parts.try_into().expect("three words in a line");
    let payload = base16ct::lower::decode_vec(hex).expect("hex");
    Encoded { kind: kind.parse().unwrap(), version: version.parse().unwrap(), payload }
}
