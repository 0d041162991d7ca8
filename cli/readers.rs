//! The program's readers of what others write, for whoever gives them any bytes at all.

pub use crate::apply::fault::Fault;
pub use crate::apply::json::{Member, Node, Value, parse};
pub use crate::apply::lines::{InputLine, next_line};
pub use crate::apply::submission::{Defaults, Submission};
pub use crate::bisect::predicate::Predicate;
pub use crate::ui::exit::{Exit, Failure};
