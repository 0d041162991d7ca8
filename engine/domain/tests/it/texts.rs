//! What text is taken as a name, and how it is shown.

use holdpoint_domain::core::text::{IdentifierFault, bounded, check_identifier, is_blank, visible};

#[test]
fn blank_is_exactly_the_29_code_points() {
    let blank =
        (0..=0x10_FFFF).filter_map(char::from_u32).filter(|c| is_blank(&c.to_string())).count();
    assert_eq!(blank, 29);
    for c in ['\u{0}', '\u{1B}', '\u{200B}', '\u{2060}', '\u{FEFF}', '\u{180E}'] {
        assert!(!is_blank(&c.to_string()), "{c:?}");
    }
    assert!(is_blank(""));
    assert!(!is_blank(" x "));
}

#[test]
fn what_is_shown_is_one_line_and_tells_texts_apart() {
    assert_eq!(visible("a\nb\u{202e}c\\").to_string(), "a\\u{a}b\\u{202e}c\\\\");
    assert_ne!(visible("a\n").to_string(), visible("a\\u{a}").to_string());
}

#[test]
fn identifiers_are_visible_short_and_plain() {
    assert_eq!(check_identifier("loop id", "LOOP-1"), Ok(()));
    let missing = IdentifierFault::Missing { field: "x" };
    for text in ["", " ", "\u{200b}", "\u{0}", "\u{1f}"] {
        assert_eq!(check_identifier("x", text), Err(missing.clone()), "{text:?}");
    }
    let hidden = IdentifierFault::Hidden { field: "x", offset: 1, found: 0x200b };
    assert_eq!(check_identifier("x", "a\u{200b}b"), Err(hidden));
    assert!(matches!(
        check_identifier("x", &"a".repeat(257)),
        Err(IdentifierFault::TooLong { found: 257, .. })
    ));
}

#[test]
fn a_cut_never_splits_a_character() {
    assert_eq!(bounded("a\u{e9}b", 2), "a");
    assert_eq!(bounded("a\u{e9}b", 3), "a\u{e9}");
    assert_eq!(bounded("ab", 9), "ab");
}
