//! The program's readers of what others write, for whoever gives them any bytes at all.

pub use crate::apply::submission::{Defaults, Submission};
pub use crate::args::json_fault::Fault;
pub use crate::args::json_lines::{InputLine, next_line};
pub use crate::args::strict_json::{Member, Node, Value, parse};
pub use crate::bisect::predicate::Predicate;
pub use crate::ui::exit::{Exit, Failure};
