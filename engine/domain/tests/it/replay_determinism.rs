//! Property E1 over all systems at once: whatever was commanded, the live state equals the state
//! rebuilt from the records alone, or from a carried state and the records behind it. Every command
//! is carried out many times.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::execution_loop::{ExecutionLoopCommand, ExecutionLoopState, HaltReason};
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::world::{REGISTRY, STATE_SCHEMA_VERSION, envelope};
use holdpoint_domain::{Command, Event, World};
use holdpoint_testing::story::commands::{Generator, on_random_stories};
use holdpoint_testing::story::{Recorded, SECRET, Story, rebuilt, seed};

/// 100 000 commands, in worlds that stay so small that all of it is compared.
const WORLDS: u64 = 4;
const COMMANDS_OF_WORLD: u64 = 32_000;
/// The state is compared so many times in each world.
const COMPARISONS: u64 = 4;
/// How often each command is carried out at least.
const LEAST: u64 = 100;

#[test]
fn replay_of_every_command_of_all_systems_gives_the_live_state() {
    let seed = seed();
    let play = |world: u64| match world.is_multiple_of(2) {
        true => play::<FromRecords>(seed.wrapping_add(world)),
        false => play::<FromCarried>(seed.wrapping_add(world)),
    };
    let tally = thread::scope(|scope| {
        let worlds: Vec<_> = (0..WORLDS).map(|world| scope.spawn(move || play(world))).collect();
        let mut tally = Tally::default();
        worlds.into_iter().for_each(|world| tally.add(world.join().expect("see above")));
        tally
    });
    tally.check();
}

/// A way to rebuild a live state.
trait Replay: Default {
    /// Takes what was recorded since, and compares.
    fn follow(&mut self, story: &Story);

    /// Compares what takes long.
    fn finish(self, live: &World);
}

fn play<R: Replay>(seed: u64) -> Tally {
    let (mut generator, mut tally) = (Generator::seeded(seed), Tally::default());
    let (mut story, mut replay) = (Story::adopted(), R::default());
    for number in 1..=COMMANDS_OF_WORLD {
        let step = generator.step(&mut story);
        if let (Some(command), Ok(_)) = (&step.command, &step.outcome) {
            *tally.accepted.entry(command.name()).or_default() += 1;
        }
        if number.is_multiple_of(COMMANDS_OF_WORLD / COMPARISONS) {
            replay.follow(&story);
        }
    }
    replay.finish(&story.world);
    tally.kinds.extend(story.records.iter().map(|record| record.encoded.kind));
    tally.ends.extend(story.world.totals().loops_settled.keys().copied());
    tally
}

/// From the records alone, keeping what settles.
struct FromRecords {
    replayed: World,
    taken: usize,
}

impl Default for FromRecords {
    fn default() -> Self {
        Self { replayed: World::default().keeping_settled(), taken: 0 }
    }
}

impl Replay for FromRecords {
    fn follow(&mut self, story: &Story) {
        let (live, news) = (&story.world, &story.records[self.taken..]);
        self.replayed = rebuilt(news, std::mem::take(&mut self.replayed));
        self.taken = story.records.len();
        assert!(self.replayed == *live, "replayed and live differ");
        assert_eq!(self.replayed.fingerprint(), live.fingerprint());
    }

    fn finish(self, live: &World) {
        let text = |world: &World| serde_json::to_string(world).unwrap();
        assert!(text(&self.replayed) == text(live), "replayed and live read otherwise");
        assert!(live.live_loops().all(|entity| !entity.is_settled()));
        assert!(live.settled_loops().all(ExecutionLoop::is_settled));
        live.settled_loops().for_each(assert_sealed);
    }
}

/// A settled chain is what its seal says.
fn assert_sealed(entity: &ExecutionLoop) {
    let chain = entity.chain.as_ref().expect("every loop is observed");
    assert!(chain.head.is_sealed && !chain.is_broken);
    assert_eq!(chain.head.length, chain.records.len() as u64);
    let newest = chain.records.last().map(|record| record.self_hash.as_str());
    assert_eq!(newest, Some(chain.head.head_hash.as_str()));
}

/// From the state that was carried before, in turns decoded as a whole and as a snapshot is. Only
/// what lives is kept, but for the settled loops of the last part.
#[derive(Default)]
struct FromCarried {
    began: World,
    parts: u64,
    taken: usize,
}

