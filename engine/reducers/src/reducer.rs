//! Parts of a reducer: a name, a version, and what an event does to a state.

use crate::error::ReducerError;
use crate::event::{ApplicationEvent, EventError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Makes a state of the application's events. The same events have to give the same state, on any
/// machine and at any time: a reducer reads no clock and no file, draws nothing at random, and its
/// state has one encoding (a `BTreeMap`, and no `HashMap`, whose order is another in each process).
///
/// ```
/// use holdpoint_reducers::{ApplicationEvent, EventError, EventType, Reducer};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Paid {
///     cents: u64,
/// }
///
/// impl EventType for Paid {
///     const TYPE: &'static str = "order.paid";
/// }
///
/// #[derive(Default, Serialize, Deserialize)]
/// struct Balance {
///     cents: u64,
/// }
///
/// struct Balances;
///
/// impl Reducer for Balances {
///     const NAME: &'static str = "balances";
///     type State = Balance;
///
///     fn apply(state: &mut Balance, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
///         if let Some(paid) = event.read::<Paid>()? {
///             state.cents += paid.cents;
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait Reducer: 'static {
    /// The reducer's name in the log: 1 to 256 bytes, visible, without blanks around it. No other
    /// reducer of the log has it.
    const NAME: &'static str;

    /// The version of what the reducer does, from 1. With another one, whatever was made before is
    /// made anew: raise it when `apply` or the state changes.
    const VERSION: u32 = 1;

    /// Scope of the state: one for each stream, or one over all.
    const SCOPE: Scope = Scope::Stream;

    /// The state; before the first event it is its default. Encoded as JSON, at most 64 MiB: the
    /// encoding has to be all of it. What `#[serde(skip)]` leaves out is lost with each snapshot,
    /// and an `Option<f64>` that is infinite, or an `Option<Option<T>>`, comes back as another.
    type State: Default + Serialize + DeserializeOwned + Send;

    /// Applies an event to the state. Events come in the order of the log, each once. It is called
    /// twice for each event, on two states, and may not ask for its own states meanwhile.
    ///
    /// # Errors
    /// An event that cannot be read ends the reducer: what is behind it is not known.
    fn apply(state: &mut Self::State, event: &ApplicationEvent<'_>) -> Result<(), EventError>;
}

/// Scope of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One for each stream.
    Stream,
    /// One over all streams.
    All,
}

impl Scope {
    /// Under which name the state is kept that an event of a stream changes.
    pub(crate) const fn key(self, stream: &str) -> &str {
        match self {
            Self::Stream => stream,
            // No stream has this name.
            Self::All => "",
        }
    }

    /// Returns what a reducer of this scope has.
    const fn told(self) -> &'static str {
        match self {
            Self::Stream => "a state for each stream",
            Self::All => "one state over all streams",
        }
    }

    /// Checks whether this is what a reducer's states are asked for by.
    pub(crate) fn check<R: Reducer>(self) -> Result<(), ReducerError> {
        if R::SCOPE == self {
            return Ok(());
        }
        Err(ReducerError::OtherScope { reducer: R::NAME, has: R::SCOPE.told() })
    }

    /// Returns how states are encoded: those of the one kind are none of the other.
    pub(crate) const fn encoding(self) -> &'static str {
        match self {
            Self::Stream => "json",
            Self::All => "json over all streams",
        }
    }
}
