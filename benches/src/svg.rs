//! Pictures of curves: one value by the length of a log, on a logarithmic axis. Readable on a light
//! and on a dark page.

use std::fmt::Write as _;

/// One line of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is.
    pub name: String,
    /// Length of the log, above 0, and the value there, not below 0.
    pub points: Vec<(f64, f64)>,
}

/// A picture of several lines.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What a reader sees above it.
    pub title: String,
    /// How a value is written.
    pub shown: fn(f64) -> String,
    /// The lines.
    pub series: Vec<Series>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
/// What the axes leave free: left, right, above, below.
const MARGINS: [f64; 4] = [84.0, 20.0, 64.0, 44.0];
/// Lines across, the axis included.
const STEPS: u32 = 4;
/// Readable on white and on black.
const COLORS: [&str; 4] = ["#2f7ed8", "#d9541e", "#2a9d5c", "#9b59b6"];
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-size:15px}\
.grid{stroke:#8c959f;stroke-opacity:.4}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}}";

impl Curve {
    /// As an SVG document.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut out = String::new();
        // Writing to a text does not fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             role=\"img\">\n<title>{0}</title>\n<style>{STYLE}</style>\n\
             <text class=\"title\" x=\"12\" y=\"22\">{0}</text>",
            escaped(&self.title)
        )?;
        let area = Area::of(&self.series);
        self.write_grid(out, &area)?;
        for (index, (series, color)) in self.series.iter().zip(COLORS.iter().cycle()).enumerate() {
            self.write_series(out, &area, series, color, index)?;
        }
        writeln!(out, "</svg>")
    }

    /// A line for every step of the value, and a mark for every power of ten.
    fn write_grid(&self, out: &mut String, area: &Area) -> std::fmt::Result {
        let [left, right, ..] = MARGINS;
        for step in 0..=STEPS {
            let value = area.most * f64::from(step) / f64::from(STEPS);
            let y = area.y(value);
            writeln!(
                out,
                "<line class=\"grid\" x1=\"{left}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - right,
                left - 8.0,
                y + 4.0,
                escaped(&(self.shown)(value))
            )?;
        }
        for power in area.least_power..=area.most_power {
            let x = area.x(10_f64.powi(power));
            writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - 18.0,
                count(10_f64.powi(power))
            )?;
        }
        Ok(())
    }

    fn write_series(
        &self,
        out: &mut String,
        area: &Area,
        series: &Series,
        color: &str,
        index: usize,
    ) -> std::fmt::Result {
        let x = MARGINS[0] + 150.0 * index as f64;
        writeln!(
            out,
            "<rect x=\"{x}\" y=\"36\" width=\"12\" height=\"12\" fill=\"{color}\"/>\
             <text x=\"{}\" y=\"46\">{}</text>",
            x + 18.0,
            escaped(&series.name)
        )?;
        let place = |(records, value): &(f64, f64)| (area.x(*records), area.y(*value));
        let path: Vec<String> =
            series.points.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>",
            path.join(" ")
        )?;
        for point in &series.points {
            let (x, y) = place(point);
            writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{color}\"><title>{} at {}\
                 </title></circle>",
                escaped(&(self.shown)(point.1)),
                count(point.0)
            )?;
        }
        Ok(())
    }
}

/// Where values lie in the picture.
struct Area {
    least_power: i32,
    most_power: i32,
    most: f64,
}

impl Area {
    fn of(series: &[Series]) -> Self {
        let points = || series.iter().flat_map(|series| &series.points);
        let powers = || points().map(|(records, _)| records.max(1.0).log10());
        let least = powers().fold(f64::INFINITY, f64::min);
        let most = powers().fold(f64::NEG_INFINITY, f64::max);
        let least_power = if least.is_finite() { least.floor() as i32 } else { 0 };
        let most_power = if most.is_finite() { most.ceil() as i32 } else { 1 };
        let top = points().map(|(_, value)| *value).fold(0.0, f64::max);
        Self {
            least_power,
            most_power: most_power.max(least_power + 1),
            most: if top > 0.0 { top * 1.15 } else { 1.0 },
        }
    }

    fn x(&self, records: f64) -> f64 {
        let [left, right, ..] = MARGINS;
        let span = f64::from(self.most_power - self.least_power);
        let at = (records.max(1.0).log10() - f64::from(self.least_power)) / span;
        left + at * (WIDTH - left - right)
    }

    fn y(&self, value: f64) -> f64 {
        let [.., above, below] = MARGINS;
        HEIGHT - below - value / self.most * (HEIGHT - above - below)
    }
}

/// `10k`, `1M`.
#[must_use]
pub fn count(records: f64) -> String {
    match records {
        ..1e3 => format!("{records:.0}"),
        ..1e6 => format!("{:.0}k", records / 1e3),
        _ => format!("{:.0}M", records / 1e6),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(series: Vec<Series>) -> String {
        let shown = |value: f64| format!("{value:.1} <ms>");
        Curve { title: "A & B".to_string(), shown, series }.svg()
    }

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.to_string(), points: points.to_vec() }
    }

    /// Every element that begins ends, in the order in which they began.
    fn assert_well_formed(document: &str) {
        let mut open = Vec::new();
        for tag in document.split('<').skip(1) {
            let (tag, text) = tag.split_once('>').expect("a tag ends");
            assert!(!text.contains('>') && tag.matches('"').count() % 2 == 0, "{tag}");
            let name = tag.split([' ', '/']).next().expect("a name");
            match (tag.strip_prefix('/'), tag.ends_with('/')) {
                (Some(ended), _) => assert_eq!(open.pop(), Some(ended)),
                (None, true) => {}
                (None, false) => open.push(name),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn a_picture_is_well_formed_and_shows_every_point() {
        let points = [(1e4, 1.0), (1e5, 1.5), (1e6, 0.0), (3e7, 2.0)];
        let document = curve(vec![series("ours", &points), series("theirs", &points[..2])]);
        assert_well_formed(&document);
        assert_eq!(document.matches("<circle").count(), 6);
        assert_eq!(document.matches("<polyline").count(), 2);
        assert!(document.contains("A &amp; B") && document.contains("&lt;ms&gt;"));
        assert!(document.contains("prefers-color-scheme:dark"));
    }

    #[test]
    fn a_picture_of_nothing_and_of_one_point_is_well_formed() {
        for document in [curve(Vec::new()), curve(vec![series("one", &[(1e4, 0.0)])])] {
            assert_well_formed(&document);
            assert!(!document.contains("NaN") && !document.contains("inf"), "{document}");
        }
    }

    #[test]
    fn numbers_of_records_are_short() {
        assert_eq!([1e2, 1e4, 1e5, 3e7].map(count), ["100", "10k", "100k", "30M"]);
    }
}
