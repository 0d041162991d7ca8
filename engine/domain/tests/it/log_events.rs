//! What happened to the log itself is recorded as it was told, and changes no other state.

use holdpoint_domain::command::SystemEvent;
use holdpoint_domain::execution_loop::ExecutionLoopState;
use holdpoint_domain::{Command, Event, World};
use holdpoint_testing::story::Story;
use holdpoint_testing::story::samples::samples;

/// Every event of the samples that the log's writer tells of.
fn told() -> Vec<(SystemEvent, Event)> {
    let told = |event: Event| {
        Some(match event.clone() {
            Event::RecoveryPerformed(body) => (SystemEvent::RecoveryPerformed(body), event),
            Event::HeadMissingAccepted(body) => (SystemEvent::HeadMissingAccepted(body), event),
            Event::ClockStepped(body) => (SystemEvent::ClockStepped(body), event),
            Event::ConfigurationChanged(body) => (SystemEvent::ConfigurationChanged(body), event),
            Event::Salvaged(body) => (SystemEvent::Salvaged(body), event),
            Event::RecordsLost(body) => (SystemEvent::RecordsLost(body), event),
            Event::HistoryArchived(body) => (SystemEvent::HistoryArchived(body), event),
            Event::SegmentIndexed(body) => (SystemEvent::SegmentIndexed(body), event),
            _ => return None,
        })
    };
    samples().into_iter().filter_map(|sample| told(sample.event)).collect()
}

#[test]
fn what_the_writer_tells_is_recorded_as_it_is() {
    let mut kinds: Vec<u16> = told().iter().map(|(_, event)| event.kind().kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, [1, 2, 3, 6, 7, 8, 9, 10]);
    for (told, event) in told() {
        let mut story = Story::in_state(ExecutionLoopState::Dispatched);
        assert_eq!(story.given(Command::RecordSystemEvent(told)), [event]);
    }
}

/// All that may differ is the count of events, and the configuration where that changed.
#[test]
fn what_happens_to_the_log_changes_no_other_state() {
    for (told, event) in told() {
        let mut story = Story::in_state(ExecutionLoopState::Evaluated);
        let before = parts(&story.world);
        story.given(Command::RecordSystemEvent(told));
        assert_eq!(parts(&story.world), before, "{event:?}");
        let changes_configuration =
            matches!(&event, Event::ConfigurationChanged(b) if b.digest.is_some());
        assert_eq!(story.world.configuration().is_some(), changes_configuration);
    }
}

/// Everything that a person may see of a world, but what counts events.
fn parts(world: &World) -> (Vec<String>, Vec<String>) {
    let text = |value: &dyn std::fmt::Debug| format!("{value:?}");
    let loops = world.live_loops().map(|entity| text(entity)).collect();
    let requests = world.open_requests().map(|(_, held)| text(held)).collect();
    (loops, requests)
}
