//! The program's readers of what others write, for whoever gives them any bytes at all.

pub use crate::args::json_fault::Fault;
pub use crate::args::json_lines::{InputLine, next_line};
pub use crate::args::strict_json::{Member, Node, Value, parse};
pub use crate::ui::exit::{Exit, Failure};
pub use crate::verbs::record::apply::submission::{Defaults, Submission};
pub use crate::verbs::state::bisect::predicate::Predicate;
