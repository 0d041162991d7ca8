//! Who counts as a person.

use holdpoint_domain::core::actor::{
    Authentication, PersonTerms, Proof, RecordedNumber, UNKNOWN_USER,
};

/// Over the whole product of what is asked for and what is proven.
#[test]
fn nobody_counts_as_a_person_who_is_not_proven_to_be_one() {
    for expected in Authentication::ALL {
        for found in Authentication::ALL {
            for (separation, asked_by) in
                [(false, None), (false, Some(1)), (false, Some(2)), (true, Some(1))]
                    .into_iter()
                    .chain([(false, Some(UNKNOWN_USER)), (true, Some(UNKNOWN_USER))])
            {
                let terms = PersonTerms {
                    authentication: *expected,
                    separation,
                    asked_by,
                    number: RecordedNumber::Unstated,
                };
                let takes_claims = *expected == Authentication::None;
                let is_proven = *found != Authentication::None && found >= expected;
                let at_terminal = *found == Authentication::Terminal;
                for user in [1, UNKNOWN_USER] {
                    let is_unknown = [Some(user), asked_by].contains(&Some(UNKNOWN_USER));
                    let is_same = asked_by == Some(user) || (asked_by.is_some() && is_unknown);
                    let counts = !(separation && is_same)
                        && (takes_claims || (is_proven && (!is_same || at_terminal)));
                    let admitted = terms.admit(Some(Proof { user, by: *found }));
                    assert_eq!(admitted.is_ok(), counts, "{terms:?} {user} {found}");
                }
            }
        }
    }
    assert_eq!(PersonTerms::AT_A_TERMINAL.admit(None), Ok(()));
}

#[test]
fn a_name_counts_only_with_the_number_that_is_on_record_for_it() {
    use RecordedNumber::{Missing, Unstated, User};
    for (number, user, counts) in
        [(Unstated, 1, true), (User(1), 1, true), (User(2), 1, false), (Missing, 1, false)]
    {
        let terms = PersonTerms { number, ..PersonTerms::AT_A_TERMINAL };
        let admitted = terms.admit(Some(Proof { user, by: Authentication::Terminal }));
        assert_eq!(admitted.is_ok(), counts, "{number:?}");
        let claims = PersonTerms { authentication: Authentication::None, ..terms };
        assert_eq!(claims.admit(Some(Proof::claim(user))), Ok(()), "claims are taken by name");
    }
}
