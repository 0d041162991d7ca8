//! The processes of an attempt while it ran, drawn from the snapshots that its recorder took.

use crate::ui::text::bytes;
use crate::ui::{Page, counted};
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_replay::stretches::{UsageStretch, stretches};

/// So many lines are drawn of an attempt.
const LINES: usize = 12;
/// A bar has so many columns at most, and so many at least: else there is none.
const BAR_MAX: usize = 40;
const BAR_MIN: usize = 8;
/// What stands before the cells of a line.
const NAME_COLUMNS: usize = 16;

/// How long the command had run, in words.
pub(crate) fn until(nanoseconds: u64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {} min", minutes % 60),
    }
}

/// The processes of an attempt, a line for each stretch, with a bar for its memory.
pub(crate) fn put(page: &mut Page, columns: usize, entity: &ExecutionLoop, attempt: u8) {
    let count = entity.snapshots(attempt).count() as u64;
    let drawn = stretches(entity, attempt, LINES);
    let Some(peak) = drawn.iter().map(|it| it.resident_bytes).max() else { return };
    let most = format!("{}, {} at most", counted(count, "snapshot"), bytes(peak));
    page.row("while it ran", &most);
    let cells: Vec<[String; 3]> = drawn.iter().map(cells).collect();
    let wide = |place: usize| cells.iter().filter_map(|it| it.get(place)).map(String::len).max();
    let [memory, processes, processor] = [0, 1, 2].map(|place| wide(place).unwrap_or(0));
    let taken = NAME_COLUMNS + memory + processes + processor + 6;
    let room = columns.saturating_sub(taken).min(BAR_MAX);
    for (stretch, [held, count, spent]) in drawn.iter().zip(&cells) {
        let bar = match room {
            BAR_MIN.. => bar(stretch.resident_bytes, peak, room),
            _ => String::new(),
        };
        let text = format!("{held:>memory$}  {count:<processes$}  {spent:>processor$}  {bar}");
        page.row(&format!("at {}", until(stretch.until_ns)), text.trim_end());
    }
}

/// Memory, processes and processor of a stretch.
fn cells(stretch: &UsageStretch) -> [String; 3] {
    let UsageStretch { processes, resident_bytes, processor, .. } = *stretch;
    let plural = if processes == 1 { "" } else { "es" };
    let count = format!("{processes} process{plural}");
    [bytes(resident_bytes), count, format!("{processor} % processor")]
}

/// As many columns as its part of the most; one at least of what is something.
fn bar(size: u64, most: u64, room: usize) -> String {
    let columns = u128::from(size) * room as u128 / u128::from(most.max(1));
    let least = usize::from(size > 0);
    "#".repeat(usize::try_from(columns).unwrap_or(room).clamp(least, room))
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_domain::core::time::Timestamp;
    use holdpoint_domain::evidence_capture::{EvidenceContent, ResourceSnapshot};

    const MIB: u64 = 1 << 20;

    /// A run of which these snapshots were taken: seconds, MiB and processor time in milliseconds.
    fn run(snapshots: &[(u64, u64, u64)]) -> ExecutionLoop {
        let sample = crate::golden::Sample::new();
        let mut entity = sample.whole()[0].entity.clone();
        let chain = entity.chain.as_mut().expect("its evidence");
        let like = chain.records[0].clone();
        chain.records.extend(snapshots.iter().map(|(seconds, held, cpu)| {
            let snapshot = ResourceSnapshot {
                attempt: 1,
                taken_at: Timestamp::from_nanoseconds(1),
                ran_ns: seconds * 1_000_000_000,
                processes: 1 + seconds % 3,
                resident_bytes: held * MIB,
                user_cpu_ns: cpu * 1_000_000,
                system_cpu_ns: 0,
            };
            let mut record = like.clone();
            record.content = EvidenceContent::Snapshot(snapshot);
            record
        }));
        entity
    }

    #[test]
    fn a_line_tells_memory_processes_and_processor_since_the_line_before() {
        let entity = run(&[(1, 10, 500), (2, 40, 2_500), (4, 20, 2_500)]);
        let mut page = Page::new(80);
        put(&mut page, 80, &entity, 1);
        let lines = page.lines();
        assert!(lines[0].contains("3 snapshots, 40.0 MiB at most"), "{lines:?}");
        assert!(lines[1].starts_with("at 1 s ") && lines[1].contains("10.0 MiB"), "{lines:?}");
        assert!(lines[1].contains("50 % processor"), "{lines:?}");
        assert!(lines[2].contains("200 % processor"), "{lines:?}");
        assert!(lines[3].contains("2 processes") && lines[3].contains(" 0 % "), "{lines:?}");
        let bars: Vec<usize> = lines.iter().map(|line| line.matches('#').count()).collect();
        assert!(bars[1] * 2 < bars[3] + 2 && bars[3] * 2 <= bars[2] + 1, "{lines:?}");
    }

    #[test]
    fn a_long_run_is_drawn_on_few_lines_and_on_every_width() {
        let many: Vec<(u64, u64, u64)> = (1..=1_000).map(|minute| (minute * 60, 7, 0)).collect();
        let entity = run(&many);
        for columns in crate::golden::COLUMNS {
            let mut page = Page::new(columns);
            put(&mut page, columns, &entity, 1);
            let lines = page.lines();
            assert!(lines.iter().all(|line| line.len() <= columns), "{lines:#?}");
            assert!(columns < 80 || lines.len() <= 1 + LINES, "{lines:#?}");
        }
        let last = stretches(&entity, 1, LINES).last().copied().expect("one at least");
        assert_eq!(until(last.until_ns), "16 h 40 min");
    }

    #[test]
    fn of_a_run_without_snapshots_nothing_is_drawn() {
        let mut page = Page::new(80);
        put(&mut page, 80, &run(&[]), 1);
        assert_eq!(page.lines(), Vec::<String>::new());
    }
}
