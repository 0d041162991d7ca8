//! What every attack does, and what all of them are called.

use std::collections::BTreeSet;

use holdpoint_forger::{Outcome, attack, attacks};

use crate::made;

#[test]
fn every_attack_leaves_something_that_differs_or_says_that_it_cannot() {
    for attack in attacks() {
        for variant in 0..4 {
            let mut log = made::log();
            let outcome = attack.apply(&mut log, variant);
            let is_same = log == made::log();
            match outcome {
                Outcome::Applied(effect) => {
                    assert!(!is_same, "{} {variant}", attack.name);
                    let says_where = !effect.files.is_empty() || attack.name.contains("directory");
                    assert!(says_where, "{} {variant}: {effect:?}", attack.name);
                }
                Outcome::NotApplicable(why) => {
                    assert!(is_same, "{} {variant}", attack.name);
                    assert!(!why.is_empty(), "{} {variant}", attack.name);
                }
            }
        }
    }
}

#[test]
fn every_attack_can_be_made_on_the_small_log() {
    for attack in attacks() {
        let is_made =
            |variant| matches!(attack.apply(&mut made::log(), variant), Outcome::Applied(_));
        assert!((0..4).any(is_made), "{}: {:?}", attack.name, attack.apply(&mut made::log(), 0));
    }
}

#[test]
fn the_same_attack_gives_the_same_bytes() {
    for attack in attacks() {
        let (mut one, mut other) = (made::log(), made::log());
        attack.apply(&mut one, 5);
        attack.apply(&mut other, 5);
        assert!(one == other, "{}", attack.name);
    }
}

#[test]
fn attacks_have_names_of_their_own_and_a_sentence() {
    let names: BTreeSet<&str> = attacks().iter().map(|attack| attack.name).collect();
    assert_eq!(names.len(), attacks().len(), "a name stands twice");
    assert!(names.len() >= 70);
    for attack in attacks() {
        let is_kebab = attack.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        assert!(is_kebab, "{}", attack.name);
        let has_one_end = attack.what.ends_with('.') && attack.what.matches(". ").count() == 0;
        assert!(has_one_end, "{}: {}", attack.name, attack.what);
    }
}

#[test]
fn an_attack_is_found_by_its_name() {
    assert_eq!(attack("swap-segments").map(|attack| attack.name), Some("swap-segments"));
    assert!(attack("swap").is_none());
}
