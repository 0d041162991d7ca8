//! What people wrote of the figures: why a bar was missed.

/// What stands below a heading of the second level; `None` where nothing does.
pub(crate) fn section<'a>(explanations: &'a str, heading: &str) -> Option<&'a str> {
    let mut sections = explanations.split("\n## ");
    let section =
        sections.find(|section| section.lines().next().map(str::trim) == Some(heading))?;
    Some(section.split_once('\n')?.1.trim()).filter(|text| !text.is_empty())
}

/// Says what was missed, and why.
pub(crate) fn explain_missed(out: &mut String, says: &str, key: &str, explanations: &str) {
    let why = section(explanations, key).unwrap_or("Not explained.");
    *out += &format!("\n**{says}**\n\n{why}\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars;
    const WRITTEN: &str = include_str!("../explanations.md");

    #[test]
    fn a_section_ends_where_the_next_begins_and_an_empty_one_is_none() {
        let text = "# Why\n\n## a\n\nOne.\n\nTwo.\n\n## empty\n\n## b\nThree.\n";
        assert_eq!(section(text, "a"), Some("One.\n\nTwo."));
        assert_eq!(section(text, "b"), Some("Three."));
        assert_eq!([section(text, "empty"), section(text, "c")], [None, None]);
    }

    /// A heading that nothing asks for is never shown to anybody.
    #[test]
    fn every_section_is_written_for_a_bar() {
        let shown: Vec<&str> = bars::keys().collect();
        let headings = WRITTEN.lines().filter_map(|line| line.strip_prefix("## "));
        for heading in headings {
            assert!(shown.contains(&heading), "{heading}");
            assert!(section(WRITTEN, heading).is_some(), "{heading}");
        }
    }
}
