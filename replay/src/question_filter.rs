//! Filter and order of a list of questions.

use crate::question::{Kind, Question, time_of};
use holdpoint_domain::decision_point::{DecisionPointState, Urgency};
use holdpoint_domain::{Time, World};

/// A filter of questions. Everything that is given must hold.
#[derive(Clone, Debug, Default)]
pub struct QuestionFilter {
    /// Their state.
    pub state: StateFilter,
    /// Their rules.
    pub kind: Option<Kind>,
    /// Their work item.
    pub issue: Option<String>,
    /// The id of whoever asked.
    pub requested_by: Option<String>,
    /// Their urgency.
    pub urgency: Option<Urgency>,
    /// Those that wait although their time is over.
    pub overdue: bool,
    /// Those behind this question in the order of the list.
    pub after: Option<String>,
}

/// A filter of states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateFilter {
    /// Those in one state.
    In(DecisionPointState),
    /// Pending or refining.
    #[default]
    Open,
    /// Whatever the state.
    All,
}

impl StateFilter {
    /// True if all that match live.
    pub fn is_live(self) -> bool {
        match self {
            Self::In(state) => state.is_open(),
            Self::Open => true,
            Self::All => false,
        }
    }

    fn matches(self, state: DecisionPointState) -> bool {
        match self {
            Self::In(wanted) => wanted == state,
            Self::Open => state.is_open(),
            Self::All => true,
        }
    }
}

impl QuestionFilter {
    /// The matching questions behind a place, in the order of the list.
    pub fn select<'w>(
        &self,
        world: &'w World,
        after: Option<Question<'_>>,
        now: Time,
    ) -> Vec<Question<'w>> {
        let matching = Question::all(world).filter(|question| self.matches(*question, world, now));
        let is_behind =
            |question: &Question<'w>| after.is_none_or(|after| question.place() > after.place());
        let mut found: Vec<_> = matching.filter(is_behind).collect();
        found.sort_unstable_by_key(|question| question.place());
        found
    }

    /// True if nothing narrows the list but the state.
    pub fn is_of_state_alone(&self) -> bool {
        let names = [&self.issue, &self.requested_by, &self.after];
        self.kind.is_none()
            && self.urgency.is_none()
            && !self.overdue
            && names.iter().all(|name| name.is_none())
    }

    fn matches(&self, question: Question<'_>, world: &World, now: Time) -> bool {
        let requester = question.requested_by();
        self.state.matches(question.state())
            && self.kind.is_none_or(|kind| question.kind() == kind)
            && self.issue.as_deref().is_none_or(|issue| question.issue() == Some(issue))
            && self.requested_by.as_deref().is_none_or(|name| requester == name)
            && self.urgency.is_none_or(|urgency| question.urgency() == urgency)
            && (!self.overdue || question.is_overdue(time_of(world, question.id(), now)))
    }
}
