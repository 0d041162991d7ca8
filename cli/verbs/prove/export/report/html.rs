//! HTML, written so that no text of anybody's can become a part of it: markup is what stands in
//! this program, and everything else is escaped, with what cannot be seen made visible.

use crate::ui::moment;
use crate::ui::screen::seen;
use crate::ui::text::visible_once;
use holdpoint_domain::core::time::Timestamp;

/// A piece of a page.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of this program's own.
    pub(super) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A text, whoever wrote it.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.escaped(&visible_once(text))
    }

    /// A cell of a table.
    pub(super) fn cell(&mut self, text: &str) -> &mut Self {
        self.markup("<td>").text(text).markup("</td>")
    }

    /// A cell with a moment in it.
    pub(super) fn time(&mut self, nanoseconds: u64) -> &mut Self {
        let moment = moment(Timestamp::from_nanoseconds(nanoseconds));
        self.markup("<td class=\"time\">").text(&moment).markup("</td>")
    }

    /// A cell with a hash or an id in it.
    pub(super) fn code(&mut self, text: &str) -> &mut Self {
        self.markup("<td class=\"code\">").text(text).markup("</td>")
    }

    /// A row with a name and what it is.
    pub(super) fn fact(&mut self, name: &str, text: &str) -> &mut Self {
        self.markup("<tr><th scope=\"row\">").text(name).markup("</th>");
        self.cell(text).markup("</tr>\n")
    }

    /// A row of names for the columns.
    pub(super) fn columns(&mut self, names: &[&'static str]) -> &mut Self {
        self.markup("<thead><tr>");
        for name in names {
            self.markup("<th scope=\"col\">").text(name).markup("</th>");
        }
        self.markup("</tr></thead>\n<tbody>\n")
    }

    /// A sentence.
    pub(super) fn sentence(&mut self, text: &str) -> &mut Self {
        self.markup("<p>").text(text).markup("</p>\n")
    }

    /// Bytes of others, line by line, as far as they can be seen.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.markup("<pre>");
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, end) = line.strip_suffix(b"\n").map_or((line, ""), |text| (text, "\n"));
            self.escaped(&seen(text)).0.push_str(end);
        }
        self.markup("</pre>\n")
    }

    /// Lines of digits, hexadecimal ones and those of Base64: nothing else is written.
    pub(super) fn digits(&mut self, lines: &str) -> &mut Self {
        let is_digit = |c: &char| c.is_ascii_alphanumeric() || "+/=- \n".contains(*c);
        self.0.extend(lines.chars().filter(is_digit));
        self
    }

    fn escaped(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
        self
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup_and_nothing_hidden_stays_hidden() {
        let mut html = Html::default();
        html.text("<script>'&\"\u{202e}\u{1b}[31m\n").digits("abc+/= <script>\n&");
        assert_eq!(
            html.finish(),
            "&lt;script&gt;&#39;&amp;&quot;\\u{202e}\\u{1b}[31m\\u{a}abc+/= script\n"
        );
        let mut html = Html::default();
        html.bytes(b"</pre>\x1b\n\xff");
        assert_eq!(html.finish(), "<pre>&lt;/pre&gt;\\u{1b}\n\\xff</pre>\n");
    }
}
