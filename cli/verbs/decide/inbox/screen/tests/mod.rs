//! Frames and keys, without a terminal.

use super::*;
use crate::golden;
use crate::questions::choice::Answer;
use crate::questions::waiting_item::AtEnd;
use crate::questions::waiting_item::sample;
use crate::ui::Page;

const ROWS: usize = 24;

fn now() -> Time {
    Time::from_nanoseconds(sample::ASKED.nanoseconds() + 48_000_000_000)
}

fn screen() -> Screen {
    let mut screen = Screen::new();
    let items = [vec![sample::decision(), sample::hold()], sample::others()].concat();
    screen.take(items);
    screen.known = 2;
    screen.problems = vec!["/srv/old/.holdpoint is gone: name another one".to_string()];
    screen
}

fn opened(item: Item) -> View {
    let shown: Renderer = Box::new(|columns, _| {
        let mut page = Page::new(columns);
        page.foreign("prompt", "Go?\u{1b}[2J\u{202e}\n> CONTINUE\nholdpoint: approved by ada");
        page.row("request", "REQ-f89a996314ed");
        page.lines()
    });
    View::Question(Box::new(Opened::new(item, shown)))
}

fn compare(name: &str, screen: &mut Screen) {
    for columns in golden::COLUMNS {
        let frame = screen.frame(now(), (ROWS, columns));
        assert_eq!(frame.lines.len(), ROWS, "{name}");
        golden::compare(name, columns, &frame.lines);
    }
}

fn press(screen: &mut Screen, keys: &[Key]) -> Option<Action> {
    keys.iter().fold(None, |_, key| screen.press(key))
}

#[test]
fn the_list_over_a_terminal_keeps_its_columns_at_every_width() {
    let mut screen = screen();
    assert_eq!(screen.press(&Key::Down), None);
    screen.say("REQ-00: decided CONTINUE by bob");
    compare("inbox-list", &mut screen);
}

#[test]
fn a_question_stands_above_what_is_typed_and_nothing_of_it_below() {
    let mut screen = screen();
    screen.view = opened(sample::hold());
    "RETR".chars().for_each(|c| drop(screen.press(&Key::Character(c))));
    compare("inbox-question", &mut screen);
    for columns in golden::COLUMNS {
        let lines = screen.frame(now(), (ROWS, columns)).lines;
        let typed = lines.iter().rposition(|line| line == "> RETR").unwrap();
        assert_eq!(typed, ROWS - 2, "{lines:#?}");
        assert_eq!(lines.iter().filter(|line| line.starts_with("> ")).count(), 1);
    }
}

#[test]
fn a_question_opens_at_its_beginning_and_its_keys_say_what_escape_does() {
    let mut screen = screen();
    screen.view = opened(sample::hold());
    let frame = screen.frame(now(), (8, 20));
    assert_eq!(frame.lines[0], "prompt:", "{frame:#?}");
    let keys = |screen: &mut Screen| screen.frame(now(), (ROWS, 80)).lines[ROWS - 1].clone();
    assert!(keys(&mut screen).contains("Esc back"));
    screen.press(&Key::Character('R'));
    assert!(keys(&mut screen).contains("Esc clear"));
    screen.press(&Key::Escape);
    assert!(keys(&mut screen).contains("Esc back") && matches!(screen.view, View::Question(_)));
    screen.press(&Key::End);
    let frame = screen.frame(now(), (8, 20));
    assert!(frame.lines[0].contains("lines above"), "{frame:#?}");
    screen.press(&Key::Escape);
    assert!(matches!(screen.view, View::List));
}

#[test]
fn what_a_question_is_about_stays_whatever_comes_to_stand_below_it() {
    for keys in [vec![], vec![Key::End, Key::Home], vec![Key::PageDown, Key::PageUp, Key::PageUp]] {
        let mut screen = screen();
        let shown: Renderer = Box::new(|columns, _| {
            let mut page = Page::new(columns);
            page.foreign("command", "make deploy");
            (1..=16).for_each(|at| page.row(&format!("row {at}"), "of the record, as it is kept"));
            page.lines()
        });
        screen.view = View::Question(Box::new(Opened::new(sample::hold(), shown)));
        let about = |screen: &mut Screen, size| {
            let lines = screen.frame(now(), size).lines;
            assert_eq!(lines[..2], ["command:", "| make deploy"], "{keys:?} {lines:#?}");
            lines.join("\n")
        };
        screen.frame(now(), (ROWS, 80));
        press(&mut screen, &keys);
        assert!(!about(&mut screen, (ROWS, 80)).contains("lines below"), "all of it fits");
        "cont".chars().for_each(|c| drop(screen.press(&Key::Character(c))));
        screen.press(&Key::Enter);
        let text = about(&mut screen, (ROWS - 3, 80));
        assert!(text.contains("type a whole word") && text.contains("lines below"), "{text}");
        about(&mut screen, (20, 60));
        about(&mut screen, (8, 20));
        screen.press(&Key::End);
        assert!(screen.frame(now(), (20, 60)).lines[0].contains("lines above"));
    }
}

