//! Phase-31's own list of tests, by category and with at least its counts: observation points 5,
//! stop conditions 10, chain validation 4, hash computation 3, forbidden imports 17,
//! immutability 5.

mod observation_points {
    use crate::sessions::{AT, capture, chain_of, session};
    use holdpoint_domain::evidence_capture::{EvidenceType, ObservationPoint};

    fn is_captured(point: ObservationPoint) {
        let chain = capture(&session(), &chain_of(0), point, b"\0\xff opaque");
        let record = &chain.records[0];
        assert_eq!(record.observation_point, point);
        assert_eq!(record.evidence_type, EvidenceType::StateTransition);
        assert_eq!(record.raw_data.as_bytes(), b"\0\xff opaque");
        assert_eq!(record.timestamp, AT);
        assert_eq!(record.prior_hash, "");
        assert_eq!(chain.head_hash, record.self_hash);
        assert_eq!(chain.fault(&session()), None);
    }

    #[test]
    fn pre_dispatch_is_captured() {
        is_captured(ObservationPoint::PreDispatch);
    }

    #[test]
    fn post_dispatch_is_captured() {
        is_captured(ObservationPoint::PostDispatch);
    }

    #[test]
    fn pre_evaluate_is_captured() {
        is_captured(ObservationPoint::PreEvaluate);
    }

    #[test]
    fn post_evaluate_is_captured() {
        is_captured(ObservationPoint::PostEvaluate);
    }

    #[test]
    fn halt_entry_is_captured() {
        is_captured(ObservationPoint::HaltEntry);
    }
}

mod stop_conditions {
    use crate::sessions::{halted_session, session};
    use holdpoint_domain::evidence_capture::{
        ObservationContext, StopCondition, StopFacts, check_stop, triggered_conditions,
    };

    /// Sets one fact and leaves all others clear.
    type Set = fn(&mut StopFacts, Option<bool>);

    /// The condition halts on the bad value and on the unknown one, and on nothing else that is
    /// known about other conditions; it goes on with the good one.
    fn detects(condition: StopCondition, goes_on_when: bool, set: Set) {
        let known = |fact| {
            let mut facts = StopFacts::ALL_CLEAR;
            set(&mut facts, fact);
            facts
        };
        let halts = |facts: &StopFacts| check_stop(Some(&session()), condition, facts);
        assert!(!halts(&known(Some(goes_on_when))));
        assert!(halts(&known(Some(!goes_on_when))));
        assert!(halts(&known(None)));
        for context in [None, Some(&halted_session())] {
            assert!(check_stop(context, condition, &StopFacts::ALL_CLEAR), "{context:?}");
        }
        let bad = known(Some(!goes_on_when));
        let context = session();
        let triggered: Vec<_> = triggered_conditions(Some(&context), &bad).collect();
        assert_eq!(triggered, [condition]);
    }

    #[test]
    fn missing_authorization_is_detected() {
        detects(StopCondition::MissingAuthorization, true, |f, v| f.authorization_present = v);
    }

    #[test]
    fn executor_not_registered_is_detected() {
        detects(StopCondition::ExecutorNotRegistered, true, |f, v| f.executor_registered = v);
    }

    #[test]
    fn envelope_hash_mismatch_is_detected() {
        detects(StopCondition::EnvelopeHashMismatch, true, |f, v| f.envelope_hash_matches = v);
    }

    #[test]
    fn context_uninitialized_is_detected() {
        let condition = StopCondition::ContextUninitialized;
        let facts = StopFacts::ALL_CLEAR;
        assert!(!check_stop(Some(&session()), condition, &facts));
        assert!(check_stop(None, condition, &facts));
        assert!(check_stop(Some(&halted_session()), condition, &facts));
        let blank: [fn(&mut ObservationContext); 5] = [
            |c| c.session_id.clear(),
            |c| c.loop_id = " ".into(),
            |c| c.executor_id = "\t".into(),
            |c| c.envelope_hash.clear(),
            |c| c.created_at = "\u{3000}".into(),
        ];
        for blank in blank {
            let mut context = session();
            blank(&mut context);
            assert!(check_stop(Some(&context), condition, &facts), "{context:?}");
        }
    }

