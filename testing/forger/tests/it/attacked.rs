//! What every attack does, and what all of them are called.

use std::collections::BTreeSet;

use holdpoint_forger::{Outcome, attack, attacks, pair_attacks};

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
fn every_attack_on_an_archive_can_be_made_on_the_small_pair_and_says_where() {
    for attack in pair_attacks() {
        let outcomes = (0..4).map(|variant| attack.apply(&mut made::pair(), variant));
        let mut effects = outcomes.filter_map(|outcome| match outcome {
            Outcome::Applied(effect) => Some(effect),
            Outcome::NotApplicable(_) => None,
        });
        let made = effects.next();
        let effect = made.unwrap_or_else(|| panic!("{attack:?} cannot be made"));
        let is_in_one = |path: &String| {
            ["log/", "archive/", "elsewhere/"].iter().any(|directory| path.starts_with(directory))
        };
        assert!(
            !effect.files.is_empty() && effect.files.iter().all(is_in_one),
            "{attack:?}: {effect:?}"
        );
    }
}

#[test]
fn the_same_attack_gives_the_same_bytes() {
    for attack in pair_attacks() {
        let (mut one, mut other) = (made::pair(), made::pair());
        attack.apply(&mut one, 5);
        attack.apply(&mut other, 5);
        assert!(one == other, "{}", attack.name);
    }
    for attack in attacks() {
        let (mut one, mut other) = (made::log(), made::log());
        attack.apply(&mut one, 5);
        attack.apply(&mut other, 5);
        assert!(one == other, "{}", attack.name);
    }
}

#[test]
fn attacks_have_names_of_their_own_and_a_sentence() {
    let on_log = attacks().iter().map(|attack| (attack.name, attack.what));
    let all = on_log.chain(pair_attacks().iter().map(|attack| (attack.name, attack.what)));
    let names: BTreeSet<&str> = all.clone().map(|(name, _)| name).collect();
    assert_eq!(names.len(), all.clone().count(), "a name stands twice");
    assert!(names.len() >= 70);
    for (name, what) in all {
        let is_kebab = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        assert!(is_kebab, "{name}");
        let has_one_end = what.ends_with('.') && what.matches(". ").count() == 0;
        assert!(has_one_end, "{name}: {what}");
    }
}

#[test]
fn an_attack_is_found_by_its_name() {
    assert_eq!(attack("swap-segments").map(|attack| attack.name), Some("swap-segments"));
    assert!(attack("swap").is_none());
}
