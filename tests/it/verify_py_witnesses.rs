//! `holdpoint verify` and `replay/verify.py` say the same of forged and missing witnesses: of every
//! attack of the forger, of HEADs, of LOCK, and of what a log leaves beside it.

use crate::attack_support::archived::archived_log;
use crate::attack_support::attacked_log;
use crate::attack_support::matrix::applied;
use crate::tamper::memory::SEALED;
use crate::verify_py::{Verifier, assert_standing, has_python, report, rust};
use holdpoint_domain::log::ClockStepped;
use holdpoint_forger::{Log, Pair, Victim, attacks, pair_attacks};
use holdpoint_log_format::{Head, Lock, LogId, OwnerState, names};
use holdpoint_replay::machine::this_boot;
use holdpoint_testing::hand_made::{HandMadeLog, OTHER_BOOT, encoded, flip};
use holdpoint_testing::part::part;
use std::fs;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

/// The log that the forger attacks, after one of its attacks.
fn attacked(name: &str) -> TempDir {
    let (genuine, directory) = (attacked_log(), TempDir::new().unwrap());
    let mut log = Log::read(genuine.path()).unwrap();
    applied(attacks().iter().find(|attack| attack.name == name).unwrap(), &mut log);
    log.write(directory.path()).unwrap();
    directory
}

#[test]
fn both_verifiers_find_marks_that_name_a_record_inside_a_batch() {
    if !has_python() {
        return;
    }
    for (name, row, problem) in
        [("head-in-batch", 6, "witness_in_batch"), ("rechain-claim-in-batch", 5, "claim_in_batch")]
    {
        let directory = attacked(name);
        let said = Verifier::start().verify(directory.path());
        assert_eq!(said, rust(directory.path()), "{name}");
        assert_eq!((said.row, said.verdict.as_str()), (row, "corrupt"), "{name}");
        let report = report(directory.path());
        assert_eq!(report.findings[0].name(), problem, "{name}: {:?}", report.findings);
    }
}