    #[test]
    fn evidence_chain_broken_is_detected() {
        detects(StopCondition::EvidenceChainBroken, true, |f, v| f.chain_valid = v);
    }

    #[test]
    fn resource_limit_exceeded_is_detected() {
        detects(StopCondition::ResourceLimitExceeded, true, |f, v| f.resources_available = v);
    }

    #[test]
    fn timestamp_invalid_is_detected() {
        detects(StopCondition::TimestampInvalid, true, |f, v| f.timestamp_valid = v);
    }

    #[test]
    fn prior_execution_pending_is_detected() {
        let condition = StopCondition::PriorExecutionPending;
        detects(condition, true, |f, v| f.prior_execution_complete = v);
    }

    #[test]
    fn ambiguous_intent_is_detected() {
        detects(StopCondition::AmbiguousIntent, true, |f, v| f.intent_clear = v);
    }

    #[test]
    fn human_abort_is_detected() {
        detects(StopCondition::HumanAbort, false, |f, v| f.human_abort_signaled = v);
    }

    /// All ten at once, true, false and unknown: one row per condition.
    #[test]
    fn table_ten_conditions_true_false_unknown() {
        use StopCondition as C;
        // condition, the fact known to be true, known to be false, unknown: true is HALT.
        let table = [
            (C::MissingAuthorization, [false, true, true]),
            (C::ExecutorNotRegistered, [false, true, true]),
            (C::EnvelopeHashMismatch, [false, true, true]),
            (C::ContextUninitialized, [false, true, true]),
            (C::EvidenceChainBroken, [false, true, true]),
            (C::ResourceLimitExceeded, [false, true, true]),
            (C::TimestampInvalid, [false, true, true]),
            (C::PriorExecutionPending, [false, true, true]),
            (C::AmbiguousIntent, [false, true, true]),
            (C::HumanAbort, [true, false, true]),
        ];
        assert_eq!(table.map(|row| row.0).as_slice(), StopCondition::ALL);
        for (condition, row) in table {
            for (fact, halts) in [Some(true), Some(false), None].into_iter().zip(row) {
                let facts = every(fact);
                let context = match fact {
                    Some(true) => Some(session()),
                    Some(false) => Some(ObservationContext { loop_id: String::new(), ..session() }),
                    None if condition == C::ContextUninitialized => None,
                    None => Some(session()),
                };
                let found = check_stop(context.as_ref(), condition, &facts);
                assert_eq!(found, halts, "{condition} {fact:?}");
            }
        }
    }

    fn every(fact: Option<bool>) -> StopFacts {
        StopFacts {
            authorization_present: fact,
            executor_registered: fact,
            envelope_hash_matches: fact,
            chain_valid: fact,
            resources_available: fact,
            timestamp_valid: fact,
            prior_execution_complete: fact,
            intent_clear: fact,
            human_abort_signaled: fact,
        }
    }
}

mod chain_validation {
    use crate::sessions::{chain_of, session};
    use holdpoint_domain::evidence_capture::ChainFinding;
    use holdpoint_testing::chains::ChainFault;

    #[test]
    fn an_empty_chain_is_valid() {
        let mut chain = chain_of(0);
        assert_eq!(chain.fault(&session()), None);
        chain.head_hash = "x".into();
        assert_eq!(chain.fault(&session()), Some(ChainFault::Stated("empty")));
    }

    #[test]
    fn every_record_links_to_the_one_before_it() {
        let chain = chain_of(5);
        assert_eq!(chain.fault(&session()), None);
        for index in 0..5 {
            let mut broken = chain.clone();
            broken.records[index].prior_hash = "0".repeat(64);
            let expected = index.checked_sub(1).map(|before| &chain.records[before].self_hash);
            let finding = ChainFinding {
                index: index as u64,
                field: "prior_hash",
                expected: expected.cloned().unwrap_or_default(),
                found: "0".repeat(64),
            };
            assert_eq!(broken.fault(&session()), Some(ChainFault::Record(finding)));
        }
    }

