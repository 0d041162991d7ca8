#!/usr/bin/env python3
"""Checks the records in a page of `holdpoint export --format html`: `verify.py FILE.html [--link SEQUENCE LINK]`.

Written from log-format/FORMAT.md alone, with Python's standard library; numbers in parentheses name
its sections. It looks at the bytes that the page carries: sizes, padding, checksums, sequences,
links and digests of payloads. It does not look at the words on the page: `holdpoint export --format html` makes
them anew from the log. `--link` is what somebody kept elsewhere: the link of a record of the page;
whether it matches is said.
Exit codes: 0 nothing is wrong, 6 something is, 1 the file cannot be read, 2 usage."""
import argparse, base64, hashlib, re, string, struct, sys, zlib

FORM = "holdpoint-report 1"
MORE_FOLLOWS, WITHHELD, NO_CLAIM = 1, 4, 2**32 - 1
SIZE_MIN, SIZE_MAX = 64, 64 + 67108864
# What every page begins with, up to the first line of its block; a `*` is any digit of Base64.
DIGITS = (string.ascii_letters + string.digits + "+/").encode()
HASH = b"'sha256-" + b"*" * 43 + b"='"
BEGIN = (
    b'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    b'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; script-src '
    + HASH + b"; style-src " + HASH + b"; base-uri 'none'; form-action 'none'\">\n"
    b'<script type="text/plain" id="holdpoint-records">'
)


class Check:
    """What the lines of the block come to."""

    def __init__(self):
        self.findings, self.links, self.before = [], {}, None
        self.log, self.seed, self.segment = b"", 0, None
        self.due, self.link, self.time, self.flags = 0, None, 0, 0
        self.ends, self.first, self.payloads = {}, 0, 0

    def find(self, line, what, record=None):
        place = f"line {line}" if record is None else f"line {line}, record {record}"
        self.findings.append(f"{place}: {what}")

    def text(self, text):
        """The whole block: a few lines that say what it is, records, and what they end with."""
        lines = text.split("\n")
        if lines.pop() != "" or len(lines) < 6:
            return self.find(len(lines), "form: the lines do not end as they should")
        log = re.fullmatch("log ([0-9a-f]{32})", lines[1])
        before = place_of("before", lines[2])
        if lines[0] != FORM or not log or not before:
            return self.find(1, f"form: these are not the first lines of {FORM}")
        self.log, self.before, (sequence, self.link) = bytes.fromhex(log[1]), before, before
        self.due = self.first = sequence + 1
        genesis = hashlib.sha256(b"holdpoint/g1" + self.log).digest()
        if sequence == 0 and self.link != genesis:
            self.find(3, "link: not the one that every log of this identity begins with")
        for number, line in enumerate(lines[3:-3], 4):
            self.line(number, line)
        self.last_lines(len(lines), lines)

    def line(self, number, line):
        if match := re.fullmatch("segment ([1-9][0-9]{0,19})", line):
            return self.begin_segment(number, int(match[1]))
        frame = frame_of(line)
        if frame is None or self.segment is None:
            return self.find(number, "form: this is no record and no segment")
        due = self.due
        fault = self.frame(frame) or self.place(frame)
        if fault:
            self.find(number, fault, due)
        self.go_on(frame, fault)

    def begin_segment(self, number, first):
        is_next = first <= self.due if self.segment is None else first == self.due
        if not is_next:
            self.find(number, f"segment: begins with {first} where record {self.due} is due")
        self.segment, self.ends = first, {}
        self.seed = zlib.crc32(self.log + struct.pack("<Q", first % 2**64))

    def frame(self, frame):
        """What is wrong with a frame (6), the first fault in the order given there."""
        size, stated = struct.unpack_from("<II", frame) if len(frame) >= 8 else (0, 0)
        if not SIZE_MIN <= size <= SIZE_MAX:
            return f"size: it says {size}, and no record has that"
        if (size + 7) // 8 * 8 != len(frame):
            return f"room: it says {size} bytes, and there are {len(frame)} with the padding"
        made = zlib.crc32(frame[8:size], zlib.crc32(frame[:4], self.seed))
        if made != stated:
            return f"checksum: it says {stated:08x}, and the bytes give {made:08x}"
        if frame[11] & ~(MORE_FOLLOWS | WITHHELD):
            return f"flags: {frame[11]} has some that mean nothing"
        if frame[11] & WITHHELD and size != 96:
            return f"withheld: a digest has 32 bytes, and there are {size - 64}"
        if any(frame[size:]):
            return "padding: not all of it is zero"

    def place(self, frame):
        """What is wrong with its place in the chain (6, 8)."""
        size, (unsynced, sequence, time) = number(frame, 0), struct.unpack_from("<IQQ", frame, 12)
        payload, stated = frame[64:size], frame[32:64]
        if sequence != self.due:
            return f"sequence: it says {sequence}, and {self.due} is due"
        digest = payload if frame[11] & WITHHELD else hashlib.sha256(payload).digest()
        block = b"holdpoint/r1" + self.log + frame[8:11] + bytes([frame[11] & ~WITHHELD]) + digest
        made = hashlib.sha256(block + (self.link or b"") + frame[12:32]).digest()
        if self.link is not None and made != stated:
            return f"link: it says {short(stated)}, and the bytes give {short(made)}"
        if time < self.time:
            return "time: it lies before that of the record before"
        claimed = sequence - 1 - unsynced
        if unsynced != NO_CLAIM and (claimed < 0 or self.ends.get(claimed) is False):
            return f"claim: that records up to {claimed} were durable, where no batch ends"

    def go_on(self, frame, fault):
        """What is behind it is checked against what it says of itself."""
        self.flags, self.link = 0, None
        if len(frame) < 64:
            self.due += 1
            return
        sequence, time = struct.unpack_from("<QQ", frame, 16)
        self.flags, self.link = frame[11], frame[32:64]
        if fault is None or fault.startswith("sequence"):
            self.due, self.time = sequence, time
        if fault is None:
            self.ends[sequence] = not frame[11] & MORE_FOLLOWS
            self.links[sequence] = self.link
            self.payloads += not frame[11] & WITHHELD
        self.due += 1

    def last_lines(self, count, lines):
        end, head = place_of("end", lines[-3]), place_of("head", lines[-2])
        if self.flags & MORE_FOLLOWS:
            self.find(count - 3, "batch: the last record is not the last one of its batch")
        if not any(line.startswith("record ") for line in lines):
            self.find(count - 2, "end: no record stands before it, and none is proved")
        if end != (self.due - 1, self.link):
            self.find(count - 2, "end: the records do not end with what this line names")
        if not head and lines[-2] != "head none":
            self.find(count - 1, "form: this names no head")
        elif head and self.first <= head[0] < self.due and self.links.get(head[0]) != head[1]:
            self.find(count - 1, f"head: record {head[0]} has another link than this line says")
        made = hashlib.sha256("".join(f"{line}\n" for line in lines[:-1]).encode()).hexdigest()
        if lines[-1] != f"sum {made}":
            self.find(count, f"sum: the lines before give {made[:16]}..")

    def kept(self, sequence, link):
        """A link that somebody kept elsewhere."""
        known = dict([self.before]) | self.links if self.before else {}
        if sequence not in known:
            self.find(0, f"kept: record {sequence} is not on this page, or not whole")
        elif link != known[sequence]:
            self.find(0, f"kept: no match: record {sequence} has another link than was kept")


