//! Evidence that is hashed together, before its records are applied, is judged and applied as
//! evidence that is hashed where it is needed: true or forged, in its place or out of it.

use crate::forbidden_events::disordered;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::evidence_capture::{EvidenceHashes, EvidenceMessages};
use holdpoint_domain::world::envelope::decode;
use holdpoint_domain::{Envelope, World};
use holdpoint_testing::story::commands::Generator;
use holdpoint_testing::story::{Recorded, Story, seed};
use quickcheck::Gen;

#[test]
fn evidence_hashed_together_leads_to_the_same_findings_and_the_same_state() {
    let seed = seed();
    for round in 0..20 {
        eprintln!("HOLDPOINT_SEED={}", seed + round);
        let story = disordered(&mut Gen::from_size_and_seed(30, seed + round));
        let envelopes: Vec<_> = story.records.iter().map(decoded).collect();
        let (mut alone, mut judged, mut evolved) =
            (World::default(), World::default(), World::default());
        let hashed = hashed_together(&envelopes);
        for ((record, envelope), evidence) in story.records.iter().zip(&envelopes).zip(hashed) {
            let Recorded { sequence, at, .. } = record;
            let expected = alone.judge_and_evolve(*sequence, *at, envelope);
            let found = judged.judge_and_evolve_hashed(*sequence, *at, envelope, evidence);
            assert_eq!(found, expected);
            evolved.evolve_hashed(*sequence, *at, envelope, evidence);
        }
        assert_eq!(judged.fingerprint(), alone.fingerprint());
        assert_eq!(evolved.fingerprint(), alone.fingerprint());
    }
}

/// What `decide` made is hashed already: the same state follows, with nothing hashed again.
#[test]
fn what_decide_has_made_leads_to_the_same_state_as_its_record() {
    let seed = seed();
    eprintln!("HOLDPOINT_SEED={seed}");
    let (mut generator, mut story) = (Generator::seeded(seed), Story::adopted());
    let (mut from_records, mut as_decided) = (World::default(), World::default());
    let mut captured = 0;
    let mut seen = 0;
    while captured < 500 {
        let events = generator.step(&mut story).outcome.unwrap_or_default();
        let new = story.records.get(seen..).unwrap();
        seen = story.records.len();
        let decided = new.len() - events.len();
        let mut made = events.into_iter();
        for (place, record) in new.iter().enumerate() {
            let mut envelope = decoded(record);
            from_records.evolve(record.sequence, record.at, &envelope);
            if place >= decided {
                envelope.event = made.next().unwrap();
            }
            captured += usize::from(envelope.event.captured().is_some());
            as_decided.evolve_decided(record.sequence, record.at, &envelope);
        }
    }
    assert_eq!(as_decided, from_records);
    assert_eq!(as_decided.fingerprint(), story.world.fingerprint());
}

fn decoded(record: &Recorded) -> Envelope {
    let encoded = &record.encoded;
    decode(encoded.kind, encoded.version, &encoded.payload).unwrap()
}

fn hashed_together(envelopes: &[Envelope]) -> Vec<Option<EvidenceHashes>> {
    let mut messages = EvidenceMessages::default();
    envelopes.iter().filter_map(|it| it.event.captured()).for_each(|body| messages.add(body));
    let mut hashes = messages.hashes(|messages, digests| {
        let digest = |message: &&[u8]| *sha256(message).as_bytes();
        messages.iter().zip(digests).for_each(|(message, place)| *place = digest(message));
    });
    envelopes.iter().map(|it| it.event.captured().and_then(|_| hashes.next())).collect()
}
