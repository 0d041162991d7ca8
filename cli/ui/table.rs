//! Rows in columns that fit a width: display columns are counted, not bytes, and what does not fit
//! is left away column by column, the least important first.

use crate::ui::screen::{cut, width};
use crate::ui::short_id::{short_id, told_apart};
use std::collections::{BTreeMap, BTreeSet};

/// Between two columns.
const GAP: usize = 2;
/// How narrow names and what is cut get at first, and names at last.
const NARROW: usize = 20;
const NAME_MIN: usize = 8;
/// In so many steps columns are narrowed where there is little room, before one is left away.
const STEPS: usize = 6;

/// What becomes of the cells of a column where there is little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// They stay whole.
    Whole,
    /// They are cut, to so many columns at least, and take what is left.
    Rest(usize),
    /// Names: a long one is cut, and a question mark behind it stays.
    Name,
    /// Times: the first unit of them is told.
    Time,
    /// Ids: fewer digits of them are shown, as many as tell each from the others.
    Id,
}

impl Fit {
    /// How narrow such a column gets in a step, if it is narrowed there.
    const fn least(self, step: usize, short: usize) -> Option<usize> {
        match (step, self) {
            (0, Self::Name) | (1, Self::Rest(_)) => Some(NARROW),
            (2, Self::Time) | (4, Self::Id) => Some(short),
            (3, Self::Name) => Some(NAME_MIN),
            (5, Self::Rest(least)) => Some(least),
            _ => None,
        }
    }
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// What stands above it.
    pub(crate) title: &'static str,
    /// The higher, the longer it stays where there is little room.
    pub(crate) weight: u8,
    /// What becomes of its cells before that.
    pub(crate) fit: Fit,
    /// Whether its cells stand at its right.
    pub(crate) is_number: bool,
}

/// A column whose cells stand at its left.
pub(crate) const fn column(title: &'static str, weight: u8, fit: Fit) -> Column {
    Column { title, weight, fit, is_number: false }
}

/// A column whose cells stand at its right.
pub(crate) const fn number(title: &'static str, weight: u8, fit: Fit) -> Column {
    Column { title, weight, fit, is_number: true }
}

/// What stands in a cell of which there is nothing to tell.
pub(crate) const NOTHING: &str = "-";

/// The rows of a table, its titles first. Cells hold what can be seen, and no line ends. A column
/// in which there is nothing to tell is left away.
pub(crate) fn lines(columns: &[Column], rows: &[Vec<String>], room: usize) -> Vec<String> {
    indented(columns, rows, &[], room)
}

/// The same, with so many columns before the first cell that is shown of each row.
pub(crate) fn indented(
    columns: &[Column],
    rows: &[Vec<String>],
    indents: &[usize],
    room: usize,
) -> Vec<String> {
    let says = |at: usize| rows.iter().filter_map(|row| row.get(at)).any(|cell| cell != NOTHING);
    let mut first = (0..columns.len()).find(|at| says(*at)).unwrap_or(0);
    loop {
        let mut rows = rows.to_vec();
        for (row, indent) in rows.iter_mut().zip(indents) {
            let cell = row.get_mut(first);
            cell.into_iter().for_each(|cell| cell.insert_str(0, &" ".repeat(*indent)));
        }
        let wanted: Vec<Option<Widths>> =
            (0..columns.len()).map(|at| says(at).then(|| Widths::of(columns, &rows, at))).collect();
        let layout = Layout { columns, widths: fitted(columns, &wanted, room) };
        match layout.widths.iter().position(Option::is_some) {
            Some(shown) if shown > first => first = shown,
            _ => {
                return std::iter::once(layout.titles()).chain(layout.lines(rows)).collect();
            }
        }
    }
}

/// How wide a column is.
#[derive(Clone, Copy)]
struct Widths {
    /// With its cells as they are.
    whole: usize,
    /// With those shortened that can be.
    short: usize,
    /// With ids of few digits, also where those tell them apart from no other.
    least: usize,
}

