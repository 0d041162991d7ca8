//! The closed product of where a round stands, what is answered, who answers, who may approve, in
//! which round, and whether words are an answer: what follows is what the contract says.

use crate::points::{
    APPROVER, HOUR_MS, REQUESTER, Stage, agent, choice, guidance, person, policy, question, system,
    text, told,
};
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::decision_point::{
    ApprovalPolicy, CreateDecisionPoint, DecisionPointState as State, OnTimeout, Response,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Yes,
    No,
    UnknownOption,
    Text,
    Accept,
    Guidance,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Requester,
    Approver,
    Stranger,
    Agent,
    System,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    None,
    /// One of three people.
    Approvers,
    /// Any two people.
    Quorum,
}

const SAID: [Said; 6] =
    [Said::Yes, Said::No, Said::UnknownOption, Said::Text, Said::Accept, Said::Guidance];
const WHO: [Who; 5] = [Who::Requester, Who::Approver, Who::Stranger, Who::Agent, Who::System];
const POLICIES: [Policy; 3] = [Policy::None, Policy::Approvers, Policy::Quorum];
const FIRST: u8 = 1;
const MIDDLE: u8 = 2;
const LAST: u8 = 3;

/// Two more people who may approve: they answer before the case begins.
const EARLIER: [&str; 2] = ["dave", "erin"];

/// Where a case begins.
#[derive(Clone, Copy, Debug)]
struct Place {
    state: State,
    policy: Policy,
    iteration: u8,
    allow_text: bool,
}

#[test]
fn every_answer_in_every_place_comes_to_what_the_contract_says() {
    let (mut places, mut cases, mut accepted) = (0, 0, 0);
    for place in all_places() {
        let Some((stage, id)) = prepared(place) else { continue };
        places += 1;
        for said in SAID {
            for who in WHO {
                cases += 1;
                accepted += u64::from(check(place, stage.clone(), &id, said, who));
            }
        }
    }
    // Round 1 never waits to be refined, and the last one never leads to another.
    assert_eq!((places, cases), (8 * 3 * 3 * 2 - 6 - 6, (8 * 3 * 3 * 2 - 12) * 30));
    assert!(accepted > 2_500, "only {accepted} answers were recorded");
}

fn all_places() -> Vec<Place> {
    let mut places = Vec::new();
    for &state in State::ALL {
        for policy in POLICIES {
            for iteration in [FIRST, MIDDLE, LAST] {
                for allow_text in [false, true] {
                    places.push(Place { state, policy, iteration, allow_text });
                }
            }
        }
    }
    places
}

/// Whether something was recorded.
fn check(place: Place, mut stage: Stage, id: &str, said: Said, who: Who) -> bool {
    let before = stage.point(id).clone();
    let outcome = stage.respond(id, &principal(who), response(said));
    let expected = expected(place, said, who);
    assert_eq!(told(&outcome), expected, "{place:?}: {who:?} says {said:?}: {outcome:?}");
    let after = stage.point(id);
    match outcome {
        Ok(_) => assert!(after.version > before.version),
        Err(_) => assert_eq!(*after, before, "a refusal changes nothing"),
    }
    if !place.state.is_open() {
        assert_eq!(after.ending, before.ending, "a late answer changes no end");
        assert_eq!((after.approves(), after.releases()), (before.approves(), before.releases()));
    }
    stage.assert_rebuilt();
    expected.is_ok()
}

/// The contract, by its own words: events in their order, or the rule that says no.
fn expected(place: Place, said: Said, who: Who) -> Result<Vec<&'static str>, &'static str> {
    // "An answer after the end: refused, kept as a late response." A word that is none of its
    // options is no answer.
    match (place.state.is_open(), said) {
        (false, Said::UnknownOption) => return Err("BAD_OPTION"),
        (false, _) => return Ok(vec!["late_response"]),
        _ => {}
    }
    // "Approver set; the requester and agents excluded where a policy is set."
    match (place.policy, who) {
        (Policy::None, _) => {}
        (_, Who::Agent | Who::System) => return Err("AGENT_EXCLUDED"),
        (_, Who::Requester) => return Err("SELF_APPROVAL"),
        (Policy::Approvers, Who::Stranger) => return Err("NOT_AN_APPROVER"),
        _ => {}
    }
    // "Accept: iteration > 1 only; what somebody has to approve is proposed anew before."
    match (said, place.state, place.iteration) {
        (Said::Accept, _, FIRST) => return Err("NOTHING_TO_ACCEPT"),
        (Said::Accept, State::Refining, _) => return Err("NOT_REFINED"),
        (Said::Accept, ..) => {}
        (_, State::Refining, _) => return Err("NOT_REFINED"),
        (Said::UnknownOption, ..) => return Err("BAD_OPTION"),
        (Said::Text, ..) if !place.allow_text => return Err("TEXT_NOT_ALLOWED"),
        (Said::Guidance, _, LAST) => return Err("ITERATION_LIMIT"),
        // "One atomic append closes round N and opens N + 1."
        (Said::Guidance, ..) => return Ok(vec!["guidance_given", "round_opened"]),
        _ => {}
    }
    Ok(ended(place.policy, said))
}

