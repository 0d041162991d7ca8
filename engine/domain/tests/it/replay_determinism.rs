//! Property E1: the live state equals the state rebuilt from the records, whatever was commanded.

use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::{Event, World};
use holdpoint_testing::story;
use holdpoint_testing::story::random::{on_random_stories, random_story};
use holdpoint_testing::story::{SECRET, Story, rebuilt};
use quickcheck::Gen;

#[test]
fn replay_live_state_equals_rebuilt_state() {
    on_random_stories(|story| {
        let retained = rebuilt(&story.records, World::retaining_settled());
        assert_eq!(retained, story.world);
        assert_eq!(retained.fingerprint(), story.world.fingerprint());
        let text = |world: &World| serde_json::to_string(world).unwrap();
        assert_eq!(text(&retained), text(&story.world));
    });
}

#[test]
fn replay_fingerprint_is_the_same_with_and_without_settled_loops() {
    on_random_stories(|story| {
        let hot = rebuilt(&story.records, World::default());
        assert_eq!(hot.fingerprint(), story.world.fingerprint());
        assert_eq!(hot.settled_loops().count(), 0);
        let live = |world: &World| world.live_loops().cloned().collect::<Vec<_>>();
        assert_eq!(live(&hot), live(&story.world));
    });
}

#[test]
fn replay_memory_follows_live_loops() {
    on_random_stories(|story| {
        assert!(story.world.live_loops().all(|entity| !entity.is_settled()));
        assert!(story.world.settled_loops().all(|entity| entity.is_settled()));
    });
}

#[test]
fn replay_settled_chains_say_what_their_seals_say() {
    on_random_stories(|story| {
        for entity in story.world.settled_loops() {
            let chain = entity.chain.as_ref().expect("every loop is observed");
            assert!(chain.head.is_sealed && !chain.is_broken);
            assert_eq!(chain.head.length, chain.records.len() as u64);
            let newest = chain.records.last().map(|r| r.self_hash.as_str());
            assert_eq!(newest, Some(chain.head.head_hash.as_str()));
        }
    });
}

#[test]
fn replay_no_readable_form_shows_raw_evidence() {
    let secret = String::from_utf8(SECRET.to_vec()).unwrap();
    let as_numbers = serde_json::to_string(SECRET).unwrap();
    on_random_stories(|story| {
        let mut shown = vec![serde_json::to_string(&story.world).unwrap()];
        shown.push(format!("{:?}", story.world));
        shown.extend(events_of(story).iter().map(|event| serde_json::to_string(event).unwrap()));
        shown.extend(events_of(story).iter().map(|event| format!("{event:?}")));
        for text in shown {
            assert!(!text.contains(&secret) && !text.contains(&as_numbers), "{text}");
        }
    });
}

fn events_of(story: &Story) -> Vec<Event> {
    let decode = |r: &story::Recorded| {
        let encoded = &r.encoded;
        holdpoint_domain::codec::decode(encoded.kind, encoded.version, &encoded.payload)
    };
    story.records.iter().map(|r| decode(r).unwrap().event).collect()
}

/// The random commands reach what they are meant to test.
#[test]
fn replay_random_stories_reach_every_kind_and_every_end() {
    let mut kinds = std::collections::BTreeSet::new();
    let mut reasons = std::collections::BTreeSet::new();
    for round in 0..200 {
        let story = random_story(&mut Gen::from_size_and_seed(40, round));
        kinds.extend(story.records.iter().map(|record| record.encoded.kind));
        reasons.extend(story.world.totals().loops_settled.keys().copied());
    }
    // Policies (11 and 12) have tests of their own: `policy.rs`.
    let told_by_the_shell = [1, 2, 7, 8, 9, 10, 11, 12, 13];
    // Threads and decision points have random stories of their own: `thread_random.rs` and
    // `decision_point_random.rs`.
    let elsewhere = ["interruption_thread", "decision_point"];
    let registry = holdpoint_domain::event::REGISTRY.iter();
    let expected = registry.filter(|entry| !elsewhere.contains(&entry.system));
    let expected = expected.map(|entry| entry.kind);
    let expected: Vec<u16> = expected.filter(|kind| !told_by_the_shell.contains(kind)).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
    let all = holdpoint_domain::event::HaltReason::ALL;
    assert_eq!(reasons.into_iter().collect::<Vec<_>>(), all);
}

/// A golden fingerprint: whoever changes the state's encoding raises its schema version.
#[test]
fn replay_fingerprint_of_a_fixed_story_is_pinned_with_its_schema_version() {
    let mut story = Story::in_state(holdpoint_domain::execution_loop::ExecutionLoopState::Halted);
    let initialize = story.initialize();
    story.loop_id = initialize.loop_id();
    story.given(holdpoint_domain::Command::InitializeLoop(initialize));
    story.given(story.dispatch());
    let found = holdpoint_domain::hash::Digest::from_bytes(story.world.fingerprint());
    let pinned = (6, "fc31d2144b11e9e2c11480d7bebb5680fa1c4ce05c7fd947ec5c0361b088efc6");
    assert_eq!((STATE_SCHEMA_VERSION, found.to_string().as_str()), pinned);
}
