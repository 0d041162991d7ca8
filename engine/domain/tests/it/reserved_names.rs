//! Names of Holdpoint's own: no command gives one to a person, a program or whom it asks.

use crate::points::{APPROVER, Stage, choice, person, policy, question};
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::decision_point::{
    CancelDecisionPoint, CreateDecisionPoint, DecisionPointCommand as Point, EscalateDecisionPoint,
    RefineDecisionPoint, RemindDecisionPoint, RespondToDecisionPoint,
};
use holdpoint_domain::execution_loop::{ExecutionLoopCommand, InitializeLoop};
use holdpoint_domain::log::{ChangePolicy, GatePolicy, LogCommand};
use holdpoint_domain::registration::{
    Capability, ChangeCapability, RegisterUser, RegistrationCommand, RegistrationStatus,
    UserRegistered,
};
use holdpoint_domain::{Command, Time, decide};
use holdpoint_testing::story::Story;
use holdpoint_testing::threads;

use crate::forbidden_threads::forged;

const RESERVED: [&str; 6] = [
    "SYSTEM_TIMEOUT",
    "system_timeout",
    "system:timeout",
    "System:anything",
    "system:",
    " system:timeout",
];

/// Each command that chooses a name, with this one.
fn commands(id: &str, name: &str) -> Vec<(&'static str, Command)> {
    let by = || Principal { authenticated_by: Authentication::Terminal, ..person(name) };
    let bob = || person(APPROVER);
    let decision_id = || String::from(id);
    let asked = |question| Point::CreateDecisionPoint(Box::new(question));
    let entropy = Default::default();
    let points = [
        ("asks", asked(CreateDecisionPoint { by: by(), ..question() })),
        ("approver", asked(CreateDecisionPoint { policy: Some(policy(&[name], 1)), ..question() })),
        (
            "answers",
            Point::RespondToDecisionPoint(RespondToDecisionPoint {
                decision_id: decision_id(),
                entropy,
                by: by(),
                response: choice("yes"),
                comment: None,
            }),
        ),
        (
            "refines",
            Point::RefineDecisionPoint(RefineDecisionPoint {
                decision_id: decision_id(),
                by: by(),
                prompt: None,
                context: None,
                options: None,
                default_option: None,
                drop_default: false,
            }),
        ),
        ("cancels", Point::CancelDecisionPoint(cancelled(decision_id(), by()))),
        ("reminds", Point::RemindDecisionPoint(reminded(decision_id(), by()))),
        ("passes on", Point::EscalateDecisionPoint(escalated(id, by(), "carol"))),
        ("target", Point::EscalateDecisionPoint(escalated(id, bob(), name))),
    ];
    let names: List<Text> = [Text::from(name)].into_iter().collect();
    let none = GatePolicy { before: true, ..GatePolicy::default() };
    let policies = [
        ("approvers", GatePolicy { approvers: names.clone(), ..none.clone() }),
        ("escalation", GatePolicy { escalation_approvers: Some(names.clone()), ..none.clone() }),
        ("override", GatePolicy { override_approvers: Some(names), ..none.clone() }),
    ];
    let policies = policies.into_iter().flat_map(|(what, policy)| {
        let set = changed(bob(), policy.clone(), None);
        let relaxed = changed(bob(), policy, Some(decision_id()));
        [(what, LogCommand::SetPolicy(set)), (what, LogCommand::RelaxPolicy(relaxed))]
    });
    let own = [("sets", LogCommand::SetPolicy(changed(by(), none, None)))];
    let capability = ChangeCapability {
        actor_kind: Actor::Automation,
        actor_id: name.into(),
        capability: Capability::SeleneOsOnly,
        is_granted: true,
    };
    let granted = Command::Registration(RegistrationCommand::ChangeCapability(capability));
    let points = points.into_iter().map(|(what, it)| (what, Command::DecisionPoint(it)));
    let logs = policies.chain(own).map(|(what, it)| (what, Command::Log(it)));
    let user = registered(name, RegistrationStatus::Active);
    let unknown = registered(name, RegistrationStatus::Suspended);
    let others = [("capability", granted), ("user", user), ("unknown user", unknown)];
    points.chain(logs).chain(others).chain(begun(name)).collect()
}

/// A user of a tenant's.
fn registered(name: &str, status: RegistrationStatus) -> Command {
    let user = RegisterUser { tenant_id: "acme".into(), user_id: name.into(), status };
    Command::Registration(RegistrationCommand::RegisterUser(user))
}

/// Loops whose executor is called so by whoever begins them.
fn begun(name: &str) -> [(&'static str, Command); 3] {
    let begin = |what, change: &dyn Fn(&mut InitializeLoop)| {
        let mut initialize = Story::new().initialize();
        change(&mut initialize);
        (what, Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize)))
    };
    [
        begin("executor", &|of| of.executor_id = name.into()),
        begin("handshake", &|of| of.handshake.executor_id = name.into()),
        begin("observer", &|of| of.observer.executor_id = name.into()),
    ]
}

fn cancelled(decision_id: String, by: Principal) -> CancelDecisionPoint {
    CancelDecisionPoint { decision_id, by, reason: None }
}

fn reminded(decision_id: String, by: Principal) -> RemindDecisionPoint {
    RemindDecisionPoint { decision_id, by }
}

fn escalated(id: &str, by: Principal, to: &str) -> EscalateDecisionPoint {
    EscalateDecisionPoint { decision_id: id.into(), by, to: to.into(), reason: None }
}

fn changed(by: Principal, policy: GatePolicy, approval: Option<String>) -> Box<ChangePolicy> {
    Box::new(ChangePolicy { by, policy, approval, people: None })
}

#[test]
fn table_no_command_gives_anybody_a_name_of_holdpoint_s_own() {
    let mut stage = Stage::new();
    let id = stage.ask(question());
    let refused = |name: &str| -> Vec<(&'static str, &'static str)> {
        let given = commands(&id, name).into_iter();
        let told = given.map(|(what, command)| {
            let found = decide(&stage.world, &command, Time::from_nanoseconds(1_000_000_000_000));
            (what, found.err().map_or("accepted", |refusal| refusal.code()))
        });
        told.collect()
    };
    for name in RESERVED {
        let others: Vec<_> = refused(name)
            .into_iter()
            .filter(|(_, code)| {
                // Blanks around a name are told first where they are refused.
                !(*code == "RESERVED_NAME" || name.starts_with(' ') && *code == "BLANK_AROUND")
            })
            .collect();
        assert_eq!(others, [], "{name:?}");
    }
    let plain = refused("system_timeouts");
    assert!(plain.iter().all(|(_, code)| *code != "RESERVED_NAME"), "{plain:?}");
}

/// Such a user of before can be suspended, and is not ACTIVE again.
#[test]
fn a_user_who_was_called_so_before_can_still_be_suspended() {
    let mut stage = threads::Stage::with_tenant("acme");
    let name = "system_timeout";
    let (tenant_id, status) = ("acme".into(), RegistrationStatus::Active);
    let before = UserRegistered { tenant_id, user_id: name.into(), status };
    assert_eq!(forged(&mut stage, before), []);
    stage.give(&registered(name, RegistrationStatus::Suspended), 2_000_000_000_000).events();
    let again = stage.give(&registered(name, RegistrationStatus::Active), 2_000_000_000_000);
    assert_eq!(again.refusal().unwrap().code(), "RESERVED_NAME");
}