/// "A quorum of distinct people; a reject vote ends it. Released only by what approves, or by
/// words where no approval is asked for."
fn ended(policy: Policy, said: Said) -> Vec<&'static str> {
    match (policy, said) {
        (Policy::None, Said::No) => vec!["resolved"],
        (Policy::None, _) => vec!["resolved", "released"],
        (_, Said::No) => vec!["vote", "resolved"],
        (Policy::Quorum, _) => vec!["vote"],
        (Policy::Approvers, Said::Text) => vec!["vote", "resolved"],
        (Policy::Approvers, _) => vec!["vote", "resolved", "released"],
    }
}

fn response(said: Said) -> Response {
    match said {
        Said::Yes => choice("yes"),
        Said::No => choice("no"),
        Said::UnknownOption => choice("maybe"),
        Said::Text => text("Neither."),
        Said::Accept => Response::Accept,
        Said::Guidance => guidance("Other guidance."),
    }
}

fn principal(who: Who) -> Principal {
    match who {
        Who::Requester => person(REQUESTER),
        Who::Approver => person(APPROVER),
        Who::Stranger => person("eve"),
        Who::Agent => agent("robot"),
        Who::System => system(),
    }
}

fn approval_policy(which: Policy) -> Option<ApprovalPolicy> {
    match which {
        Policy::None => None,
        Policy::Approvers => Some(policy(&[APPROVER, EARLIER[0], EARLIER[1]], 1)),
        Policy::Quorum => Some(policy(&[], 2)),
    }
}

/// A round that stands there; `None` where no round can.
fn prepared(place: Place) -> Option<(Stage, String)> {
    if (place.state, place.iteration) == (State::Refining, FIRST)
        || (place.state, place.iteration) == (State::Iterated, LAST)
    {
        return None;
    }
    let mut stage = Stage::new();
    let mut id = stage.ask(asked(place));
    for round in FIRST..place.iteration {
        id = stage.guide(&id, &person(EARLIER[0]), "Guidance.");
        if round + 1 < place.iteration || place.state != State::Refining {
            stage.refine_prompt(&id);
        }
    }
    bring_to(&mut stage, &id, place.state);
    assert_eq!((stage.state(&id), stage.point(&id).iteration), (place.state, place.iteration));
    Some((stage, id))
}

fn asked(place: Place) -> CreateDecisionPoint {
    let on_timeout = match place.state {
        State::Expired => Some(OnTimeout::Default),
        _ => None,
    };
    CreateDecisionPoint {
        policy: approval_policy(place.policy),
        allow_text: Some(place.allow_text),
        default_option: Some("also".into()),
        timeout_ms: Some(HOUR_MS),
        on_timeout,
        ..question()
    }
}

fn bring_to(stage: &mut Stage, id: &str, state: State) {
    match state {
        State::Pending | State::Refining => {}
        State::Resolved => {
            for name in EARLIER {
                if stage.point(id).is_open() {
                    stage.respond(id, &person(name), choice("also")).unwrap();
                }
            }
        }
        State::Iterated => drop(stage.guide(id, &person(EARLIER[0]), "Guidance.")),
        State::Expired | State::Aborted => {
            stage.pass_ms(HOUR_MS);
            stage.expire_due();
        }
        State::Cancelled => drop(stage.cancel(id, &person(REQUESTER)).unwrap()),
        State::Superseded => {
            let supersedes = Some(id.into());
            drop(stage.ask(CreateDecisionPoint { supersedes, ..question() }));
        }
    }
}