def number(data, at):
    return struct.unpack_from("<I", data, at)[0]


def short(link):
    return f"{link.hex()[:16]}.."


def place_of(word, line):
    """A record and its link, behind a word; None: the line is of another form."""
    match = re.fullmatch(f"{word} (0|[1-9][0-9]{{0,19}}) ([0-9a-f]{{64}})", line)
    return (int(match[1]), bytes.fromhex(match[2])) if match else None


def frame_of(line):
    """The bytes of a record; None: the line is of another form, or one that nobody writes."""
    if not line.startswith("record "):
        return None
    try:
        frame = base64.b64decode(line[7:], validate=True)
    except ValueError:
        # No Base64, or not even ASCII.
        return None
    return frame if base64.b64encode(frame).decode() == line[7:] else None


def bytes_of(page):
    """The bytes of a file, with its line ends as HTML reads them."""
    with open(page, "rb") as file:
        return file.read().replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def block_of(page):
    """The text of a page's block. No HTML is parsed, which has more than one reading: a page begins
    with the bytes that holdpoint writes, or is none, and then every browser reads this block."""
    for at, due in enumerate(BEGIN):
        if at == len(page) or page[at] not in (DIGITS if due == ord("*") else [due]):
            found, due = page[at:at + 16], BEGIN[at:at + 16]
            raise ValueError(f"at byte {at} stands {found!r}, where every page has {due!r}")
    end = page.find(b"</script>", len(BEGIN))
    if end < 0:
        raise ValueError(f"the file ends at byte {len(page)}, within the block of records")
    # One more script is on a page, its own: another one could be named as the block is. And nothing
    # is that could show another page, whose own script vouches for other records.
    metas = b' name="(?:referrer" content="no-referrer|viewport" content="width=device-width)">'
    others = re.compile(b"(?is)<(?:script.?|i?frame|object|embed|meta(?!" + metas + b"))")
    for number, found in enumerate(others.finditer(page, end)):
        if number > 0 or found[0] != b"<script>":
            raise ValueError(f"at byte {found.start()} begins {found[0]!r}, which no page has")
    return page[len(BEGIN):end].decode("ascii", errors="replace")


def checked(page):
    """The check of a page's bytes."""
    check = Check()
    try:
        check.text(block_of(page))
    except ValueError as error:
        check.find(0, f"form: {error}")
    return check


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", metavar="FILE.html")
    parser.add_argument("--link", nargs=2, metavar=("SEQUENCE", "LINK"), help="kept elsewhere")
    given = parser.parse_args()
    try:
        check = checked(bytes_of(given.page))
    except OSError as error:
        print(f"{given.page}: {error}", file=sys.stderr)
        return 1
    if given.link:
        sequence, link = given.link
        if not re.fullmatch("[0-9]{1,20}", sequence) or not re.fullmatch("[0-9a-f]{64}", link):
            parser.error("--link takes the number of a record and the 64 digits of its link")
        check.kept(int(sequence), bytes.fromhex(link))
    for finding in check.findings:
        print(finding)
    if check.findings:
        print(f"{len(check.findings)} wrong")
        return 6
    last, count = check.due - 1, len(check.links)
    print(f"records {check.first} to {last} of log {check.log.hex()} follow from each other")
    print(f"{check.payloads} with their payloads, {count - check.payloads} by their digests alone")
    print(f"record {last} has the link {check.link.hex()}")
    print("of the words on the page nothing was checked: read them beside the log")
    if given.link:
        print(f"match: record {int(given.link[0])} has the link that was kept")
    else:
        print("nothing on the page proves that link: "
              "compare it with the log, or with what was kept")
    if given.link and int(given.link[0]) < last:
        print(f"it proves none behind it: compare the link of record {last} as well")
    return 0


if __name__ == "__main__":
    sys.exit(main())
