//! An outcome says which facts are forged and which genuine ones are gone.

use std::collections::BTreeSet;

use holdpoint_forger::{Effect, Outcome, attack};

use crate::made;

fn effect_of(name: &str, variant: u64) -> Effect {
    match attack(name).unwrap().apply(&mut made::log(), variant) {
        Outcome::Applied(effect) => effect,
        Outcome::NotApplicable(why) => panic!("{name}: {why}"),
    }
}

fn newest() -> u64 {
    let log = made::log();
    log.record(log.newest_end().unwrap()).sequence()
}

fn set(sequences: impl IntoIterator<Item = u64>) -> BTreeSet<u64> {
    sequences.into_iter().collect()
}

#[test]
fn a_changed_payload_changes_one_fact() {
    for name in
        ["flip-record-payload", "forge-payload", "forge-payload-and-link", "rechain-to-segment-end"]
    {
        let effect = effect_of(name, 0);
        assert_eq!(effect.changed, set([1]), "{name}");
        assert_eq!((effect.removed, effect.invented), (set([]), set([])), "{name}");
    }
}

#[test]
fn a_chain_made_anew_leaves_the_facts_behind_the_forged_one() {
    let effect = effect_of("rechain-to-log-end-with-head", 0);
    assert_eq!(effect.changed, set([1]));
    assert_eq!(effect.remade, set(2..=newest()));
}

#[test]
fn a_roll_back_removes_facts_and_changes_none() {
    let effect = effect_of("roll-back-everything", 0);
    assert_eq!(effect.removed, set(2..=newest()));
    assert_eq!((effect.changed, effect.invented), (set([]), set([])));
}

#[test]
fn a_record_that_is_zero_is_removed() {
    assert_eq!(effect_of("zero-record", 2).removed, set([newest()]));
    assert_eq!(effect_of("cut-before-record", 2).removed, set([newest()]));
}

#[test]
fn a_record_that_never_was_is_invented() {
    let effect = effect_of("append-record-with-head", 0);
    assert_eq!(effect.invented, set([newest() + 1]));
    assert_eq!((effect.changed, effect.removed), (set([]), set([])));
    assert_eq!(effect_of("repeat-record-at-end", 0).invented, set([1]));
}

#[test]
fn an_image_behind_a_damaged_record_is_a_change_of_its_fact() {
    let effect = effect_of("image-behind-zeroed-header", 0);
    assert_eq!(effect.removed, set([1]));
    assert_eq!(effect.invented, set([1]), "the image claims the sequence");
}

#[test]
fn swapped_records_are_moved_and_say_the_same() {
    let effect = effect_of("swap-segments", 0);
    assert!(!effect.moved.is_empty());
    assert_eq!((effect.changed, effect.removed), (set([]), set([])));
}

#[test]
fn an_effect_is_one_line_of_json() {
    let effect = Effect {
        changed: set([1, 2, 3, 7]),
        files: ["HEAD".to_owned()].into(),
        ..Effect::default()
    };
    let facts = r#""changed":[[1,3],[7,7]],"removed":[],"invented":[],"remade":[],"moved":[]"#;
    assert_eq!(effect.to_json(), format!(r#"{{{facts},"files":["HEAD"]}}"#));
}