impl Widths {
    fn of(columns: &[Column], rows: &[Vec<String>], at: usize) -> Self {
        let Some(column) = columns.get(at) else { return Self::of_all(0) };
        let apart = apart(columns, rows, at);
        let cells = || rows.iter().filter_map(|row| row.get(at));
        let widest = |widths: &mut dyn Iterator<Item = usize>| {
            widths.max().unwrap_or(0).max(width(column.title))
        };
        Self {
            whole: widest(&mut cells().map(|cell| width(cell))),
            short: widest(&mut cells().map(|cell| width(&shortened(column.fit, cell, &apart)))),
            least: widest(&mut cells().map(|cell| width(&shortest(column.fit, cell)))),
        }
    }

    /// Of what cannot be shortened.
    const fn of_all(width: usize) -> Self {
        Self { whole: width, short: width, least: width }
    }
}

/// Columns that stay as wide as they are, for rows that are not known yet.
pub(crate) struct Layout<'c> {
    columns: &'c [Column],
    /// `None`: it is left away.
    widths: Vec<Option<usize>>,
}

impl<'c> Layout<'c> {
    /// With room for these rows, of which none is shown.
    pub(crate) fn with_room_for(columns: &'c [Column], rows: &[Vec<String>], room: usize) -> Self {
        let wanted = columns.iter().enumerate().map(|(at, column)| match column.fit {
            Fit::Rest(_) => Some(Widths::of_all(room)),
            _ => Some(Widths::of(columns, rows, at)),
        });
        let wanted: Vec<Option<Widths>> = wanted.collect();
        Self { columns, widths: fitted(columns, &wanted, room) }
    }

    /// The line above the rows.
    pub(crate) fn titles(&self) -> String {
        let titles: Vec<String> = self.columns.iter().map(|it| it.title.to_string()).collect();
        self.line(&titles)
    }

    /// Some rows; where there is room for it, what is cut is told apart.
    pub(crate) fn lines(&self, mut rows: Vec<Vec<String>>) -> Vec<String> {
        self.keep_apart(&mut rows);
        rows.iter().map(|row| self.line(row)).collect()
    }

    /// A row; a cell for which there is no room is cut.
    fn line(&self, row: &[String]) -> String {
        line(self.columns, row, &self.widths)
    }

    /// Shortens what would be cut alike so that it is told apart: of ids more digits stay, and of
    /// names the ends.
    fn keep_apart(&self, rows: &mut [Vec<String>]) {
        self.keep_names_apart(rows);
        let ids = self.columns.iter().zip(&self.widths).enumerate();
        let ids = ids.filter(|(_, (column, _))| column.fit == Fit::Id);
        for (at, room) in ids.filter_map(|(at, (_, room))| Some((at, (*room)?))) {
            let apart = apart(self.columns, rows, at);
            let cells = rows.iter_mut().filter_map(|row| row.get_mut(at));
            for cell in cells.filter(|cell| width(cell) > room) {
                let told_apart = shortened(Fit::Id, cell, &apart);
                let fits = width(&told_apart) <= room;
                *cell = if fits { told_apart } else { shortest(Fit::Id, cell) };
            }
        }
    }

    fn keep_names_apart(&self, rows: &mut [Vec<String>]) {
        let names = self.columns.iter().zip(&self.widths).enumerate();
        let names = names.filter(|(_, (column, _))| column.fit == Fit::Name);
        for (at, room) in names.filter_map(|(at, (_, room))| Some((at, (*room)?))) {
            let cells = rows.iter().filter_map(|row| row.get(at));
            let long: BTreeSet<&String> = cells.filter(|cell| width(cell) > room).collect();
            let mut cut_so: BTreeMap<String, usize> = BTreeMap::new();
            for name in long {
                let count = cut_so.entry(cut_name(name, room)).or_default();
                *count = count.saturating_add(1);
            }
            for cell in rows.iter_mut().filter_map(|row| row.get_mut(at)) {
                let is_like_another = |cut| cut_so.get(&cut).is_some_and(|count| *count > 1);
                if width(cell) > room && is_like_another(cut_name(cell, room)) {
                    *cell = cut_in_middle(cell, room);
                }
            }
        }
    }
}