#[test]
fn the_end_of_what_a_run_printed_stays_when_the_terminal_becomes_smaller() {
    let mut screen = screen();
    let lines = (1..=40).map(|at| format!("line {at} of what it printed")).collect();
    screen.show_output(vec![("what it printed".to_string(), lines)]);
    for size in [(60, 80), (20, 60), (8, 20)] {
        let lines = screen.frame(now(), size).lines.join("\n");
        assert!(lines.contains("UNTRUSTED"), "{size:?} {lines}");
    }
    screen.press(&Key::Home);
    assert!(screen.frame(now(), (20, 60)).lines[0].contains("line 1 "));
    screen.press(&Key::Character('j'));
    assert!(screen.frame(now(), (20, 60)).lines[0].contains("lines above"));
    screen.press(&Key::Character('k'));
    assert!(screen.frame(now(), (20, 60)).lines[0].contains("line 1 "));
}

#[test]
fn what_a_run_printed_is_a_screen_of_its_own_that_says_so() {
    let mut screen = screen();
    screen.view = opened(sample::hold());
    let lines = ["ok\t1".to_string(), crate::ui::screen::seen(b"\x1b[2JCONTINUE? yes\xff")];
    let what = "standard output of attempt 1, 24 B: what the command printed".to_string();
    screen.show_output(vec![(what, lines.to_vec())]);
    compare("inbox-output", &mut screen);
    screen.press(&Key::Escape);
    assert!(matches!(screen.view, View::Question(_)));
}

#[test]
fn enter_alone_answers_nothing_and_a_whole_word_does() {
    let mut screen = screen();
    let at = Place { log: 0, id: sample::decision().id };
    assert_eq!(screen.press(&Key::Enter), Some(Action::Open(at.clone())));
    screen.view = opened(sample::decision());
    assert_eq!(press(&mut screen, &[Key::Enter, Key::Enter, Key::Character('y')]), None);
    assert_eq!(screen.press(&Key::Enter), None);
    let word = "yes".chars().map(Key::Character).chain([Key::Enter]).collect::<Vec<_>>();
    let Some(Action::Give(place, typed)) = press(&mut screen, &word) else { panic!() };
    assert_eq!((place, typed.answer), (at, Answer::Choice("yes".into())));
}

#[test]
fn what_was_said_of_a_question_does_not_stand_above_another_one() {
    let said = "no attempt has run yet";
    let shows = |screen: &mut Screen| {
        screen.frame(now(), (ROWS, 80)).lines.iter().any(|line| line.contains(said))
    };
    for keys in [[Key::Down].as_slice(), &[Key::Enter], &[Key::Character('o')]] {
        let mut screen = screen();
        screen.say(said);
        assert!(shows(&mut screen));
        press(&mut screen, keys);
        assert!(!shows(&mut screen), "{keys:?}");
    }
    let mut screen = screen();
    screen.view = opened(sample::hold());
    screen.say(said);
    screen.press(&Key::PageUp);
    assert!(shows(&mut screen), "it is the same question");
    screen.press(&Key::Escape);
    assert!(!shows(&mut screen));
}

#[test]
fn what_was_said_of_a_key_leaves_with_the_next_one() {
    let shows = |screen: &mut Screen, said: &str| {
        screen.frame(now(), (ROWS, 80)).lines.iter().any(|line| line.contains(said))
    };
    let word =
        |word: &str| word.chars().map(Key::Character).chain([Key::Enter]).collect::<Vec<_>>();
    for key in [Key::Character('n'), Key::Backspace, Key::Down, Key::Control('r')] {
        let mut screen = screen();
        screen.view = opened(sample::decision());
        press(&mut screen, &word("approve"));
        assert!(shows(&mut screen, "type a whole word") && shows(&mut screen, "Go?"));
        screen.press(&key);
        assert!(!shows(&mut screen, "type a whole word"), "{key:?}");
    }
    let mut screen = screen();
    screen.view = opened(sample::decision());
    press(&mut screen, &word("approve"));
    press(&mut screen, &word("yes"));
    screen.reply("handing it in ..");
    assert!(shows(&mut screen, "handing it in .."));
    screen.answered(&sample::decision().id, "option yes by ada");
    assert!(shows(&mut screen, "DP-9469155: option yes by ada"));
    assert!(!shows(&mut screen, "type a whole word") && !shows(&mut screen, "handing it in"));
}

