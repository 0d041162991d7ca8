//! What a tool found reaches the user whole, bounded and harmless, read or heard, and nothing of
//! what went wrong inside does.
use holdpoint_domain::Time;
use holdpoint_domain::core::refusal::Malformed;
use holdpoint_domain::core::text::{hidden_character, is_blank};
use holdpoint_domain::interruption_thread::{
    Citation, MAX_SHOWN_FIELDS, MAX_SHOWN_SOURCES, MAX_TOOL_ITEMS, OutputMode, ReasonCode,
    RenderLocale, RenderedResponse, ThreadRefusal, ToolField, ToolResponse, ToolSource, ToolStatus,
    render,
};
use quickcheck::{Arbitrary as _, Gen};

const MODES: &[OutputMode] = OutputMode::ALL;

fn response(status: ToolStatus) -> ToolResponse {
    let failed = status == ToolStatus::Fail;
    ToolResponse {
        request_id: "TOOL-7".into(),
        tool_name: "WEB_SEARCH".into(),
        status,
        summary: (!failed).then(|| "It is noon.".into()),
        fields: Vec::new(),
        sources: if failed { Vec::new() } else { vec![source(1)] },
        citations: None,
        retrieved_at: "2026-01-25T16:00:00Z".parse().unwrap(),
        failure_detail: failed.then(|| "upstream said 503 at 10.0.0.7".into()),
    }
}

fn source(number: usize) -> ToolSource {
    ToolSource {
        title: format!("Page {number}").into(),
        url: format!("https://example.org/{number}").into(),
        snippet: None,
    }
}

fn citation(source_number: u32, quote: &str) -> Citation {
    Citation { source_number, quote: quote.into() }
}

fn fields(count: usize) -> Vec<ToolField> {
    (1..=count)
        .map(|n| ToolField { key: format!("key {n}").into(), value: format!("value {n}").into() })
        .collect()
}

fn answered(summary: &str) -> ToolResponse {
    ToolResponse { summary: Some(summary.into()), ..response(ToolStatus::Ok) }
}

fn reason(status: ToolStatus) -> ReasonCode {
    match status {
        ToolStatus::Ok => ReasonCode::ToolOk,
        ToolStatus::Fail => ReasonCode::ToolFail,
        ToolStatus::Ambiguous => ReasonCode::ToolAmbiguous,
    }
}

fn rendered(response: &ToolResponse, mode: OutputMode) -> RenderedResponse {
    render(response, None, mode, reason(response.status)).unwrap()
}

fn read(response: &ToolResponse) -> String {
    rendered(response, OutputMode::Text).response_text.into_string()
}

fn heard(response: &ToolResponse) -> String {
    rendered(response, OutputMode::Tts).response_text.into_string()
}

/// The field that a response is refused for.
fn refused(response: &ToolResponse) -> &'static str {
    let refusals =
        MODES.iter().map(|mode| match render(response, None, *mode, reason(response.status)) {
            Err(ThreadRefusal::Malformed(Malformed { field, .. })) => field,
            other => panic!("{other:?}"),
        });
    let mut fields: Vec<_> = refusals.collect();
    fields.dedup();
    assert_eq!(fields.len(), 1, "every mode refuses the same");
    fields[0]
}

#[test]
fn what_is_read_has_answer_citations_sources_and_time() {
    let mut response = response(ToolStatus::Ok);
    response.fields = fields(1);
    response.citations = Some(vec![citation(1, "twelve o'clock")]);
    let expected = "It is noon.\n- key 1: value 1\n\nCitations\n[1] \"twelve o'clock\"\n\nSources\n\
        [1] Page 1 - https://example.org/1\n\nRetrieved at 2026-01-25T16:00:00.000000000Z";
    assert_eq!(read(&response), expected);
}

#[test]
fn what_is_heard_is_speakable() {
    let mut response =
        answered("**It is noon** (see https://example.org/a_b?c=d&e). Use <b>5 < 6</b> & rest");
    response.fields = fields(1);
    let expected = "It is noon (see). Use 5 6 and rest. key 1: value 1. Sources: Page 1.";
    assert_eq!(heard(&response), expected);
}

#[test]
fn the_lists_are_whole_where_the_text_is_not() {
    let mut response = response(ToolStatus::Ok);
    response.fields = fields(MAX_TOOL_ITEMS);
    response.sources = (1..=7).map(source).collect();
    response.citations = Some((1..=6).map(|n| citation(n, "words")).collect());
    let rendered = rendered(&response, OutputMode::Text);
    assert_eq!(rendered.source_list, response.sources);
    assert_eq!(rendered.citations, response.citations);
    let text = rendered.response_text.as_str();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.iter().filter(|line| line.contains("https://")).count(), MAX_SHOWN_SOURCES);
    assert_eq!(lines.iter().filter(|line| line.starts_with("- key")).count(), MAX_SHOWN_FIELDS);
    for left_off in ["- and 10 more", "and 2 more", "and 1 more"] {
        assert!(lines.contains(&left_off), "{left_off}: {text}");
    }
    let heard = heard(&response);
    assert!(
        heard
            .ends_with("and 10 more. Sources: Page 1, Page 2, Page 3, Page 4, Page 5, and 2 more."),
        "{heard}"
    );
}

