//! Questions of an agent, as the rules record them.

use super::HandMadeLog;
use crate::story::Story;
use crate::story::points::agent;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{CreateDecisionPoint, DecisionPointCommand};
use holdpoint_domain::{ActorId, Command, Envelope};

impl HandMadeLog {
    /// A question that waits, with this in its id. Gives the id.
    pub fn ask(&mut self, entropy: Entropy) -> String {
        let (by, options) = (agent(), Story::new().question().options);
        let actor = ActorId { kind: by.kind, id: (*by.id).into() };
        let question = CreateDecisionPoint::asking(entropy, by, "May it go?", options);
        let decision_id = question.decision_id();
        let create = DecisionPointCommand::CreateDecisionPoint(question.into());
        self.command_in(&Command::DecisionPoint(create), |envelope| Envelope {
            actor: actor.clone(),
            ..envelope
        });
        decision_id
    }
}
