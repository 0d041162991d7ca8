//! Lines of code of a Rust source: without blank ones, comments and what only tests are built of.

/// Counts the lines of what is left of a source without comments and tests.
pub(super) fn code_lines(code: &str) -> usize {
    without_tests(code).lines().filter(|line| !line.trim().is_empty()).count()
}

/// Which comments stay.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comments {
    None,
    /// Documentation, by its letters alone.
    Docs,
}

/// The source without comments, every literal made one that holds no brace.
pub(super) fn stripped(source: &str, comments: Comments) -> String {
    let mut code = String::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let is_in_name = code.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        if rest.starts_with("//") {
            let (comment, behind) = rest.split_at(rest.find('\n').unwrap_or(rest.len()));
            let is_doc = comment.starts_with("///") || comment.starts_with("//!");
            if comments == Comments::Docs && is_doc {
                let is_plain = |letter: char| letter.is_alphanumeric() || "/!`".contains(letter);
                code.extend(comment.chars().map(|c| if is_plain(c) { c } else { ' ' }));
            }
            rest = behind;
        } else if rest.starts_with("/*") {
            let length = block_comment(rest);
            code.extend(rest[..length].chars().filter(|letter| *letter == '\n'));
            rest = &rest[length..];
        } else if let Some(length) = raw_text(rest).filter(|_| !is_in_name) {
            rest = literal(&mut code, rest, length);
        } else if first == '"' {
            rest = literal(&mut code, rest, text(rest));
        } else if let Some(length) = character(rest).filter(|_| first == '\'') {
            rest = literal(&mut code, rest, length);
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

/// Puts a literal of so many bytes down with as many lines, and gives what is behind it.
fn literal<'a>(code: &mut String, rest: &'a str, length: usize) -> &'a str {
    let (literal, behind) = rest.split_at(length);
    let lines = literal.split('\n').map(|line| if line.trim().is_empty() { "" } else { "s" });
    code.push_str(&lines.collect::<Vec<_>>().join("\n"));
    behind
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let (step, by) = match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (1, 2),
            [b'*', b'/', ..] => (-1, 2),
            _ => (0, 1),
        };
        (depth, at) = (depth + step, at + by);
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of `r"..."`, `r#"..."#` or one of bytes.
fn raw_text(rest: &str) -> Option<usize> {
    let behind = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let hashes = behind.len() - behind.trim_start_matches('#').len();
    let inner = behind[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let before = rest.len() - inner.len();
    Some(inner.find(&end).map_or(rest.len(), |at| before + at + end.len()))
}

fn text(rest: &str) -> usize {
    let mut is_escaped = true;
    for (at, letter) in rest.char_indices() {
        match letter {
            '"' if !is_escaped => return at + 1,
            '\\' if !is_escaped => is_escaped = true,
            _ => is_escaped = false,
        }
    }
    rest.len()
}

/// The length of `'x'` or `'\n'`; `None`: a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    let letter = inner.chars().next().filter(|letter| *letter != '\'')?;
    let shortest = if letter == '\\' { 2 } else { letter.len_utf8() };
    let end = inner.get(shortest..)?.find('\'').filter(|end| letter == '\\' || *end == 0)?;
    Some(1 + shortest + end + 1)
}

/// Each item of tests alone is taken out: from its attribute to its closing brace or semicolon.
pub(super) fn without_tests(code: &str) -> String {
    let (mut kept, mut rest) = (String::new(), code);
    while let Some((before, item)) = next_test_item(rest) {
        kept.push_str(before);
        let behind_attribute = item.find(']').map_or(item.len(), |at| at + 1);
        let end = item[behind_attribute..].find(['{', ';']).map(|at| behind_attribute + at);
        let length = end.map_or(item.len(), |end| match item.as_bytes()[end] {
            b'{' => end + block(&item[end..]),
            _ => end + 1,
        });
        rest = &item[length..];
    }
    kept + rest
}

fn next_test_item(code: &str) -> Option<(&str, &str)> {
    let marks = ["#[cfg(test)]", "#[cfg(all(test", "#[cfg(any(test", "#[test]"];
    marks.iter().filter_map(|mark| code.find(mark)).min().map(|at| code.split_at(at))
}

/// The length of a block from its brace on.
fn block(code: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return at + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

#[test]
fn blanks_comments_literals_and_tests_are_told_from_code() {
    for (source, lines) in [
        ("", 0),
        ("// a\n\nfn a() {}\n", 1),
        ("/* a\n/* b */\n*/ fn a() {}\n/// c\n", 1),
        ("const A: &str = \"// no comment\nand a line\n\nmore\";\n", 3),
        ("const A: &str = r#\"{ \" { // \"#;\nfn a() {}", 2),
        ("fn a<'a>(b: &'a str) -> char { '{' }\nfn b() {}", 2),
        ("fn a() { '\\'' }\nfn b() { '\\u{7d}' }", 2),
        ("fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() { \"}\" }\n}\nfn c() {}", 2),
        ("#[cfg(test)]\nmod tests;\nfn a() {}", 1),
        ("#[test]\nfn a() {\n}\n", 0),
    ] {
        assert_eq!(code_lines(&stripped(source, Comments::None)), lines, "{source:?}");
    }
}