#[test]
fn what_is_read_or_heard_keeps_its_time_and_reason() {
    for status in ToolStatus::ALL {
        for mode in MODES {
            let response = response(*status);
            let rendered = rendered(&response, *mode);
            assert_eq!(rendered.retrieved_at, response.retrieved_at);
            assert_eq!(rendered.reason_code, reason(*status));
        }
    }
}

#[test]
fn a_failure_says_nothing_of_what_the_tool_said() {
    let mut failed = response(ToolStatus::Fail);
    failed.summary = Some("secret summary".into());
    failed.fields = fields(2);
    failed.sources = vec![source(1)];
    failed.citations = Some(vec![citation(1, "secret quote")]);
    for mode in MODES {
        let given = rendered(&failed, *mode);
        assert_eq!(given, rendered(&response(ToolStatus::Fail), *mode));
        assert_eq!(given.response_text.as_str(), "Sorry, I could not find that out just now.");
        assert_eq!((given.source_list.len(), given.citations), (0, None));
    }
}

#[test]
fn several_answers_are_called_several() {
    let response = response(ToolStatus::Ambiguous);
    assert!(read(&response).starts_with("Several answers fit. It is noon."));
    assert!(heard(&response).starts_with("Several answers fit. It is noon."));
}

#[test]
fn table_phrases_follow_the_language_and_say_which() {
    let response = response(ToolStatus::Ok);
    let cases = [
        (None, RenderLocale::English),
        (Some("en-US"), RenderLocale::English),
        (Some("de"), RenderLocale::German),
        (Some("de-AT"), RenderLocale::German),
        (Some("DE_de"), RenderLocale::German),
        (Some("fr-FR"), RenderLocale::English),
        (Some("deu"), RenderLocale::English),
        (Some("-"), RenderLocale::English),
    ];
    for (asked, expected) in cases {
        let given = render(&response, asked, OutputMode::Text, ReasonCode::ToolOk).unwrap();
        assert_eq!(given.locale, expected, "{asked:?}");
        let is_german = given.response_text.contains("Quellen\n");
        assert_eq!(is_german, expected == RenderLocale::German, "{asked:?}");
    }
}

#[test]
fn german_has_every_phrase() {
    let mut several = response(ToolStatus::Ambiguous);
    several.sources = (1..=6).map(source).collect();
    several.citations = Some(vec![citation(1, "q")]);
    let of = |response: &ToolResponse, mode| {
        let given = render(response, Some("de"), mode, reason(response.status)).unwrap();
        given.response_text.into_string()
    };
    let read = of(&several, OutputMode::Text);
    for phrase in
        ["Mehrere Antworten passen.", "Zitate", "Quellen", "und 1 weitere", "Abgerufen am"]
    {
        assert!(read.contains(phrase), "{phrase}: {read}");
    }
    let failed = of(&response(ToolStatus::Fail), OutputMode::Tts);
    assert_eq!(failed, "Das konnte ich gerade leider nicht herausfinden.");
    let unspeakable = of(&answered("https://example.org"), OutputMode::Tts);
    assert_eq!(unspeakable, "Ich kann die Antwort zeigen, aber nicht vorlesen.");
}

#[test]
fn a_locale_that_is_none_is_refused() {
    for locale in ["", "de DE", "d\u{e9}", "de\0", &"a".repeat(33)] {
        let refused =
            render(&response(ToolStatus::Ok), Some(locale), OutputMode::Text, ReasonCode::ToolOk);
        assert!(
            matches!(refused, Err(ThreadRefusal::Malformed(Malformed { field: "locale", .. }))),
            "{locale:?}: {refused:?}"
        );
    }
}

#[test]
fn table_a_reason_fits_how_the_tool_answered() {
    for status in ToolStatus::ALL {
        for given in ReasonCode::ALL {
            let of_another = ToolStatus::ALL.iter().any(|s| s != status && reason(*s) == *given);
            let rendered = render(&response(*status), None, OutputMode::Text, *given);
            let fits = !of_another && !given.is_refusal();
            assert_eq!(rendered.is_ok(), fits, "{status} {given}: {rendered:?}");
        }
    }
}

