//! What the exit status says, in the words of `docs/exit-codes.md`: a test holds both together.

use clap_mangen::roff::{Roff, bold, roman};

/// Of every verb but `run` and `hook`.
const EVERY_VERB: [(&str, &str); 7] = [
    ("0", "success; the output is complete"),
    ("1", "the disk or this program failed"),
    ("2", "not understood: see `--help`"),
    ("3", "not found, or no log there, or not all of what was asked for was kept"),
    ("4", "a conflict: another answer, a held lock, an ambiguous name, or an existing output file"),
    ("5", "refused by a rule"),
    ("6", "the log does not verify"),
];

/// Of `decision wait`, beside those.
const WAITS: [(&str, &str); 8] = [
    ("10", "still open when the wait timed out"),
    ("11", "expired, and the default was taken: it does not reject, and no approval was asked for"),
    ("12", "expired, and nothing was decided"),
    ("13", "cancelled, revoked, or the run ended before an answer"),
    ("14", "superseded by another decision"),
    ("15", "guidance was given; the next round is in the JSON"),
    (
        "16",
        "no: ABORT, or an option that rejects, chosen or taken as the default; or approval was \
         asked for and the answer or default does not approve; or something waits for it \
         (`--blocks`) and the answer does not let it go on",
    ),
    ("17", "RETRY"),
];

/// Of `run`, which otherwise passes the status of its command on.
const RUN: [(&str, &str); 10] = [
    ("120", "a person's ABORT or denial"),
    ("121", "nobody answered"),
    ("122", "left waiting"),
    ("123", "terminated by Phase-21 under a hold behind the command, although the status was 0"),
    ("124", "timed out"),
    (
        "125",
        "Holdpoint itself failed or may not start it, or its configuration or a policy cannot be \
        believed",
    ),
    ("126", "cannot be executed"),
    ("127", "not found"),
    ("130", "Ctrl-C"),
    ("139", "128 + n: killed by signal n"),
];

/// Of `hook`, whose host acts on 2 alone.
const HOOKS: [(&str, &str); 3] = [
    ("0", "the answer is on stdout"),
    ("1", "`post-tool-use`: the outcome of the call could not be recorded"),
    ("2", "`pre-tool-use`: the call is denied; every hook: its options cannot be read"),
];

/// A configuration that was named, before anything is done with it.
const CONFIGURATION: &str = "A configuration that is named and missing is 3. Of what may ask, an \
    unreadable one is 1 and an invalid one 2; `run` exits with 125 for all of these, and `doctor` \
    with 1 for an invalid one.";

/// The section of the manual.
pub(super) fn write(roff: &mut Roff) {
    roff.control("SH", ["EXIT STATUS"]);
    table(roff, &EVERY_VERB);
    paragraph(roff, CONFIGURATION);
    paragraph(roff, "`decision wait` also ends with");
    table(roff, &WAITS);
    paragraph(roff, "`run` passes the status of its command on, and otherwise ends with");
    table(roff, &RUN);
    paragraph(roff, "`hook` ends with");
    table(roff, &HOOKS);
}

fn table(roff: &mut Roff, rows: &[(&str, &str)]) {
    for (code, meaning) in rows {
        roff.control("TP", []);
        roff.text([bold(*code)]);
        roff.text([roman(*meaning)]);
    }
}

fn paragraph(roff: &mut Roff, text: &str) {
    roff.control("PP", []);
    roff.text([roman(text)]);
}