/// How wide each column is; `None` where it is left away.
fn fitted(columns: &[Column], wanted: &[Option<Widths>], room: usize) -> Vec<Option<usize>> {
    let mut wanted = wanted.to_vec();
    loop {
        let widths = narrowed(columns, &wanted, room);
        let shown = widths.iter().flatten().count();
        if over(&widths, room) == 0 {
            return widths;
        }
        let all = columns.iter().zip(&mut wanted).filter(|(_, wanted)| wanted.is_some());
        match all.min_by_key(|(column, _)| column.weight) {
            // An id that is like another one is more than none.
            Some((Column { fit: Fit::Id, .. }, Some(id))) if id.least < id.short => {
                *id = Widths::of_all(id.least);
            }
            Some((_, wanted)) if shown > 1 => *wanted = None,
            _ => return widths,
        }
    }
}

/// By how much columns are too wide together.
fn over(widths: &[Option<usize>], room: usize) -> usize {
    let gaps = widths.iter().flatten().count().saturating_sub(1).saturating_mul(GAP);
    let taken: usize = widths.iter().flatten().sum::<usize>().saturating_add(gaps);
    taken.saturating_sub(room)
}

/// Columns that are narrowed, step by step, until they fit or none can be narrowed any more.
fn narrowed(columns: &[Column], wanted: &[Option<Widths>], room: usize) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = wanted.iter().map(|it| it.map(|it| it.whole)).collect();
    // What matters least is narrowed first, and widened last.
    let mut by_weight: Vec<_> = columns.iter().zip(wanted).enumerate().collect();
    by_weight.sort_by_key(|(_, (column, _))| column.weight);
    for step in 0..STEPS {
        for (at, (column, wanted)) in by_weight.iter().copied() {
            let over = over(&widths, room);
            let least = wanted.and_then(|wanted| column.fit.least(step, wanted.short));
            let (Some(least), Some(width)) = (least, widths.get_mut(at).and_then(Option::as_mut))
            else {
                continue;
            };
            let narrow = match column.fit {
                Fit::Time | Fit::Id if over > 0 => 0,
                _ => width.saturating_sub(over),
            };
            *width = narrow.max(least.max(self::width(column.title)).min(*width));
        }
    }
    // What a step left over is for what was cut.
    let gaps = widths.iter().flatten().count().saturating_sub(1).saturating_mul(GAP);
    let taken: usize = widths.iter().flatten().sum::<usize>().saturating_add(gaps);
    let mut left = room.saturating_sub(taken);
    for (at, (column, wanted)) in by_weight.into_iter().rev() {
        let width = widths.get_mut(at).and_then(Option::as_mut);
        if let (Fit::Rest(_), Some(width), Some(wanted)) = (column.fit, width, wanted) {
            let more = left.min(wanted.whole.saturating_sub(*width));
            *width = width.saturating_add(more);
            left = left.saturating_sub(more);
        }
    }
    widths
}

/// Of each id in a column of ids, how many characters tell it from the others there.
fn apart(columns: &[Column], rows: &[Vec<String>], at: usize) -> BTreeMap<String, usize> {
    let is_of_ids = columns.get(at).is_some_and(|column| column.fit == Fit::Id);
    let cells = rows.iter().filter(|_| is_of_ids).filter_map(|row| row.get(at));
    told_apart(cells.map(|cell| id_and_mark(cell.trim_start()).0))
}

/// An id, and what stands behind it.
fn id_and_mark(text: &str) -> (&str, &str) {
    text.split_at(text.find(' ').unwrap_or(text.len()))
}

/// A time or an id without what can be left away; another cell as it is. What other ids there are
/// says how much of one stays.
fn shortened(fit: Fit, cell: &str, apart: &BTreeMap<String, usize>) -> String {
    let text = cell.trim_start();
    let indent = cell.strip_suffix(text).unwrap_or_default();
    let short = match fit {
        Fit::Time => {
            let words = if text.starts_with("in ") { 3 } else { 2 };
            text.split(' ').take(words).collect::<Vec<_>>().join(" ")
        }
        Fit::Id => {
            let (id, mark) = id_and_mark(text);
            let characters = apart.get(id).copied().unwrap_or_else(|| short_id(id));
            format!("{}{mark}", id.chars().take(characters).collect::<String>())
        }
        Fit::Whole | Fit::Rest(_) | Fit::Name => text.to_string(),
    };
    format!("{indent}{short}")
}