#[test]
fn both_verifiers_say_the_same_of_every_attack() {
    if !has_python() {
        return;
    }
    let (genuine, mut verifier) = (attacked_log(), Verifier::start());
    let log = Log::read(genuine.path()).unwrap();
    let mut differing = Vec::new();
    // A newer format is refused, and is no verdict.
    let judged = attacks().iter().filter(|attack| !attack.name.ends_with("newer-version"));
    for attack in part(judged.collect(), 6) {
        let (directory, mut log) = (tempfile::tempdir().unwrap(), log.clone());
        applied(attack, &mut log);
        log.write(directory.path()).unwrap();
        let (said, ours) =
            (verifier.verify_with_standing(directory.path()).0, rust(directory.path()));
        if said != ours {
            differing.push((attack.name, said, ours));
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn both_verifiers_say_the_same_of_log_and_archive_whatever_was_done_to_either() {
    if !has_python() {
        return;
    }
    let (genuine, mut verifier) = (archived_log(), Verifier::start());
    let pair = Pair::read(genuine.path()).unwrap();
    let mut differing = Vec::new();
    for attack in pair_attacks() {
        let (directory, mut pair) = (tempfile::tempdir().unwrap(), pair.clone());
        applied(attack, &mut pair);
        pair.write(directory.path()).unwrap();
        for name in pair.0.keys() {
            let part = directory.path().join(name);
            let (said, ours) = (verifier.verify_with_standing(&part).0, rust(&part));
            if said != ours {
                differing.push((attack.name, name.clone(), said, ours));
            }
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn both_verifiers_find_a_log_of_which_only_a_lock_of_this_boot_is_left() {
    if !has_python() {
        return;
    }
    let mut log = HandMadeLog::of(LogId([9; 16]));
    let directory = tempfile::tempdir().unwrap();
    for (boot, verdict) in [(this_boot(), "corrupt"), (OTHER_BOOT, "nothing here")] {
        log.boot = boot;
        log.batch(&[encoded(ClockStepped { step_ns: 1 }.into())]);
        log.write(directory.path());
        fs::remove_dir_all(directory.path().join(names::SEGMENTS)).unwrap();
        fs::remove_file(directory.path().join(names::HEAD)).unwrap();
        let (said, _) = Verifier::start().verify_with_standing(directory.path());
        assert_eq!(said, rust(directory.path()));
        assert_eq!((said.row, said.verdict.as_str()), (0, verdict));
    }
}

#[test]
fn both_verifiers_hold_completeness_for_unproven_where_a_file_tells_of_a_later_record() {
    if !has_python() {
        return;
    }
    let mut log = HandMadeLog::of(LogId([9; 16]));
    log.batch(&[encoded(ClockStepped { step_ns: 1 }.into())]);
    let earlier = log.head();
    log.batch(&[encoded(ClockStepped { step_ns: 1 }.into())]);
    let later = log.head();
    let head_of = |head: &Head| head.encode().to_vec();
    let other = Head { log: LogId([8; 16]), newest_sequence: 9, ..later };
    let newer = Head { newest_sequence: 9, ..later };
    let lock_of = |durable_sequence| {
        let state = OwnerState::Idle;
        let (pid, previous_state, boot, wall_minus_boot) = (1, state, OTHER_BOOT, 0);
        Lock { pid, state, previous_state, boot, durable_sequence, wall_minus_boot }.encode()
    };
    let cases: [(&str, Vec<u8>, bool); 10] = [
        (names::LOCK, lock_of(3).to_vec(), true),
        (names::LOCK, lock_of(2).to_vec(), false),
        ("snapshots/00000000000000000003.snapshot", vec![], true),
        ("snapshots/00000000000000000002.snapshot", vec![], false),
        ("snapshots/3.snapshot", vec![], false),
        ("segments/00000000000000000003.idx", vec![], true),
        ("segments/00000000000000000001.idx", vec![], false),
        (names::HEAD_TEMPORARY, head_of(&newer), true),
        (names::HEAD_TEMPORARY, head_of(&earlier), false),
        (names::HEAD_TEMPORARY, head_of(&other), false),
    ];
    for (file, bytes, is_told) in cases {
        let directory = tempfile::tempdir().unwrap();
        log.write(directory.path());
        fs::create_dir(directory.path().join(names::SNAPSHOTS)).unwrap();
        fs::write(directory.path().join(file), bytes).unwrap();
        let (said, _) = Verifier::start().verify_with_standing(directory.path());
        assert_eq!(said, rust(directory.path()), "{file}");
        let verdict = if is_told { "intact, tail unproven" } else { "intact" };
        assert_eq!(said.verdict, verdict, "{file}");
    }
}

/// What only has the name of a file that tells of a later record tells of none.
#[test]
fn both_verifiers_look_at_no_directory_or_link_with_the_name_of_a_snapshot_or_an_index() {
    if !has_python() {
        return;
    }
    let mut log = HandMadeLog::of(LogId([9; 16]));
    log.batch(&[encoded(ClockStepped { step_ns: 1 }.into())]);
    for directory_name in [names::SNAPSHOTS, names::SEGMENTS] {
        let directory = tempfile::tempdir().unwrap();
        log.write(directory.path());
        let place = directory.path().join(directory_name);
        fs::create_dir_all(&place).unwrap();
        for ending in ["snapshot", "idx"] {
            fs::create_dir(place.join(format!("00000000000000000009.{ending}"))).unwrap();
            let link = place.join(format!("00000000000000000008.{ending}"));
            symlink(directory.path().join(names::HEAD), link).unwrap();
        }
        let (said, _) = Verifier::start().verify_with_standing(directory.path());
        assert_eq!(said, rust(directory.path()), "{directory_name}");
        assert_eq!(said.verdict, "intact", "{directory_name}");
    }
}

#[test]
fn both_verifiers_find_that_an_archive_does_not_end_in_a_seal() {
    if !has_python() {
        return;
    }
    let mut log = HandMadeLog::of(LogId([9; 16]));
    log.batch(&[encoded(ClockStepped { step_ns: 1 }.into())]);
    let (directory, end) = (tempfile::tempdir().unwrap(), log.active_end());
    log.write(directory.path());
    fs::write(directory.path().join(names::ARCHIVE), "an archive").unwrap();
    let said = Verifier::start().verify(directory.path());
    assert_eq!(said, rust(directory.path()));
    assert_eq!((said.row, said.first), (8, Some((SEALED.to_string(), end, 2))));
}

#[test]
fn both_programs_tie_nothing_by_way_of_a_record_whose_checksum_does_not_hold() {
    if !has_python() {
        return;
    }
    let mut log = HandMadeLog::of(LogId([9; 16]));
    let mut begins = Vec::new();
    for _ in 0..8 {
        log.batch(&[encoded(ClockStepped { step_ns: 1 }.into())]);
        begins.push(log.head().record_offset);
    }
    let directory = tempfile::tempdir().unwrap();
    log.write(directory.path());
    // A payload of record 2, and the checksum alone of record 5.
    flip(&directory.path().join(SEALED), begins[1] + 64);
    flip(&directory.path().join(SEALED), begins[4] + 4);
    let (said, parts) = Verifier::start().verify_with_standing(directory.path());
    assert_eq!(said, rust(directory.path()));
    assert_standing(directory.path(), &parts, "two damages");
    let unproven = (1, 5, "unproven".to_string());
    assert_eq!(parts, [unproven, (6, 8, "proven".to_string())]);
}