impl Replay for FromCarried {
    fn follow(&mut self, story: &Story) {
        let (live, news) = (&story.world, &story.records[self.taken..]);
        let began = std::mem::take(&mut self.began);
        let hot = rebuilt(news, began.clone());
        assert_eq!((hot.fingerprint(), hot.settled_loops().count()), (live.fingerprint(), 0));
        let alive = |world: &World| world.live_loops().cloned().collect::<Vec<_>>();
        assert_eq!(alive(&hot), alive(live));
        let bytes = live.carry();
        assert!(bytes == hot.carry(), "replayed and live are carried otherwise");
        let whole = World::from_carried(&bytes).expect("what was carried");
        assert!(whole == hot, "the carried state is another");
        self.parts += 1;
        self.taken = story.records.len();
        self.began = match self.parts.is_multiple_of(2) {
            true => whole,
            false => World::from_snapshot(Arc::new(bytes.clone()), live.fingerprint_digest())
                .expect("its own"),
        };
        if self.parts == COMPARISONS {
            assert_keeps(news, began, &hot);
        }
    }

    fn finish(self, _: &World) {}
}

/// Whoever keeps what settles from here on has just what settled since.
fn assert_keeps(news: &[Recorded], began: World, hot: &World) {
    let settled = |world: &World| world.totals().loops_settled.values().sum::<u64>();
    let before = settled(&began);
    let kept = rebuilt(news, began.keeping_settled());
    assert_eq!(kept.fingerprint(), hot.fingerprint());
    assert_eq!(kept.settled_loops().count() as u64, settled(hot) - before);
}

/// What was carried out, over all worlds.
#[derive(Debug, Default)]
struct Tally {
    accepted: BTreeMap<&'static str, u64>,
    kinds: BTreeSet<u16>,
    ends: BTreeSet<HaltReason>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        for (name, count) in other.accepted {
            *self.accepted.entry(name).or_default() += count;
        }
        self.kinds.extend(other.kinds);
        self.ends.extend(other.ends);
    }

    fn check(&self) {
        let count = |name: &&'static str| self.accepted.get(*name).copied().unwrap_or_default();
        let counts: Vec<_> = Command::NAMES.iter().map(|name| (count(name), *name)).collect();
        println!("carried out least often: {:?}", counts.iter().min());
        let rare: Vec<_> = counts.iter().filter(|(count, _)| *count < LEAST).collect();
        assert!(rare.is_empty(), "carried out less than {LEAST} times: {rare:?}");
        // What a salvage, a reducer or a label tells is no command of anybody, and words rarely
        // give way to others here: `thread_random` does that.
        let not_here = [
            "log.salvaged",
            "log.records_lost",
            "log.policy_unknown",
            "log.policy_unlocked",
            "log.clock_step_accepted",
            "log.continued",
            "log.records_unproven",
            "log.labelled",
            "interruption_thread.remainder_displaced",
            "application.reducer_fingerprint_recorded",
        ];
        let told = REGISTRY.iter().filter(|entry| !not_here.contains(&entry.name));
        let told: BTreeSet<u16> = told.map(|entry| entry.kind).collect();
        let rare = |kind: &&u16| **kind != 177;
        assert_eq!(
            self.kinds.iter().filter(rare).collect::<Vec<_>>(),
            told.iter().collect::<Vec<_>>()
        );
        assert_eq!(self.ends.iter().copied().collect::<Vec<_>>(), HaltReason::ALL);
    }
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
    let decode = |r: &Recorded| {
        let encoded = &r.encoded;
        envelope::decode(encoded.kind, encoded.version, &encoded.payload)
    };
    story.records.iter().map(|r| decode(r).unwrap().event).collect()
}

/// A golden fingerprint: whoever changes the state's encoding raises its schema version.
#[test]
fn replay_fingerprint_of_a_fixed_story_is_pinned_with_its_schema_version() {
    let mut story = Story::in_state(ExecutionLoopState::Halted);
    let initialize = story.initialize();
    story.loop_id = initialize.loop_id();
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize)));
    story.given(story.dispatch());
    let found = Digest::from_bytes(story.world.fingerprint());
    let pinned = (12, "211c8f2bb7c0d5ecdad41f99b4a6fe117353411e0d83581a3917afcba4501768");
    assert_eq!((STATE_SCHEMA_VERSION, found.to_string().as_str()), pinned);
}