/// The same, whatever others there are.
fn shortest(fit: Fit, cell: &str) -> String {
    shortened(fit, cell, &BTreeMap::new())
}

/// A cell in so many columns.
fn fitting(fit: Fit, cell: &str, room: usize) -> String {
    match fit {
        _ if width(cell) <= room => cell.to_string(),
        Fit::Name => cut_name(cell, room),
        _ => cut(&shortest(fit, cell), room),
    }
}

/// The beginning of a name, and the question mark behind one that nothing proves. Of several names
/// it stays where it stands behind one of them.
fn cut_name(name: &str, room: usize) -> String {
    let mark = if name.contains('?') { "?" } else { "" };
    let name = name.strip_suffix('?').unwrap_or(name);
    format!("{}{mark}", cut(name, room.saturating_sub(mark.len())))
}

/// The beginning and the end of a name.
fn cut_in_middle(name: &str, room: usize) -> String {
    let most = (room / 2).saturating_sub(1);
    let (mut end, mut used) = (0, 0_usize);
    for (at, character) in name.char_indices().rev() {
        used = used.saturating_add(width(character.encode_utf8(&mut [0; 4])));
        if used > most {
            break;
        }
        end = at;
    }
    let end = if end == 0 { "" } else { name.get(end..).unwrap_or_default() };
    format!("{}{end}", cut(name, room.saturating_sub(width(end))))
}

