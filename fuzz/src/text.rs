//! How the program's files that are built in here show foreign texts.

/// What is hidden in a text is made visible.
pub fn visible_once(text: &str) -> String {
    holdpoint_domain::text::visible(text).to_string()
}
