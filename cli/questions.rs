//! Questions that wait for a person: shown, answered and waited for, whatever asks them.

pub(crate) mod adoption;
pub(crate) mod approval_args;
pub(crate) mod choice;
pub(crate) mod confirm;
pub(crate) mod confirm_less;
pub(crate) mod decision_change;
pub(crate) mod decision_output;
pub(crate) mod decision_session;
pub(crate) mod decision_view;
pub(crate) mod following;
pub(crate) mod hold_answer;
pub(crate) mod hold_view;
pub(crate) mod log_snapshot;
pub(crate) mod long_over;
pub(crate) mod offered_options;
pub(crate) mod open;
pub(crate) mod overdue;
pub(crate) mod permits;
pub(crate) mod question_filter;
pub(crate) mod reason;
pub(crate) mod rejecting;
pub(crate) mod request_id;
pub(crate) mod respond;
pub(crate) mod waiting;
pub(crate) mod waiting_item;
pub(crate) mod waiting_logs;