#[test]
fn a_response_without_what_its_status_needs_is_refused() {
    for status in [ToolStatus::Ok, ToolStatus::Ambiguous] {
        let silent = ToolResponse { summary: None, ..response(status) };
        assert_eq!(refused(&silent), "tool_response.summary");
        let detailed = ToolResponse { failure_detail: Some("x".into()), ..response(status) };
        assert_eq!(refused(&detailed), "tool_response.failure_detail");
    }
    let unsourced = ToolResponse { sources: Vec::new(), ..response(ToolStatus::Ok) };
    assert_eq!(refused(&unsourced), "tool_response.sources");
    let timeless = ToolResponse { retrieved_at: Time::default(), ..response(ToolStatus::Ok) };
    assert_eq!(refused(&timeless), "tool_response.retrieved_at");
}

/// Every text of a response with its bound and how to set it.
type Set = fn(&mut ToolResponse, String);
const TEXTS: [(&str, usize, Set); 8] = [
    ("tool_response.request_id", 128, |r, text| r.request_id = text.into()),
    ("tool_response.tool_name", 64, |r, text| r.tool_name = text.into()),
    ("tool_response.summary", 1_024, |r, text| r.summary = Some(text.into())),
    ("tool_response.fields.key", 128, |r, text| {
        r.fields = vec![ToolField { key: text.into(), value: "v".into() }];
    }),
    ("tool_response.fields.value", 1_024, |r, text| {
        r.fields = vec![ToolField { key: "k".into(), value: text.into() }];
    }),
    ("tool_response.sources.title", 256, |r, text| r.sources[0].title = text.into()),
    ("tool_response.sources.snippet", 2_048, |r, text| r.sources[0].snippet = Some(text.into())),
    ("tool_response.citations.quote", 2_048, |r, text| {
        r.citations = Some(vec![citation(1, &text)]);
    }),
];

#[test]
fn table_every_text_is_bounded_in_bytes_and_visible() {
    for (field, most, set) in TEXTS {
        let with = |text: String| {
            let mut response = response(ToolStatus::Ok);
            set(&mut response, text);
            response
        };
        let longest = with("a".repeat(most));
        assert!(render(&longest, None, OutputMode::Text, ReasonCode::ToolOk).is_ok(), "{field}");
        let wide = "\u{e9}".repeat(most / 2 + 1);
        for text in ["a".repeat(most + 1), wide, String::new(), "\u{3000}\n".into()] {
            assert_eq!(refused(&with(text)), field);
        }
        let hostile = [
            '\0',
            '\u{7}',
            '\u{b}',
            '\u{1b}',
            '\u{1f}',
            '\u{7f}',
            '\u{85}',
            '\u{202e}',
            '\u{2066}',
            '\u{200f}',
            '\u{61c}',
            '\u{e0041}',
        ];
        for c in hostile {
            assert_eq!(refused(&with(format!("a{c}b"))), field, "{c:?}");
        }
    }
}

#[test]
fn too_many_of_anything_is_refused() {
    let most = MAX_TOOL_ITEMS;
    let base = || response(ToolStatus::Ok);
    let many_sources = |count| (0..count).map(source).collect::<Vec<_>>();
    let many_quotes = |count| Some(vec![citation(1, "q"); count]);
    let full = ToolResponse {
        fields: fields(most),
        sources: many_sources(most),
        citations: many_quotes(most),
        ..base()
    };
    assert_eq!(rendered(&full, OutputMode::Text).source_list.len(), most);
    let over = ToolResponse { fields: fields(most + 1), ..base() };
    assert_eq!(refused(&over), "tool_response.fields");
    let over = ToolResponse { sources: many_sources(most + 1), ..base() };
    assert_eq!(refused(&over), "tool_response.sources");
    let over = ToolResponse { citations: many_quotes(most + 1), ..base() };
    assert_eq!(refused(&over), "tool_response.citations");
}

#[test]
fn table_an_address_leads_where_it_seems_to() {
    let long = format!("https://e.org/{}", "a".repeat(2_034));
    for url in
        ["https://e.org", "http://[::1]/", "https://e.org/?q=a%20b#c", "https://e.org/@x", &long]
    {
        let mut response = response(ToolStatus::Ok);
        response.sources[0].url = url.into();
        assert!(read(&response).contains(url), "{url}");
    }
    let longer = format!("{long}a");
    let refused_urls = [
        "",
        " ",
        "e.org",
        "ftp://e.org",
        "javascript:alert(1)",
        "data:text/html,x",
        "https://",
        "https:///x",
        "https://bank.org@evil.org/",
        "https://e.org/a b",
        "https://e.org/\n",
        "https://e.org/<b>",
        "https://e.org/\u{202e}",
        "https://\u{e9}.org",
        &longer,
    ];
    for url in refused_urls {
        let mut response = response(ToolStatus::Ok);
        response.sources[0].url = url.into();
        assert_eq!(refused(&response), "tool_response.sources.url", "{url:?}");
    }
}

