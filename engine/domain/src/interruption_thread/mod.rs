//! PH1.X: interruption threads. What was being said when somebody interrupted it, to whom, and what
//! became of the rest; one directive and one audit row for every turn.

pub(crate) mod apply;
pub(crate) mod branch;
pub(crate) mod command;
pub(crate) mod decision;
pub(crate) mod draft;
pub(crate) mod event;
pub(crate) mod health;
pub(crate) mod refusal;
pub(crate) mod remainders;
pub(crate) mod render;
pub(crate) mod request;
pub(crate) mod rules;
pub(crate) mod session;
pub(crate) mod speculation;
pub(crate) mod state;
pub(crate) mod turn;
pub(crate) mod types;
pub(crate) mod validate;

pub use command::*;
pub use decision::*;
pub use draft::*;
pub use event::*;
pub use health::*;
pub use refusal::*;
pub use render::*;
pub use request::*;
pub use speculation::*;
pub use state::*;
pub use turn::*;
pub use types::*;
