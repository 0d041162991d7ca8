//! What a person may see of a loop.

use holdpoint_domain::Command;
use holdpoint_domain::human_decision::{
    EvidenceVisibility, HumanDecision, HumanDecisionCommand, OverrideField, ShowOutput, VISIBILITY,
    get_visibility,
};
use holdpoint_testing::story::{Story, names};

#[test]
fn table_visibility_names_each_field_once_and_every_override() {
    for (index, (name, visibility)) in VISIBILITY.iter().enumerate() {
        assert_eq!(VISIBILITY.iter().position(|(other, _)| other == name), Some(index));
        let overridable = OverrideField::from_name(name).is_some();
        assert_eq!(*visibility == EvidenceVisibility::OverrideRequired, overridable, "{name}");
    }
    for field in OverrideField::ALL {
        assert_eq!(get_visibility(field.name()), EvidenceVisibility::OverrideRequired);
    }
}

/// Of a question is shown what the table makes visible, and what needs an override once there is
/// one.
#[test]
fn a_question_is_shown_as_the_table_says() {
    let mut story = Story::asked();
    for (name, _) in VISIBILITY {
        let is_visible = get_visibility(name) == EvidenceVisibility::Visible;
        assert_eq!(shows(&story, name), is_visible, "{name}");
    }
    for field in [OverrideField::AttemptExit, OverrideField::AttemptOutputs] {
        let allowed = HumanDecisionCommand::OverrideVisibility(story.overrides(field));
        story.given(Command::HumanDecision(allowed));
        assert!(shows(&story, field.name()), "{field}");
    }
    assert!(!shows(&story, "raw_data"));
}

/// The summary is that of the request, which is that of the loop's own evidence.
#[test]
fn a_question_shows_the_evidence_that_it_is_about() {
    let story = Story::asked();
    let (view, held) = (story.entity().request_view(story.held()), story.held());
    assert_eq!(view.evidence_summary, held.request.evidence_summary);
    let before = held.request.evidence_summary.chain_length - 1;
    let chain = story.entity().chain.as_ref().unwrap();
    let newest = &chain.records[usize::try_from(before).unwrap()];
    assert_eq!(view.evidence_summary.chain_hash, newest.self_hash);
    assert_eq!(view.evidence_summary.timestamp, newest.timestamp);
}

/// Whether the view of the question has a field of this name.
fn shows(story: &Story, name: &str) -> bool {
    let view = serde_json::to_string(&story.entity().request_view(story.held())).unwrap();
    // Fractions are written as whole numbers of a unit that the name says.
    let name = if name == "confidence_score" { "confidence_basis_points" } else { name };
    view.contains(&format!("\"{name}\":"))
}

#[test]
fn what_is_not_in_the_table_is_hidden() {
    for name in ["", "Timestamp", "timestamp ", "tim\u{435}stamp", "record_id", "self_hash\0"] {
        assert_eq!(get_visibility(name), EvidenceVisibility::Hidden, "{name:?}");
    }
}

#[test]
fn an_output_is_shown_on_record_as_often_as_asked_while_the_question_is_open() {
    let mut story = Story::asked();
    let request_id = story.held().request_id().to_owned();
    let shows = |request_id: &str| {
        let request_id = request_id.to_owned();
        Command::HumanDecision(HumanDecisionCommand::ShowOutput(ShowOutput { request_id }))
    };
    for _ in 0..2 {
        assert_eq!(names(&story.given(shows(&request_id))), ["output_shown"]);
    }
    assert_eq!(story.when(shows("REQ-2")).unwrap_err().code(), "UNKNOWN_REQUEST");
    story.given(story.decides(HumanDecision::Continue));
    assert_eq!(story.when(shows(&request_id)).unwrap_err().code(), "ALREADY_ANSWERED");
}