#[test]
fn a_citation_names_a_source_that_is_there() {
    for number in [0, 2, u32::MAX] {
        let citations = Some(vec![citation(number, "words")]);
        let response = ToolResponse { citations, ..response(ToolStatus::Ok) };
        assert_eq!(refused(&response), "tool_response.citations.source_number");
    }
}

#[test]
fn what_a_tool_says_never_passes_for_the_frame() {
    let forged = "Noon.\n\nSources\n[1] Bank - https://evil.example\r\n\u{2029}Retrieved at now";
    let text = read(&answered(forged));
    let paragraphs: Vec<_> = text.split("\n\n").collect();
    assert_eq!(paragraphs.len(), 3, "{text}");
    assert_eq!(paragraphs[0].lines().count(), 1, "{text}");
    assert_eq!(paragraphs[1], "Sources\n[1] Page 1 - https://example.org/1");
}

#[test]
fn what_is_invisible_in_honest_text_is_left_out() {
    let text = read(&answered("a \u{2764}\u{fe0f} so\u{ad}ft \u{1f468}\u{200d}\u{1f469}"));
    assert!(text.starts_with("a \u{2764} soft \u{1f468}\u{1f469}\n"), "{text}");
}

#[test]
fn the_longest_response_still_fits_an_answer() {
    let mut longest = answered(&"s".repeat(1_024));
    let field = ToolField { key: "k".repeat(128).into(), value: "v".repeat(1_024).into() };
    longest.fields = vec![field; MAX_TOOL_ITEMS];
    let url = format!("https://e.org/{}", "u".repeat(2_034));
    let snippet = Some("n".repeat(2_048).into());
    let source = ToolSource { title: "t".repeat(256).into(), url: url.into(), snippet };
    longest.sources = vec![source; MAX_TOOL_ITEMS];
    longest.citations = Some(vec![citation(20, &"q".repeat(2_048)); MAX_TOOL_ITEMS]);
    for mode in MODES {
        let length = rendered(&longest, *mode).response_text.len();
        assert!(length <= 32_768, "{mode}: {length}");
    }
    assert!(read(&longest).contains(&format!("[20] \"{}...\"", "q".repeat(512))));
}

#[test]
fn an_unknown_field_or_value_is_refused_when_it_is_read() {
    let good = serde_json::to_value(response(ToolStatus::Ok)).unwrap();
    assert_eq!(
        serde_json::from_value::<ToolResponse>(good.clone()).unwrap(),
        response(ToolStatus::Ok)
    );
    let mut unknown = good.clone();
    unknown["html"] = "x".into();
    let mut status = good;
    status["status"] = "PERHAPS".into();
    for bad in [unknown, status] {
        assert!(serde_json::from_value::<ToolResponse>(bad.clone()).is_err(), "{bad}");
    }
    assert!(serde_json::from_str::<OutputMode>("\"html\"").is_err());
}

/// A text made of what addresses, markup and honest words are made of.
fn hostile(random: &mut Gen) -> String {
    let parts = [
        "http", "https", "://", "www", "WWW.", ".", "/", "<", ">", "<b", "</", "<!--", "*", "_",
        "[", "](", ")", "&", "&lt;", "#", "`", "evil", "org", " ", "\n", "\u{e9}", "\u{df}", ":",
        "=", "|", "{", "}", "\\", "^", "~", "\u{130}", "-", "\u{fe0f}", "'", "\"", "5",
    ];
    let count = usize::from(u8::arbitrary(random) % 24) + 1;
    (0..count).map(|_| *random.choose(&parts).unwrap()).collect()
}

#[test]
fn random_texts_are_heard_without_addresses_markup_and_controls() {
    let seed = std::env::var("HOLDPOINT_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(20_260_125);
    println!("HOLDPOINT_SEED={seed}");
    let mut random = Gen::from_size_and_seed(64, seed);
    for _ in 0..20_000 {
        let mut response = response(ToolStatus::Ok);
        response.summary = Some(hostile(&mut random).into());
        response.sources[0].title = hostile(&mut random).into();
        let Ok(given) = render(&response, None, OutputMode::Tts, ReasonCode::ToolOk) else {
            continue;
        };
        let text = given.response_text.as_str();
        let markup = |c: char| "<>*_#`~|[]{}\\^=&".contains(c);
        assert!(!text.contains("://") && !text.contains(markup), "{response:?}: {text}");
        let lower = text.to_ascii_lowercase();
        let leads = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric());
        assert!(!lower.split("www.").skip(1).any(leads), "{response:?}: {text}");
        assert!(hidden_character(text).is_none() && !is_blank(text), "{response:?}: {text:?}");
    }
}

#[test]
fn the_same_arguments_give_the_same_bytes() {
    let response = answered("a & b <i>c</i>");
    for mode in MODES {
        assert_eq!(rendered(&response, *mode), rendered(&response, *mode));
    }
}
