//! What needs several of the first four systems at once: one execution loop with its attempts,
//! evidence, faults and questions to a person, and the rules that move it.

pub(crate) mod aggregate;
pub(crate) mod answer;
pub(crate) mod apply;
pub(crate) mod apply_question;
pub(crate) mod attempt;
pub(crate) mod batch;
pub(crate) mod capture;
pub(crate) mod initialization;
pub(crate) mod request;
pub(crate) mod view;

pub use aggregate::*;
pub use view::*;
