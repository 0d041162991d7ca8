//! Questions that wait for a person: shown, answered and waited for, whatever asks them.

pub(crate) mod confirm_less;
