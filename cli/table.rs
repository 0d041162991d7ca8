//! Rows in columns that fit a width: display columns are counted, not bytes, and what does not fit
//! is left away column by column, the least important first.

use crate::screen::{cut, width};

/// Between two columns.
const GAP: usize = 2;
/// A column that is cut to fit is no narrower than this.
const CUT_MIN: usize = 12;

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// What stands above it.
    pub(crate) title: &'static str,
    /// The higher, the longer it stays where there is little room.
    pub(crate) weight: u8,
    /// Whether its cells are cut where there is little room, and take what is left.
    pub(crate) is_cut: bool,
    /// Whether its cells stand at its right.
    pub(crate) is_number: bool,
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
        let wanted: Vec<Option<usize>> =
            (0..columns.len()).map(|at| says(at).then(|| widest(columns, &rows, at))).collect();
        let layout = Layout { columns, widths: fitted(columns, &wanted, room) };
        match layout.widths.iter().position(Option::is_some) {
            Some(shown) if shown > first => first = shown,
            _ => {
                let lines = rows.iter().map(|row| layout.line(row));
                return std::iter::once(layout.titles()).chain(lines).collect();
            }
        }
    }
}

fn widest(columns: &[Column], rows: &[Vec<String>], at: usize) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell));
    let title = columns.get(at).map_or(0, |column| width(column.title));
    cells.max().unwrap_or(0).max(title)
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
        let mut wanted: Vec<Option<usize>> =
            (0..columns.len()).map(|at| Some(widest(columns, rows, at))).collect();
        // What is cut takes what is left.
        if let Some(at) = columns.iter().position(|column| column.is_cut)
            && let Some(width) = wanted.get_mut(at)
        {
            *width = Some(room);
        }
        Self { columns, widths: fitted(columns, &wanted, room) }
    }

    /// The line above the rows.
    pub(crate) fn titles(&self) -> String {
        let titles: Vec<String> = self.columns.iter().map(|it| it.title.to_string()).collect();
        self.line(&titles)
    }

    /// A row; a cell for which there is no room is cut.
    pub(crate) fn line(&self, row: &[String]) -> String {
        line(self.columns, row, &self.widths)
    }
}

/// How wide each column is; `None` where it is left away.
fn fitted(columns: &[Column], wanted: &[Option<usize>], room: usize) -> Vec<Option<usize>> {
    let mut widths = wanted.to_vec();
    loop {
        let shown = widths.iter().flatten().count();
        let gaps = shown.saturating_sub(1).saturating_mul(GAP);
        let taken: usize = widths.iter().flatten().sum::<usize>().saturating_add(gaps);
        let over = taken.saturating_sub(room);
        if over == 0 || shown <= 1 {
            return widths;
        }
        let cut = (0..widths.len()).find_map(|at| {
            let width = widths.get(at).copied().flatten()?;
            let is_cut = columns.get(at).is_some_and(|column| column.is_cut);
            let left = width.checked_sub(over).filter(|left| *left >= CUT_MIN.min(width))?;
            is_cut.then_some((at, left))
        });
        if let Some((at, left)) = cut {
            if let Some(width) = widths.get_mut(at) {
                *width = Some(left);
            }
            return widths;
        }
        let shown = columns.iter().enumerate().zip(&widths).filter(|(_, width)| width.is_some());
        let least = shown.min_by_key(|((_, column), _)| column.weight).map(|((at, _), _)| at);
        if let Some(width) = least.and_then(|at| widths.get_mut(at)) {
            *width = None;
        }
    }
}

fn line(columns: &[Column], row: &[String], widths: &[Option<usize>]) -> String {
    let shown = columns.iter().zip(row).zip(widths);
    let cells = shown.filter_map(|((column, cell), room)| {
        let room = (*room)?;
        let cell = cut(cell, room);
        let blank = " ".repeat(room.saturating_sub(width(&cell)));
        Some(if column.is_number { format!("{blank}{cell}") } else { format!("{cell}{blank}") })
    });
    cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [
        Column { title: "when", weight: 3, is_cut: false, is_number: false },
        Column { title: "took", weight: 1, is_cut: false, is_number: true },
        Column { title: "command", weight: 2, is_cut: true, is_number: false },
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
    fn no_line_is_wider_than_the_room_whatever_is_written() {
        let rows = [vec!["\u{6587}\u{5b57}".repeat(9), "x".repeat(40), "\u{6587}".repeat(50)]];
        for room in 20..120 {
            for line in lines(&COLUMNS, &rows, room) {
                assert!(width(&line) <= room.max(36), "{room}: {line}");
            }
        }
    }
}