fn line(columns: &[Column], row: &[String], widths: &[Option<usize>]) -> String {
    let shown = columns.iter().zip(row).zip(widths);
    let (mut line, mut end) = (String::new(), 0_usize);
    for ((column, cell), room) in shown {
        let Some(room) = *room else { continue };
        let cell = fitting(column.fit, cell, room);
        let blank = room.saturating_sub(width(&cell));
        let (before, behind) = if column.is_number { (blank, 0) } else { (0, blank) };
        // No blanks stand behind the last cell, however wide its column is.
        line.push_str(&" ".repeat(end.saturating_add(before)));
        line.push_str(&cell);
        end = behind.saturating_add(GAP);
    }
    line.trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [
        column("when", 3, Fit::Whole),
        number("took", 1, Fit::Whole),
        column("command", 2, Fit::Rest(12)),
    ];

    fn table(room: usize) -> Vec<String> {
        let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
        let rows =
            [row(["now", "1 s", "make deploy all of it"]), row(["5 min ago", "12 ms", "ls"])];
        lines(&COLUMNS, &rows, room)
    }

    #[test]
    fn columns_are_as_wide_as_they_need_where_there_is_room() {
        assert_eq!(
            table(80),
            [
                "when        took  command",
                "now          1 s  make deploy all of it",
                "5 min ago  12 ms  ls"
            ]
        );
    }

    #[test]
    fn what_can_be_cut_is_cut_before_a_column_goes() {
        assert_eq!(table(30).get(1).unwrap(), "now          1 s  make deplo..");
        assert_eq!(table(24).get(1).unwrap(), "now        make deploy..");
        assert_eq!(table(9).get(2).unwrap(), "5 min ago");
    }

    #[test]
    fn what_stands_under_another_row_is_indented_also_where_its_first_cell_is_left_away() {
        let rows = ["now", "later"].map(|when| [when, "1 s", "make"].map(String::from).to_vec());
        let shown = |room| indented(&COLUMNS, &rows, &[0, 2], room);
        assert_eq!(
            shown(80),
            ["when     took  command", "now       1 s  make", "  later   1 s  make"]
        );
        let columns = [Column { weight: 0, ..COLUMNS[0] }, COLUMNS[2]];
        let rows = rows.map(|row| vec![row[0].clone(), row[2].clone()]);
        assert_eq!(indented(&columns, &rows, &[0, 2], 8), ["command", "make", "  make"]);
    }

    #[test]
    fn times_are_told_shorter_before_a_command_is_cut_to_its_beginning_or_an_id_goes() {
        let short = shortest;
        assert_eq!(short(Fit::Time, "  59 min ago"), "  59 min");
        assert_eq!(short(Fit::Time, "59 min 59 s"), "59 min");
        assert_eq!(short(Fit::Time, "in 5 min"), "in 5 min");
        assert_eq!(short(Fit::Time, "now"), "now");
        assert_eq!(short(Fit::Id, "LOOP-0123456789 again?"), "LOOP-012345 again?");
        assert_eq!(short(Fit::Id, "session:14"), "session:14");
    }

    #[test]
    fn ids_that_begin_alike_keep_the_digits_that_tell_them_apart() {
        let columns = [column("run", 2, Fit::Id), column("command", 1, Fit::Rest(9))];
        let shown = |ids: &[&str], room| -> Vec<String> {
            let rows = ids.iter().map(|id| vec![(*id).to_string(), "make all of it".to_string()]);
            let lines = lines(&columns, &rows.collect::<Vec<_>>(), room).into_iter().skip(1);
            lines.map(|line| line.split("  make").next().unwrap().trim().to_string()).collect()
        };
        let ids = ["LOOP-012345a789", "LOOP-012345a7b9", "LOOP-0123450000", "LOOP-f000000000"];
        assert_eq!(shown(&ids, 80), ids);
        let apart = ["LOOP-012345a78", "LOOP-012345a7b", "LOOP-0123450", "LOOP-f00000"];
        for room in [14, 25, 30] {
            assert_eq!(shown(&ids, room), apart, "{room}");
        }
        let again = ["LOOP-012345a789 again?", "LOOP-012345a7b9 again?"];
        assert_eq!(shown(&again, 34), ["LOOP-012345a78 again?", "LOOP-012345a7b again?"]);
        // Where there is no room for that, an id is there all the same.
        assert_eq!(shown(&ids, 11)[0], "LOOP-012345");
    }

    #[test]
    fn rows_that_are_followed_by_others_are_told_apart_as_those_of_a_list_are() {
        let columns = [column("by", 3, Fit::Name), column("run", 2, Fit::Id)];
        let row = |name: &str, id: &str| vec![name.to_string(), id.to_string()];
        let room_for = [row("agent-name:1", "LOOP-0123456789")];
        let layout = Layout::with_room_for(&columns, &room_for, 40);
        let ids = ["LOOP-012345a789aaaa", "LOOP-012345a7b9aaaa"];
        let rows = ids.map(|id| row("deployments-of-blue", id));
        let shown = layout.lines(rows.to_vec());
        let due = ["deployment..  LOOP-012345a78", "deployment..  LOOP-012345a7b"];
        assert_eq!(shown.iter().map(|line| line.trim_end()).collect::<Vec<_>>(), due);
    }

    #[test]
    fn a_name_that_is_cut_keeps_its_mark_and_its_columns() {
        assert_eq!(cut_name("deployments-of-all?", 12), "deploymen..?");
        assert_eq!(cut_name("ada?, deployments-of-all", 12), "ada?, dep..?");
        assert_eq!(cut_in_middle("deployments-of-blue?", 12), "deplo..blue?");
        for room in 4..20 {
            let name = "\u{6587}\u{5b57}\u{5316}\u{3051}".repeat(5);
            assert!(width(&cut_name(&name, room)) <= room, "{room}");
            assert!(width(&cut_in_middle(&name, room)) <= room, "{room}");
        }
    }

    #[test]
    fn no_line_is_wider_than_the_room_whatever_is_written() {
        let rows = [vec!["\u{6587}\u{5b57}".repeat(9), "x".repeat(40), "\u{6587}".repeat(50)]];
        for room in 20..120 {
            for line in lines(&COLUMNS, &rows, room) {
                assert!(width(&line) <= room.max(36), "{room}: {line}");
            }
        }
    }
}