    #[test]
    fn a_missing_link_is_invalid() {
        for index in 0..5 {
            let mut chain = chain_of(5);
            chain.records.remove(index);
            assert_eq!(chain.fault(&session()), Some(ChainFault::Stated("length")));
            chain.length = 4;
            assert!(chain.fault(&session()).is_some(), "{index}");
        }
    }

    #[test]
    fn a_changed_record_is_located() {
        for index in 0..5 {
            let mut chain = chain_of(5);
            chain.records[index].timestamp.push(' ');
            let Some(ChainFault::Record(found)) = chain.fault(&session()) else {
                panic!("record {index} was changed")
            };
            assert_eq!((found.index, found.field), (index as u64, "self_hash"));
        }
    }

    #[test]
    fn the_head_is_the_newest_record() {
        let mut chain = chain_of(3);
        chain.head_hash = chain.records[1].self_hash.clone();
        assert_eq!(chain.fault(&session()), Some(ChainFault::Stated("head_hash")));
    }
}

mod hash_computation {
    use crate::sessions::chain_of;
    use holdpoint_domain::core::hash::sha256;
    use holdpoint_domain::evidence_capture::evidence_hash;

    #[test]
    fn fields_are_joined_by_nul_in_the_seeds_order() {
        let chain = chain_of(2);
        let record = &chain.records[1];
        let preimage = [
            b"REC-00000001\0POST_DISPATCH\0STATE_TRANSITION\x002026-01-25T16:00:00Z\0raw 1\0",
            record.prior_hash.as_bytes(),
        ]
        .concat();
        assert_eq!(evidence_hash(record), sha256(&preimage).to_string());
    }

    #[test]
    fn the_hash_is_64_lower_case_hex_digits() {
        let hash = &chain_of(1).head_hash;
        assert_eq!(hash.len(), 64);
        assert!(hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')), "{hash}");
    }

    #[test]
    fn the_same_evidence_has_the_same_hash() {
        assert_eq!(chain_of(4), chain_of(4));
        assert_ne!(chain_of(4).head_hash, chain_of(3).head_hash);
    }
}

/// What the seed forbids to import, in this language: no file, process, network, clock, random
/// number, environment, thread, asynchronous control flow, browser or dynamic execution.
mod forbidden_imports {
    use std::path::{Path, PathBuf};

    macro_rules! forbidden {
        ($($name:ident: $($needle:literal),+;)+) => {$(
            #[test]
            fn $name() {
                for needle in [$($needle),+] {
                    assert_eq!(occurrences(needle), Vec::<String>::new(), "{needle}");
                }
            }
        )+};
    }

    forbidden! {
        files_are_not_imported: "std::fs", "File::open", "OpenOptions";
        the_operating_system_is_not_imported: "std::os", "libc", "rustix";
        processes_are_not_imported: "std::process", "Command::new";
        the_network_is_not_imported: "std::net", "TcpStream", "UdpSocket", "UnixStream";
        the_environment_is_not_imported: "std::env", "env!", "option_env!";
        threads_are_not_imported: "std::thread", "std::sync", "thread_local!";
        input_and_output_are_not_imported: "std::io", "println!", "eprintln!", "dbg!";
        clocks_are_not_imported: "std::time", "SystemTime", "Instant::now", "Timestamp::now";
        random_numbers_are_not_imported: "rand", "getrandom", "RandomState";
        unordered_maps_are_not_imported: "HashMap", "HashSet";
        asynchronous_functions_are_not_defined: "async";
        nothing_is_awaited: "await";
        asynchronous_runtimes_are_not_imported: "tokio", "async_std", "smol", "futures";
        browsers_are_not_imported: "playwright", "selenium", "thirtyfour", "fantoccini";
        nothing_is_executed_dynamically: "libloading", "dlopen", "asm!", "global_asm!";
        nothing_unsafe_is_done: "unsafe", "transmute", "unsafe_code = \"allow\"";
        the_standard_library_is_not_linked: "std::", "extern crate std";
    }

    /// The document's scores are floats: they are taken and told so, and kept in no state.
    #[test]
    fn floating_point_is_not_used() {
        for needle in ["f32", "f64"] {
            let mut found = occurrences(needle);
            found.retain(|at| !at.contains("core/confidence.rs"));
            assert_eq!(found, Vec::<String>::new(), "{needle}");
        }
    }

