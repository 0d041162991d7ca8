//! What a line proves of who asks or answers: no more than the process that carries it out.

use crate::decision::user;
use holdpoint_domain::Command;
use holdpoint_domain::decision_point::{Authentication, Principal};
use holdpoint_domain::execution_loop::Actor;
use holdpoint_engine::shell::{user_name, user_number};

/// The command with what this process proves of whoever acts on a decision point. What the line
/// says of that is no proof, and is replaced.
pub(super) fn proven(mut command: Command) -> Command {
    if let Some(by) = principal(&mut command) {
        *by = as_proven(by);
    }
    command
}

/// A person by the name of this process's own user is that user. Every other name is a claim.
fn as_proven(by: &Principal) -> Principal {
    if by.kind == Actor::Human && *by.id == *user_name() {
        return user(Actor::Human);
    }
    let means = format!("claimed by uid {} through apply", user_number());
    let authenticated_by = Authentication::None;
    Principal { kind: by.kind, id: by.id.clone(), authenticated_by, means: means.into() }
}

/// Who asks or answers, in the commands on decision points.
fn principal(command: &mut Command) -> Option<&mut Principal> {
    match command {
        Command::CreateDecisionPoint(create) => Some(&mut create.by),
        Command::RespondToDecisionPoint(respond) => Some(&mut respond.by),
        Command::RefineDecisionPoint(refine) => Some(&mut refine.by),
        Command::CancelDecisionPoint(cancel) => Some(&mut cancel.by),
        Command::EscalateDecisionPoint(escalate) => Some(&mut escalate.by),
        Command::RemindDecisionPoint(remind) => Some(&mut remind.by),
        Command::ConsumeApproval(consume) => Some(&mut consume.by),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_domain::command::RemindDecisionPoint;

    fn proven_of(kind: Actor, id: &str) -> Principal {
        let by = Principal {
            kind,
            id: id.into(),
            authenticated_by: Authentication::Terminal,
            means: "terminal /dev/pts/1, uid 0".into(),
        };
        let remind = RemindDecisionPoint { decision_id: "DP-0".to_string(), by };
        match proven(Command::RemindDecisionPoint(remind)) {
            Command::RemindDecisionPoint(remind) => remind.by,
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn only_the_user_of_this_process_is_proven() {
        let own = user_name();
        assert_eq!(proven_of(Actor::Human, &own), user(Actor::Human));
        let others = [(Actor::Human, "somebody-else"), (Actor::Agent, own.as_str())];
        for (kind, id) in others {
            let by = proven_of(kind, id);
            assert_eq!((by.kind, &*by.id), (kind, id));
            assert_eq!(by.authenticated_by, Authentication::None, "{id}");
            assert!(by.means.ends_with("through apply"), "{}", by.means);
        }
    }
}
