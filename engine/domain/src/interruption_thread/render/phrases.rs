//! The fixed phrases of rendered responses, by language.

use alloc::string::String;

use crate::closed::closed_enum;

closed_enum! {
    /// The languages that have phrases. Any other is answered in English.
    pub enum RenderLocale {
        /// English.
        English = "en",
        /// German.
        German = "de",
    }
}

/// What is said around a tool's own words.
#[derive(Debug)]
pub(super) struct Phrases {
    pub(super) citations: &'static str,
    pub(super) sources: &'static str,
    pub(super) retrieved_at: &'static str,
    /// The tool failed.
    pub(super) apology: &'static str,
    /// The tool found several things.
    pub(super) several: &'static str,
    /// Nothing of the answer can be spoken.
    pub(super) unspeakable: &'static str,
    pub(super) and: &'static str,
    more: &'static str,
}

const ENGLISH: Phrases = Phrases {
    citations: "Citations",
    sources: "Sources",
    retrieved_at: "Retrieved at",
    apology: "Sorry, I could not find that out just now.",
    several: "Several answers fit.",
    unspeakable: "I can show you the answer, but I cannot read it aloud.",
    and: "and",
    more: "more",
};

const GERMAN: Phrases = Phrases {
    citations: "Zitate",
    sources: "Quellen",
    retrieved_at: "Abgerufen am",
    apology: "Das konnte ich gerade leider nicht herausfinden.",
    several: "Mehrere Antworten passen.",
    unspeakable: "Ich kann die Antwort zeigen, aber nicht vorlesen.",
    and: "und",
    more: "weitere",
};

impl RenderLocale {
    /// The language of a locale by its first part, upper or lower case: `de`, `de-AT`, `DE_de`.
    pub(super) fn nearest(locale: &str) -> Self {
        let language = locale.split(['-', '_']).next().unwrap_or_default();
        let is_it = |known: &&Self| known.name().eq_ignore_ascii_case(language);
        Self::ALL.iter().find(is_it).copied().unwrap_or(Self::English)
    }

    pub(super) const fn phrases(self) -> &'static Phrases {
        match self {
            Self::English => &ENGLISH,
            Self::German => &GERMAN,
        }
    }
}

impl Phrases {
    /// That so many are left off.
    pub(super) fn and_more(&self, left_off: usize) -> String {
        alloc::format!("{} {left_off} {}", self.and, self.more)
    }
}