    /// Phase-31 may not know the phase that comes after it.
    #[test]
    fn phase_32_is_not_imported() {
        let found = occurrences("human_decision");
        let ours: Vec<_> = found.iter().filter(|at| at.contains("evidence_capture/")).collect();
        assert_eq!(ours, Vec::<&String>::new());
    }

    #[test]
    fn the_scan_sees_the_sources() {
        assert!(sources().len() > 20);
        assert!(!occurrences("evidence_hash").is_empty());
        assert_eq!(occurrences("evidence_has"), Vec::<String>::new());
    }

    /// Where the needle stands in the code of this crate, comments and tests left out, as whole
    /// words.
    fn occurrences(needle: &str) -> Vec<String> {
        let mut found = Vec::new();
        for path in sources() {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or("");
            for (index, line) in code.lines().enumerate() {
                let line = line.split("//").next().unwrap_or("");
                if has_word(line, needle) {
                    found.push(format!("{}:{}: {line}", path.display(), index + 1));
                }
            }
        }
        found
    }

    fn has_word(line: &str, needle: &str) -> bool {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        line.match_indices(needle).any(|(at, _)| {
            let before = line[..at].chars().next_back().is_some_and(is_word);
            let after = line[at + needle.len()..].chars().next().is_some_and(is_word);
            let ends_in_word = needle.chars().next_back().is_some_and(is_word);
            !before && (!after || !ends_in_word)
        })
    }

    fn sources() -> Vec<PathBuf> {
        let mut found = Vec::new();
        walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        found
    }

    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
}

mod immutability {
    use crate::sessions::{chain_of, halted_session, moved, session};
    use holdpoint_domain::core::payload::RawData;
    use holdpoint_domain::evidence_capture::{
        ChainHead, EvidenceType, ObservationPoint, OfferedEvidence, attach_observer,
        capture_evidence,
    };
    use holdpoint_domain::execution_loop::{ExecutionLoopState, initialize_execution_loop};

    #[test]
    fn capturing_leaves_prior_records_unchanged() {
        let before = chain_of(4);
        let after =
            crate::sessions::capture(&session(), &before, ObservationPoint::HaltEntry, b"more");
        assert_eq!(after.records[..4], before.records[..]);
        assert_eq!((after.length, after.chain_id), (5, before.chain_id));
    }

    #[test]
    fn captured_bytes_belong_to_the_record() {
        let mut bytes = b"as captured".to_vec();
        let offer = OfferedEvidence {
            observation_point: ObservationPoint::PreEvaluate,
            evidence_type: EvidenceType::ExecutorOutput,
            raw_data: RawData::from(bytes.clone()),
        };
        let head = ChainHead::genesis(&session(), "CHAIN-00000001");
        let at = crate::sessions::AT;
        let record = capture_evidence(&session(), offer, at, &head, "00000000").unwrap();
        bytes.fill(b'x');
        assert_eq!(record.raw_data.as_bytes(), b"as captured");
    }

    #[test]
    fn a_transition_leaves_the_loop_it_started_from_unchanged() {
        let before = initialize_execution_loop("hash", "exec-1", "00000000");
        let after = moved(&before, ExecutionLoopState::Dispatched);
        assert_eq!(before.current_state(), ExecutionLoopState::Init);
        assert_eq!(after.current_state(), ExecutionLoopState::Dispatched);
    }

    #[test]
    fn attaching_leaves_the_session_it_started_from_unchanged() {
        let loop_context = initialize_execution_loop("other hash", "exec-1", "00000001");
        let before = session();
        assert_eq!(attach_observer(&loop_context, &before), halted_session());
        assert_eq!(before, session());
    }

    #[test]
    fn a_seal_states_the_head_it_was_set_on() {
        let head = chain_of(3).head(&session());
        let (sealed, seal) = head.sealed();
        assert_eq!((seal.length, seal.injective_head), (3, head.injective_head));
        assert_eq!(ChainHead { is_sealed: false, ..sealed }, head);
    }
}
