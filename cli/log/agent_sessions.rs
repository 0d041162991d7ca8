//! Who asks: an agent's session, as its host names it.

use crate::args::host::{HOSTS, Host};
use crate::ui::text::quoted;
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::text::{bounded, check_identifier, visible};
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalPolicy, DecisionOption, DecisionPoint, OnTimeout, Terms,
};
use holdpoint_domain::world::MEANS_OF_HOOK;
use holdpoint_engine::shell::{BoundDirectory, user_number};

/// How much of a directory's path the means show, in bytes; beside it stands the digest of what
/// tells it from every other directory.
const DIRECTORY_BYTES_MAX: usize = 120;

/// The name under which a session of a host asks; why it cannot be one, in words.
pub(crate) fn name(host: Host, session_id: &str) -> Result<String, String> {
    let name = format!("{}:{session_id}", host.id());
    check_identifier("session_id", &name).map_err(|fault| fault.to_string())?;
    Ok(name)
}

/// Whether a session can have this name.
pub(crate) fn is_name(name: &str) -> bool {
    HOSTS.iter().any(|host| is_of(*host, name))
}

fn is_of(host: Host, name: &str) -> bool {
    name.strip_prefix(host.id()).is_some_and(|rest| rest.starts_with(':'))
}

/// Whether the name of a session can begin so.
pub(crate) fn may_begin_name(beginning: &str) -> bool {
    is_name(beginning) || HOSTS.iter().any(|host| format!("{}:", host.id()).starts_with(beginning))
}

/// A session in a directory. The directory is part of it: what is approved in one may do something
/// else in another, also in one that took its place.
pub(crate) fn requester(
    host: Host,
    session_id: &str,
    directory: Option<&BoundDirectory>,
) -> Result<Principal, String> {
    let directory = match directory {
        Some(directory) => {
            let place = directory.path().to_string_lossy();
            let shown = visible(bounded(&place, DIRECTORY_BYTES_MAX)).to_string();
            let shown = bounded(&shown, DIRECTORY_BYTES_MAX);
            format!("in {shown} ({})", sha256(&directory.identity()))
        }
        None => "in no stated directory".to_string(),
    };
    let means = format!("{MEANS_OF_HOOK}{}, {directory}", user_number());
    Ok(Principal {
        kind: Actor::Agent,
        id: name(host, session_id)?.into(),
        authenticated_by: Authentication::None,
        means: means.into(),
    })
}

/// Whether a hook asked, for some session: no other way of asking has such means.
fn is_hook(by: &Principal) -> bool {
    by.authenticated_by == Authentication::None && by.means.starts_with(MEANS_OF_HOOK)
}

/// Whether a session asked for this.
pub(crate) fn asked_for(name: &str, point: &DecisionPoint) -> bool {
    point.requested_by.kind == Actor::Agent && *point.requested_by.id == *name
}

/// How every question about a tool begins.
pub(crate) fn prompt_of(tool: &str) -> String {
    format!("May {} run", quoted(tool))
}

/// The same of who asks and under which terms.
pub(crate) fn asks(by: &Principal, terms: &Terms) -> bool {
    let proposal = &terms.proposal;
    let is_of_people = |policy: &ApprovalPolicy| !policy.allow_requester && !policy.allow_agents;
    let is_asked = |binding: &ActionBinding| {
        let beginning = format!("{} ", prompt_of(&binding.tool));
        proposal.prompt.starts_with(&beginning) && proposal.prompt.ends_with('?')
    };
    is_hook(by)
        && terms.binding.as_ref().is_some_and(is_asked)
        && terms.policy.as_ref().is_some_and(is_of_people)
        && terms.on_timeout == OnTimeout::Abort
        && *proposal.options == options()
}

/// What a person may answer.
pub(crate) fn options() -> [DecisionOption; 2] {
    let labels = ["Let exactly this call run, once", "Do not let it run"];
    DecisionOption::approve_or_deny(["Approve", "Deny"], labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_in_another_directory_is_another_requester() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| {
            let path = place.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            BoundDirectory::of(&path).unwrap()
        };
        let here = requester(Host::Codex, "s", Some(&at("here"))).unwrap();
        assert_eq!(here, requester(Host::Codex, "s", Some(&at("here"))).unwrap());
        let long = ["d".repeat(200).as_str(), "e".repeat(200).as_str()].join("/");
        let others = [Some(at("there")), None, Some(at(&long)), Some(at("here\u{202e}"))];
        for other in others {
            let other = requester(Host::Codex, "s", other.as_ref()).unwrap();
            assert!(here != other && here.id == other.id, "{other:?}");
            assert!(check_identifier("means", &other.means).is_ok(), "{other:?}");
        }
        std::fs::rename(place.path().join("here"), place.path().join("before")).unwrap();
        assert_ne!(
            here,
            requester(Host::Codex, "s", Some(&at("here"))).unwrap(),
            "another in its place"
        );
    }

    #[test]
    fn a_session_that_hides_something_or_is_too_long_has_no_name() {
        for session_id in ["a\u{202e}b", "\n", &"s".repeat(250)] {
            assert!(name(Host::ClaudeCode, session_id).is_err(), "{session_id:?}");
        }
        assert_eq!(name(Host::ClaudeCode, "8f1c").as_deref(), Ok("claude-code:8f1c"));
    }
}
