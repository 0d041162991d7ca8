//! What ends by no turn is among the rows that the library reads.

use crate::conversation::{TENANT, THREAD, accepted, caller, close_thread, conversation, set_up};
use holdpoint_domain::interruption_thread::{ReasonCode, ResumePolicy};
use holdpoint_engine::shell::{ReadMode, RowContent};
use holdpoint_testing::shell::{Place, SetClock};

#[test]
fn words_that_end_with_their_thread_are_a_row() {
    let (place, clock) = (Place::new(), SetClock::new());
    let engine = place.engine_with(&clock);
    set_up(&engine);
    for command in conversation(&clock).iter().take(2) {
        accepted(&engine, command);
    }
    accepted(&engine, &close_thread());
    let rows = engine.audit_rows(&caller(), TENANT, THREAD, ReadMode::Plain);
    let rows = rows.expect("the caller may look");
    let RowContent::Ended(ended) = &rows[rows.len() - 1].content else { panic!("{rows:?}") };
    let found = (ended.turn_id, ended.reason_code, ended.interrupt_resume_policy);
    assert_eq!(found, (Some(2), ReasonCode::ThreadClosed, ResumePolicy::Discard));
}