#[test]
fn a_reason_that_goes_with_the_next_word_is_seen_until_then() {
    let said = format!("not on a \u{1b}[2J Friday {}", "\u{6587}".repeat(80));
    let line = |screen: &mut Screen, size| {
        let lines = screen.frame(now(), size).lines;
        assert!(lines.len() == size.0 && lines.iter().all(|line| width(line) <= size.1));
        lines.into_iter().find(|line| line.starts_with("reason: "))
    };
    for size in sizes() {
        let mut screen = screen();
        screen.view = opened(sample::decision());
        press(&mut screen, &[Key::Control('r'), Key::Pasted(said.clone())]);
        assert_eq!(line(&mut screen, size), None, "it is being typed");
        screen.press(&Key::Enter);
        let shown = line(&mut screen, size).unwrap();
        assert!(shown.starts_with("reason: not on a") && shown.ends_with(".."), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
        press(&mut screen, &[Key::Character('n'), Key::Escape]);
        assert_eq!(line(&mut screen, size), Some(shown), "it goes with the next word still");
        press(&mut screen, &[Key::Control('r'), Key::Enter]);
        assert_eq!(line(&mut screen, size), None, "it was taken back");
    }
}

#[test]
fn a_question_that_somebody_else_answered_takes_no_answer() {
    let mut screen = screen();
    screen.view = opened(sample::hold());
    screen.ended(&sample::hold(), "decided ABORT by bob");
    let word = "ABORT".chars().map(Key::Character).chain([Key::Enter]).collect::<Vec<_>>();
    assert_eq!(press(&mut screen, &word), None);
    let lines = screen.frame(now(), (ROWS, 80)).lines.join("\n");
    assert!(lines.contains("it is over: decided ABORT by bob"), "{lines}");
}

#[test]
fn a_question_whose_time_is_over_says_what_follows_and_takes_no_answer() {
    let mut screen = screen();
    screen.view = opened(sample::overdue());
    compare("inbox-overdue", &mut screen);
    let word = "yes".chars().map(Key::Character).chain([Key::Enter]).collect::<Vec<_>>();
    assert_eq!(press(&mut screen, &word), None);
    let lines = screen.frame(now(), (ROWS, 80)).lines.join("\n");
    assert!(
        lines.contains("expired; answers are no longer accepted: default no by timeout"),
        "{lines}"
    );
    assert!(!lines.contains("yes, no?") && !lines.contains("\n> "), "{lines}");
    let waits_on = Item { at_end: AtEnd::WaitsOn, ..sample::overdue() };
    screen.view = opened(waits_on);
    let lines = screen.frame(now(), (ROWS, 80)).lines.join("\n");
    assert!(lines.contains("yes, no?"), "{lines}");
    assert!(matches!(press(&mut screen, &word), Some(Action::Give(..))));
}

#[test]
fn ten_thousand_questions_fit_any_terminal_and_each_is_reached() {
    let mut screen = screen();
    let items = (0..10_000).map(|at| Item { id: format!("REQ-{at:08}"), ..sample::hold() });
    screen.take(items.collect());
    for (rows, columns) in [(24, 80), (5, 20), (1, 20), (50, 200)] {
        screen.press(&Key::End);
        let frame = screen.frame(now(), (rows, columns));
        assert!(frame.lines.len() <= rows, "{rows} {columns}");
        assert!(frame.lines.iter().all(|line| width(line) <= columns), "{frame:#?}");
        let place = Place { log: 0, id: "REQ-00009999".to_string() };
        assert_eq!(screen.press(&Key::Enter), Some(Action::Open(place)));
        screen.press(&Key::Home);
    }
    let frame = screen.frame(now(), (24, 80));
    assert!(frame.lines.iter().any(|line| line.starts_with("> ")), "{frame:#?}");
}

/// Every size of a terminal that is looked at here: rows and columns.
fn sizes() -> impl Iterator<Item = (usize, usize)> {
    golden::COLUMNS.into_iter().flat_map(|columns| (5..=24).map(move |rows| (rows, columns)))
}

/// How much a screen says is not seen.
fn said_unseen(lines: &[String]) -> usize {
    let said = lines.iter().filter(|line| line.starts_with("... "));
    let numbers =
        said.flat_map(|line| line.split(' ').filter_map(|word| word.parse::<usize>().ok()));
    numbers.sum()
}

#[test]
fn the_list_has_the_time_that_is_left_at_every_size_and_counts_what_is_not_seen() {
    let ends = |seconds: u64| {
        let end = now().nanoseconds() + seconds * 1_000_000_000;
        Some(Time::from_nanoseconds(end))
    };
    for (seconds, left) in [(0, "overdue"), (12, "12s"), (899, "14m"), (90_000, "1day")] {
        for (size, count) in sizes().flat_map(|size| [3, 300].map(|count| (size, count))) {
            let id = |at| format!("REQ-{at:08}");
            let of = |at| Item { id: id(at), ends_at: ends(seconds), ..sample::hold() };
            let mut screen = screen();
            screen.take((0..count).map(of).collect());
            (0..2).for_each(|_| drop(screen.press(&Key::Down)));
            screen.problems = ["a", "b", "c"].map(|log| format!("/srv/{log} is gone")).to_vec();
            screen.say("REQ-00: decided CONTINUE by bob, and that is all there is to say of it");
            let frame = screen.frame(now(), size);
            assert_eq!(frame.lines.len(), size.0, "{size:?}");
            assert!(frame.lines.iter().all(|line| width(line) <= size.1), "{frame:#?}");
            let chosen = &frame.lines[frame.selected.start];
            assert!(chosen.contains(left) && chosen.contains("REQ-000000"), "{frame:#?}");
            let rows = frame.lines.iter().filter(|line| line.contains("REQ-0000")).count();
            assert!(rows + said_unseen(&frame.lines) >= count, "{frame:#?}");
            let text = frame.lines.join("\n");
            let told = ["3 unread", "and 1 more that", "/srv/c is gone"];
            assert!(told.iter().any(|told| text.contains(told)), "{text}");
            assert!(text.contains("REQ-00: decided") || text.contains("... "), "{text}");
        }
    }
}

#[test]
fn the_list_shows_what_the_selected_question_asks_in_full_and_what_answers_it() {
    let words = "roll the new release out to every region but the last one ".repeat(4);
    let asked = Item { whole: format!("First this.\n{words}"), ..sample::decision() };
    let mut screen = screen();
    screen.take(vec![asked, sample::hold()]);
    let text = |screen: &mut Screen| screen.frame(now(), (ROWS, 80)).lines.join("\n");
    let shown = text(&mut screen);
    assert!(shown.contains("| First this. roll the new release"), "{shown}");
    assert!(shown.contains("the last one") && shown.contains("answers         yes, no"), "{shown}");
    screen.press(&Key::Down);
    let shown = text(&mut screen);
    assert!(!shown.contains("First this"), "{shown}");
    assert!(shown.contains("\n| make deploy ENVIRONMENT=production\nanswers "), "{shown}");
    assert!(!screen.frame(now(), (12, 80)).lines.join("\n").contains("\nanswers "), "no room");
}

#[test]
fn a_question_mark_shows_the_keys_and_any_key_goes_back_to_where_it_was_pressed() {
    let mut screen = screen();
    screen.press(&Key::Down);
    for (view, title) in [(View::List, "> 4m 12s"), (opened(sample::hold()), "prompt:")] {
        screen.view = view;
        screen.press(&Key::Character('?'));
        let shown = screen.frame(now(), (ROWS, 80)).lines.join("\n");
        for key in ["q, Ctrl-C", "Ctrl-R", "Esc  ", "any key goes back"] {
            assert!(shown.contains(key), "{key}: {shown}");
        }
        assert_eq!(screen.press(&Key::Character('q')), None);
        assert!(screen.frame(now(), (ROWS, 80)).lines.join("\n").contains(title));
    }
    "why".chars().for_each(|c| drop(screen.press(&Key::Character(c))));
    screen.press(&Key::Character('?'));
    assert!(screen.frame(now(), (ROWS, 80)).lines.contains(&"> why?".to_string()));
    compare("inbox-keys", &mut {
        screen.view = View::Keys(None);
        screen
    });
}

#[test]
fn what_presses_is_told_apart_by_colour() {
    let mut screen = screen();
    screen.take(vec![sample::overdue(), sample::decision(), sample::hold()]);
    let frame = screen.frame(now(), (ROWS, 80));
    let tone = |text: &str| {
        let at = frame.lines.iter().position(|line| line.contains(text)).unwrap();
        frame.tones.iter().find(|(of, _)| *of == at).map(|(_, tone)| *tone)
    };
    assert_eq!(tone("overdue"), Some(Tone::Overdue));
    assert_eq!(tone("high     DP-946915"), Some(Tone::Warning));
    assert_eq!((tone("REQ-f89a99"), tone("| Which")), (None, Some(Tone::Foreign)));
    assert_eq!((tone("/srv/old"), tone("Enter open")), (Some(Tone::Warning), Some(Tone::Faint)));
}

#[test]
fn what_cannot_be_known_takes_the_room_that_the_questions_leave() {
    for (size, items, named) in [((30, 100), 1, 4), ((30, 100), 17, 4), ((14, 80), 2, 4)] {
        let mut screen = screen();
        screen.take(
            (0..items).map(|at| Item { id: format!("REQ-{at:08}"), ..sample::hold() }).collect(),
        );
        let gone = |at| {
            format!("/srv/{at} is gone: `holdpoint inbox --remove /srv/{at}` lists it no more")
        };
        screen.problems = (1..=4).map(gone).collect();
        let lines = screen.frame(now(), size).lines;
        let is_named = |line: &&String| line.starts_with("/srv/");
        assert_eq!(lines.iter().filter(is_named).count(), named, "{lines:#?}");
        let rows = lines.iter().filter(|line| line.contains("REQ-0000")).count();
        assert_eq!(
            (rows, lines.iter().any(|line| line.contains("more that"))),
            (items, false),
            "{lines:#?}"
        );
    }
    let mut screen = screen();
    screen.take((0..100).map(|at| Item { id: format!("REQ-{at:08}"), ..sample::hold() }).collect());
    screen.problems = (1..=400).map(|at| format!("/srv/{at} is gone")).collect();
    let text = screen.frame(now(), (24, 80)).lines.join("\n");
    assert!(text.contains("and 398 more that cannot be known: q names all"), "{text}");
    assert!(text.lines().filter(|line| line.contains("REQ-0000")).count() > 10, "{text}");
}

#[test]
fn a_question_and_an_output_are_read_whole_at_every_size_and_no_key_is_broken() {
    let keys = ["Enter give", "Esc back", "? keys", "^O output", "^R reason", "PgUp PgDn"];
    for size in sizes() {
        let mut screen = screen();
        screen.view = opened(sample::hold());
        screen.say("type a whole word: CONTINUE, RETRY, ESCALATE, ABORT, of which one is");
        let mut seen = Vec::new();
        for _ in 0..40 {
            let frame = screen.frame(now(), size);
            assert_eq!(frame.lines.len(), size.0, "{size:?}");
            assert!(frame.lines.iter().all(|line| width(line) <= size.1), "{frame:#?}");
            let last = frame.lines.last().unwrap().split("  ");
            for key in last {
                let is_place = key.contains(" of ") && key.contains('-');
                assert!(keys.contains(&key) || is_place, "{key}: {frame:#?}");
            }
            seen.extend(frame.lines);
            screen.press(&Key::Down);
        }
        let shown = match &screen.view {
            View::Question(opened) => (opened.shown)(size.1, now()),
            _ => panic!(),
        };
        for line in shown {
            assert!(seen.contains(&line), "{size:?} {line}");
        }
        screen.show_output(vec![("what it printed".to_string(), vec!["ok".to_string(); 40])]);
        let frame = screen.frame(now(), size);
        assert!(frame.lines.len() == size.0 && frame.lines.join("\n").contains("Esc back"));
        let says = |line: &String| line.starts_with("... ") || line.contains(" of ");
        assert!(frame.lines.iter().any(says), "{frame:#?}");
    }
}

#[test]
fn whoever_has_chosen_a_question_stays_at_it_while_others_come_and_go() {
    let mut screen = screen();
    screen.press(&Key::Down);
    let mut items = vec![sample::others().remove(0), sample::hold()];
    screen.take(items.clone());
    let at = |item: &Item| Some(Action::Open(Place { log: 0, id: item.id.clone() }));
    assert_eq!(screen.press(&Key::Enter), at(&sample::hold()));
    items.truncate(1);
    screen.take(items.clone());
    assert_eq!(screen.press(&Key::Enter), at(&items[0]));
}
