#!/usr/bin/env python3
"""Verifies a Holdpoint log, `verify.py [--json] DIR`, or the records in a page of `holdpoint export
--format html`, `verify.py FILE.html [--link SEQUENCE LINK]`, with Python's standard library alone.
Written from log-format/FORMAT.md alone: numbers in parentheses name its sections. It never writes.
Of a page it does not look at the words: `holdpoint export` makes them anew from the log.
Exit codes: 6 short of HEAD, corrupt, forbidden events, a page with something wrong, 3 nothing here,
1 unreadable, 2 usage."""
import argparse, base64, hashlib, json, os, pathlib, re, signal, stat, struct, sys, zlib
from collections import namedtuple
PAGE, CAPACITY_MAX, NO_CLAIM, READINGS, MORE_FOLLOWS, WITHHELD = 4096, 268443648, 2**32-1, 4, 1, 4
IDLE, TURN, RECOVERING, POISONED, REPORT, ARCHIVED, TAKEN = 1, 2, 3, 4, 7, 9, 13
NOTHING, INTACT, CUT, UNPROVEN = "nothing here", "intact", "short of HEAD", "intact, tail unproven"
SALVAGED, CORRUPT, FORBIDDEN = "intact, with unproven records", "corrupt", "forbidden events"
Place, Head = namedtuple("Place", "sequence link time"), namedtuple("Head", "log anchor newest end")
Header = namedtuple("Header", "log first capacity before seal_offset seed")
Item = namedtuple("Item", "kind place at length size flags claim", defaults=[None] * 6)
Finding = namedtuple("Finding", "segment offset sequence problem")
Part = namedtuple("Part", "first_sequence last_sequence standing")
def first_bad(found): return "first bad place: {}, byte {}, sequence {}: {}".format(*found)
def path_of(first): return f"segments/{first:020}.seg"
def padded(size): return (size + 7) // 8 * 8
def is_legal(size): return 64 <= size <= 64 + (64 << 20)
def number(data, at, size=8): return int.from_bytes(data[at:at + size], "little")
def genesis(log): return hashlib.sha256(b"holdpoint/g1" + log).digest()
def crc(*parts, seed=0): return zlib.crc32(b"".join(parts), seed)
def begins(data, magic, file=None):
    """What header block, HEAD and LOCK begin with in every version (27)."""
    holds = data[:8] == magic and crc(data[:12], data[16:]) == number(data, 12, 4)
    if holds and file and number(data, 8, 4) > 1:
        raise OSError(f"{file} is of log format version {number(data, 8, 4)}, this reads 1")
    return holds and number(data, 8, 4) == 1
def header_of(block, file):
    """The segment header (9), or None."""
    if len(block) < PAGE or not begins(block, b"HOLDSEG\0", file): return None
    log, first, capacity, link, time, seal = struct.unpack_from("<16sQQ32sQQ", block, 16)
    if first < 1 or first == 1 and (time or seal) or any(block[96:]): return None
    if capacity % PAGE or not 8192 <= capacity <= CAPACITY_MAX: return None
    return Header(log, first, capacity, Place(first - 1, link, time), seal, crc(log, block[32:40]))
def head_of(data, file="HEAD"):
    """HEAD (11), or None."""
    if not begins(data, b"HOLDHEAD", file) or len(data) != 152: return None
    log, *numbers = struct.unpack_from("<16sQ32sQ32s16xQ", data, 16)
    anchor, newest, end = numbers[:2], numbers[2:4], numbers[4]
    if anchor != newest and anchor[0] >= newest[0] or newest[0] == (1 << 64) - 1: return None
    return Head(log, anchor, newest, end) if anchor[0] or anchor[1] == genesis(log) else None
def owner_of(data):
    """The state that counts, boot and durable sequence in LOCK (12): every LOCK is legal."""
    good = begins(data[:64], b"HOLDLOCK") and len(data) in (64, PAGE) and not any(data[22:24])
    if not good or any(data[56:64]) or not {*data[20:22]} <= {1, 2, 3, 4}: return None, None, 0
    state, sync = data[21 if data[20] == RECOVERING else 20], data[128:192]
    holds = number(sync, 0, 4) == crc(b"HOLDSYNC", sync[4:]) and sync[16:32] == data[24:40]
    state = POISONED if holds and sync[4] == 3 and state in (IDLE, TURN) else state
    return state, data[24:40], max(number(data, 40), number(sync, 32) if holds else 0)
def this_boot(file=pathlib.Path("/proc/sys/kernel/random/boot_id")):
    """The boot's 32 digits in the order in which they are written (11); None: not known."""
    return bytes.fromhex(file.read_text().strip().replace("-", "")) if file.exists() else None
def is_locked(root):
    """Whether a writer holds LOCK now (12): asked for at once, and given back."""
    import fcntl  # Whoever checks a page may have no such module.
    if (lock := root / "LOCK").is_symlink() or not lock.is_file(): return False
    with open(os.open(lock, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        try: return bool(fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB))
        except BlockingIOError: return True
def length_of(data, at, capacity):
    """Length of the item that begins here with a legal size and fits, or 0."""
    if data[at:at + 4] == b"SEAL": return 64 if capacity - at >= 64 else 0
    size = number(data, at, 4)
    return padded(size) if is_legal(size) and at + padded(size) + 64 <= capacity else 0
def record_at(data, at, size):
    """What a record says of itself, nothing of it checked (6)."""
    flags, claim, sequence, time, link = struct.unpack_from("<BIQQ32s", data, at + 11)
    return Item("record", Place(sequence, link, time), at, padded(size), size, flags, claim)
def checksum(data, at, size, seed): return crc(data[at:at + 4], data[at + 8:at + size], seed=seed)
def fault_of(data, at, size, length, seed):
    """What is wrong with a record's frame of a legal size (6), the first fault there; or None."""
    stated, made, flags = number(data, at + 4, 4), checksum(data, at, size, seed), data[at + 11]
    if made != stated: return f"checksum: it says {stated:08x}, and the bytes give {made:08x}"
    if flags & ~(MORE_FOLLOWS | WITHHELD): return f"flags: {flags} has some that mean nothing"
    if flags & WITHHELD and size != 96:
        return f"withheld: a digest has 32 bytes, and there are {size - 64}"
    return "padding: not all of it is zero" if any(data[at + size:at + length]) else None
def item_at(data, at, header):
    """What stands at an offset, its frame checked in the order of section 6."""
    exists, tag = min(header.capacity, len(data)), data[at:at + 4]
    if exists - at < 4 or not any(tag): return Item("nothing")
    length, size = length_of(data, at, header.capacity), number(tag, 0)
    if not length or at + length > exists: return Item("fault")
    if tag == b"SEAL":
        sequence, offset, time, link = struct.unpack_from("<QQQ32s", data, at + 8)
        holds = offset == at and checksum(data, at, 64, header.seed) == number(data, at + 4, 4)
        return Item("seal" if holds else "fault", Place(sequence, link, time))
    is_bad = fault_of(data, at, size, length, header.seed)
    return Item("fault") if is_bad else record_at(data, at, size)
def mark_of(item):
    """What an item proves durable (14); None: its claim reaches before the first record (6)."""
    if item.kind != "record" or item.claim == NO_CLAIM:
        return item.place.sequence if item.kind == "seal" else 0
    return item.place.sequence - 1 - item.claim if item.claim < item.place.sequence else None
def link_of(data, item, before, header):
    """The link that a record must carry behind another link (8)."""
    at, body = item.at, data[item.at + 64:item.at + item.size]
    digest = body if item.flags & WITHHELD and len(body) == 32 else hashlib.sha256(body).digest()
    block = b"holdpoint/r1" + header.log + data[at + 8:at + 11] + bytes([item.flags & ~WITHHELD])
    return hashlib.sha256(block + digest + before + data[at + 12:at + 32]).digest()
def follows(data, item, before, header):
    """Whether a record comes next (6): sequence, link, time, claim."""
    is_next = item.place.sequence == before.sequence + 1 and item.place.time >= before.time
    is_linked = is_next and item.place.link == link_of(data, item, before.link, header)
    return is_linked and mark_of(item) is not None
class Run:
    """The longest valid run of a segment, V (20): where it ends, and why it stopped."""
    def __init__(self, data, header, visit=lambda item: None):
        self.place, self.end, self.at, self.mark = header.before, PAGE, PAGE, 0
        newest, item, ends = self.place, item_at(data, self.at, header), set()
        while item.kind == "record" and follows(data, item, newest, header):
            if (named := mark_of(item)) >= header.first and named not in ends: break  # (6)
            visit(item)
            newest, self.at, self.mark = item.place, item.at + item.length, max(self.mark, named)
            if not item.flags & MORE_FOLLOWS: self.place, self.end = newest, self.at
            item = ends.add(self.place.sequence) or item_at(data, self.at, header)
        self.newest, self.due, self.stop = newest, newest.sequence + 1, item.kind
        self.sealed = item.kind == "seal" and item.place == newest == self.place
def is_unfinished(data, run, header, end):
    """Whether a killed writer explains what lies from run.end to end (21)."""
    at, before, item = run.end, run.place, item_at(data, run.end, header)
    while item.kind == "record" and item.flags & 1 and follows(data, item, before, header):
        before, item = item.place, item_at(data, at := at + item.length, header)
    cut = (at + length_of(data, at, header.capacity) - 1) // PAGE * PAGE
    return at % PAGE == 0 if at >= end else at < cut and end <= cut
def resync(data, run, header, end):
    """The highest mark behind a hole, and whether the budget was spent (22)."""
    mark, budget = 0, 4 * header.capacity
    for at in range(run.end, end, 8):
        length = length_of(data, at, header.capacity)
        sequence = number(data, at + (8 if data[at:at + 4] == b"SEAL" else 16))
        if length and 0 < sequence - run.place.sequence <= (at + length - run.end) // 64:
            if length > budget: return mark, True
            budget, mark = budget - length, max(mark, mark_of(item_at(data, at, header)) or 0)
    return mark, False
class Payload:
    """The values of a payload, one behind the other (34); ValueError: it is to be refused."""
    def __init__(self, data): self.data, self.at = data, 0
    def raw(self, length):
        self.at += length
        if self.at > len(self.data): raise ValueError("it ends early")
        return self.data[self.at - length:self.at]
    def number(self, width=8):
        if (first := self.raw(1)[0]) < 251: return first
        wide, least = {251: (2, 251), 252: (4, 1 << 16), 253: (8, 1 << 32)}.get(first, (16, 0))
        found = number(self.raw(wide), 0, wide)
        if wide > width or found < least: raise ValueError("a number in another form")
        return found
    def text(self): return self.raw(self.number()).decode()
    def numbers(self, count): return [self.number() for _ in range(count)]
    def list(self): return range(self.variant(17, self.number()))
    def variant(self, count, found=None):
        if (found := self.number(4) if found is None else found) < count: return found
        raise ValueError("a variant that there is not")
    def option(self): return self.variant(2, self.raw(1)[0])
    def heading(self, kind):
        if self.number(2) != kind: raise ValueError("the heading of another kind")
        is_proven = self.variant(5) == 4 and [self.variant(4)]
        self.text(), is_proven and (self.number(4), self.variant(3)), self.text()
        self.option() and self.number()
        self.option() and (self.text(), self.text(), self.text(), self.raw(32))
    def body(self, kind, at):
        """What a body of these kinds states, as `stated_by` gives it."""
        if kind == REPORT:
            self.text(), self.numbers(6), [self.numbers(3) for _ in self.list()], self.number()
            [self.text() for _ in self.list()], self.number()
            return [self.numbers(1), *((at, *self.numbers(2)) for _ in self.list())]
        _, last = found = self.numbers(2)
        if kind == TAKEN: return [(at, *found, self.variant(2))[:3]]
        link = self.raw(32), self.text(), self.number(4), self.raw(32), self.raw(self.number())
        return [[last, link[0]]]
def stated_by(data, item):
    """What a record states (35): [a record that is there], [anchor, link], (by, first, last)."""
    kind, at, found = number(data, item.at + 8, 2), item.place.sequence, []
    if kind not in (REPORT, ARCHIVED, TAKEN): return []
    is_read = data[item.at + 10] == 1 + (kind == REPORT) and not item.flags & WITHHELD
    of = Payload(data[item.at + 64:item.at + item.size] if is_read else b"")
    try: found = [of.heading(kind), *of.body(kind, at)][1:]
    except ValueError: of.at = -1
    if of.at != len(of.data): found = [(at, 1, at - 1)] if kind == TAKEN else []
    def counts(low, high): return 0 < low <= high and (at < low if kind == REPORT else high < at)
    return [one for one in found if len(one) < 3 or counts(*one[1:])]
def first_byte(data, start):
    """Offset of the first byte from `start` on that is not zero, or None."""
    return len(data) - len(rest) if (rest := data[start:].lstrip(b"\0")) else None
class Survey:
    """One reading of a log (23): LOCK and HEAD, the list, the segments; findings as section 32."""
    run, tail, chain, link, records, withheld, stated, due = *[None] * 4, *[0] * 4
    def __init__(self, root, busy, asked=None):
        self.root, self.busy, self.asked, self.faults, self.headers = root, busy, asked, set(), {}
        self.findings, self.said, self.unproven = [], [], []
        self.owner = owner_of(self.read("LOCK", PAGE) or b"")
        witness = None if self.wrong("HEAD") else self.read("HEAD", PAGE)
        self.head = head_of(witness) if witness is not None else None
        self.log, self.mark = (self.head.log, self.head.newest[0]) if self.head else (None, 0)
        self.anchor = self.head.anchor if self.head else [0, b""]
        self.names, self.is_there = self.list()
        self.durable = self.owner[2] if self.owner[1] == this_boot() else 0
        if self.is_there is False and (gone := max(self.mark, self.durable)):
            self.find("segments", 0, gone, "records were durable, and there is no segment")
        self.read_headers()
        self.check_successors()
        for first, behind in zip(each := [*self.headers], [*each[1:], None]):
            self.walk(self.headers[first], behind is None)
        self.newest = self.run.place if self.run else Place(0, b"", 0)
        if self.wrong("HEAD"):
            self.find("HEAD", 0, self.newest.sequence, "it is not a regular file", "layout")
        elif not self.head and (witness is not None or self.is_there):
            self.find("HEAD", 0, self.newest.sequence, "it is missing, or does not hold")
        self.findings.sort(key=lambda finding: ("/" in finding.segment, finding))
        self.row, self.verdict = self.judge(witness is not None)
        begin, is_good = self.anchor[0] + 1, self.verdict in (INTACT, UNPROVEN)
        is_stated = begin == 1 or self.stated
        if is_good and not (is_stated and all(last < begin for *_, last in self.unproven)):
            self.verdict = SALVAGED if is_stated else FORBIDDEN
        if not is_stated: self.find(path_of(begin), PAGE, begin, "beginning_unstated: by no event")
    def find(self, file, offset, sequence, problem, *faults):
        self.faults.update(faults), self.findings.append(Finding(file, offset, sequence, problem))
    def read(self, name, most=CAPACITY_MAX):
        """A regular file, no more of it than a segment has; None: there is none."""
        if not os.path.lexists(self.root / name): return None
        if self.wrong(name): return self.find(name, 0, 0, "it is not a regular file", "layout")
        with open(os.open(self.root / name, os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return file.read(most if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else 0)
    def tells_of(self):
        """The newest record that a snapshot, an index, HEAD.tmp or LOCK tells of (32)."""
        head = head_of(not self.wrong("HEAD.tmp") and self.read("HEAD.tmp", PAGE) or b"", None)
        files = self.numbers("snapshots", "snapshot") + self.numbers("segments", "idx")
        return max(self.owner[2], head.newest[0] if head and head.log == self.log else 0, *files)
    def numbers(self, place="segments", end="seg"):
        """The sequences that files, or what stands for segments, are named by, in order (3)."""
        files = () if self.wrong(place) else self.root.glob(f"{place}/{20 * '[0-9]'}.{end}")
        is_meant = lambda file: end == "seg" or stat.S_ISREG(file.lstat().st_mode)
        return sorted(at for file in filter(is_meant, files) if (at := int(file.stem)) < 1 << 64)
    def wrong(self, *names):
        """Of these names, those that stand for something else than section 3 says."""
        right = lambda name: [stat.S_ISREG, stat.S_ISDIR][name in ("cut", "segments", "snapshots")]
        there = [name for name in names if os.path.lexists(self.root / name)]
        return [name for name in there if not right(name)((self.root / name).lstat().st_mode)]
    def list(self):
        """The segments that count (3, 11), and whether there is any; None: nobody looked (32)."""
        wrong, firsts = self.wrong("ARCHIVE", "SYNC", "cut", "segments"), self.numbers()
        for name in wrong[:1]:
            self.find(name, 0, 0, "it is not what its name says", "layout")
            return [], bool(firsts or "segments" in wrong and self.owner[0]) or None
        found = [first for first in firsts if not self.wrong(path_of(first))]
        for first in set(firsts) - set(found):
            self.find(path_of(first), 0, first, "it is not a regular file", "layout")
        begin = self.anchor[0] + 1 if self.head else None
        return found[found.index(begin) if begin in found else 0:], bool(firsts)
    def read_headers(self):
        """Header blocks (9): the good ones are of this log and follow from the anchor."""
        for name in self.names:
            header = header_of(self.read(file := path_of(name), PAGE), file)
            if header and header.first == name:
                self.headers[name], self.log = header, self.log or header.log
                if header.log != self.log: self.find(file, 0, name, "of another log", "layout")
            elif header: self.find(file, 0, name, "it says that it begins elsewhere", "layout")
            elif name == self.names[-1] > self.mark and not self.read(file).strip(b"\0"):
                self.faults.add("blank")
            else: self.bad_header(name, "its header block does not hold")
        anchor, link = self.head.anchor if self.head else (0, genesis(self.log or b""))
        header = self.headers.get(first := (self.names or [anchor + 1])[0])
        if self.head and first != anchor + 1:
            self.find(path_of(first), 0, anchor + 1, "HEAD names another first", "layout")
        elif header and first == anchor + 1 and header.before.link != link:
            self.bad_header(first, "it does not follow from the anchor")
    def bad_header(self, name, problem):
        self.find(path_of(name), 0, name, problem, "last" if name == self.names[-1] else "earlier")
    def check_successors(self):
        """Every segment but the last ends in the seal that the next header repeats (10)."""
        for name, behind in zip(self.names, self.names[1:]):
            if name not in self.headers or behind not in self.headers: continue
            data, header, after = self.read(path_of(name)), self.headers[name], self.headers[behind]
            due, seal = after.before, item_at(data, after.seal_offset, header)
            run = Run(data, header) if seal.kind != "seal" or seal.place != due else None
            if run and seal.kind == "seal" and seal.place.sequence == due.sequence:
                self.bad_header(behind, "it does not follow from the seal before it")
            elif run and run.sealed and run.due != after.first:
                self.find(path_of(behind), 0, run.due, "records before it are missing", "layout")
            elif run: self.find(path_of(name), after.seal_offset, due[0], "no seal", "earlier")
    def walk(self, header, is_last):
        """The records of a segment: its run, its length, and what lies behind (20)."""
        file, data = path_of(header.first), self.read(path_of(header.first))
        fault, withheld, stated = "shape" if is_last else "earlier", [], []
        head = self.head and self.head.newest
        is_chain = header.first == self.anchor[0] + 1 or header.before == self.chain
        def visit(item):
            self.records, self.withheld = self.records + 1, self.withheld + item.flags // WITHHELD
            if item.flags & WITHHELD: withheld.append(item)
            stated.extend((item, body) for body in stated_by(data, item))
            ends = is_chain and not item.flags & MORE_FOLLOWS
            if ends and item.place.sequence == self.asked: self.link = item.place.link
            if head and head[0] == item.place.sequence and (
                    head[1] != item.place.link or item.flags & MORE_FOLLOWS):
                self.find(file, item.at, item.place.sequence, "not what HEAD names", "rewritten")
        run = Run(data, header, visit)
        self.said += [body[1:] for _, body in stated if len(body) == 3]
        stated = [body for item, body in stated if item.at < run.end and is_chain]
        self.stated |= self.anchor in stated
        self.unproven += [body for body in stated if len(body) == 3]
        self.due = max([self.due, *(body[0] for body in stated if len(body) == 1)])
        self.chain = run.place if is_chain and run.sealed else None
        for item in filter(lambda item: item.at < run.end, withheld):
            self.find(file, item.at, item.place.sequence, "withheld, and nothing allows it")
        if (length := (self.root / file).stat().st_size) != header.capacity:
            self.find(file, min(length, header.capacity), header.first, "its length", fault)
        if run.sealed and (behind := first_byte(data, run.at + 64)):
            self.find(file, behind, run.due, "a byte behind the seal is not zero", fault)
        if not run.sealed and (not is_last or os.path.lexists(self.root / "ARCHIVE")):
            self.find(file, run.at, run.due, "no valid record or seal", fault)
        if is_last: self.judge_end(run, file, data, header)
    def judge_end(self, run, file, data, header):
        """The marks, and what lies behind the newest record: rows 7, 8, 11 and 12 (20)."""
        self.run, end, (state, boot) = run, len(data.rstrip(b"\0")), self.owner[:2]
        due, blank = run.place.sequence + 1, self.names[-1] if "blank" in self.faults else 0
        if 0 < blank < due or run.sealed and blank > due:
            self.find(path_of(blank), 0, due, "records before it are missing", "layout")
        elif blank: self.mark = max(self.mark, blank - 1)
        self.mark = max(self.mark, header.before.sequence, run.mark, run.sealed and run.due - 1)
        if not run.sealed and end > run.end and not self.busy:
            mark, spent = resync(data, run, header, end)
            self.mark, self.tail = max(self.mark, mark), [run.end, end]
            if spent: self.find(file, run.end, run.due, "the search was made to be long", "shape")
            explained = state != IDLE and is_unfinished(data, run, header, end)
            if state in (IDLE, TURN) and boot == this_boot() and not explained:
                self.faults.add("damaged")
                if self.mark <= run.place.sequence:
                    at = first_byte(data, run.end) if run.stop == "nothing" else run.at
                    self.find(file, at, run.due, "no interrupted write left this")
        if self.durable >= due: self.mark = max(self.mark, self.durable)
        if max(header.before[0], run.mark) < due and not blank: self.faults.add("whole")
        stated = 0 if os.path.lexists(self.root / "ARCHIVE") else self.due
        if run.place.sequence < max(stated, "last" not in self.faults and self.mark):
            self.find(file, run.at, run.due, "records behind it were durable")
    def judge(self, has_head):
        """The first row of the table (20) that matches, and its verdict."""
        by, ahead = self.faults, self.newest.sequence - self.mark if self.run else 0
        nothing = None if self.durable else NOTHING
        unwritten = nothing if self.head and not self.head.newest[0] else None
        rows = [(not has_head and not self.is_there, 0, nothing), ("layout" in by, 1, None),
                (not self.head and self.is_there, 2, None), (not self.is_there, 3, unwritten),
                ("last" in by, 4, None), ("earlier" in by, 5, None), ("rewritten" in by, 6, None),
                (ahead < 0, 7, None if by ^ {"whole"} or self.tail else CUT),
                ("shape" in by, 8, None), ("damaged" in by, 11, None), ("blank" in by, 4, INTACT),
                (self.run and self.run.sealed, 9, INTACT), (self.tail, 12, UNPROVEN),
                (ahead > 0, 10, UNPROVEN), (True, 10, INTACT)]
        row, verdict = next((row, verdict) for holds, row, verdict in rows if holds)
        later = verdict == INTACT and not self.busy and self.tells_of() > self.newest.sequence
        is_bad = row and self.findings[verdict == CUT:]
        return row, CORRUPT if is_bad else UNPROVEN if later else verdict or CORRUPT
def settled(root, asked=None, now=None):
    """Reads again while the log changes (23); at last, what follows the records is "not yet"."""
    for reading in range(READINGS):
        survey = Survey(root, reading + 1 == READINGS or is_locked(root), asked)
        before, now = now, (survey.findings, survey.tail)
        if survey.busy or now in (before, ([], None)): return survey
class Together:
    """A log and the archive of the records before its first one (30): what they prove together."""
    def __init__(self, log, archive):
        self.archive, found, (anchor, link) = archive, [], log.anchor
        both, (last, newest, _) = (log.verdict, archive.verdict), archive.newest
        if NOTHING not in both:
            if not os.path.lexists(archive.root / "ARCHIVE"): found.append("it has no file ARCHIVE")
            if archive.log != log.log: found.append("it is of another log")
            if anchor and (archive.link != link or archive.anchor[0] and not archive.stated
                           or archive.head and archive.head.newest[0] < anchor):
                found.append(f"it does not reach record {anchor} with the anchor's link")
            # A move that was interrupted leaves records in both.
            if last > anchor and settled(log.root, last).link != newest:
                found.append(f"its record {last} is not the log's")
        self.findings = [Finding("HEAD", 0, anchor, f"archive_differs: {what}") for what in found]
        worst = CORRUPT, CUT, NOTHING, FORBIDDEN, SALVAGED, UNPROVEN, INTACT
        self.verdict = CORRUPT if self.findings else min(both, key=worst.index)
        self.first = min(archive.anchor[0], log.anchor[0]) + 1
def tied(data, header, sequence, link, end):
    """From which record on a segment is tied to one that a witness names (33), and the withheld."""
    run = Run(data, header, (items := []).append)
    if any(item.place[:2] == (sequence, link) for item in items):
        return header.first, {item.place.sequence for item in items if item.flags & WITHHELD}
    edge, before = (run.at, run.newest.link) if run.due <= sequence else (PAGE, None)
    first, at, held = None, end, set()
    def is_due(item):
        if first is None: return item.place[:2] == (sequence, link)
        due = link_of(data, first, item.place.link, header) == first.place.link
        return due and item.place.sequence == first.place.sequence - 1
    for offset in range(end // 8 * 8 - 8, edge - 1, -8) if end <= len(data) else ():
        fits = is_legal(size := number(data, offset, 4)) and offset + padded(size) == at
        if fits and is_due(item := record_at(data, offset, size)) and item.flags in (0, 1, 4, 5):
            first, at = item, offset
            if item_at(data, offset, header).kind != "record": return item.place.sequence + 1, held
            if item.flags & WITHHELD: held.add(item.place.sequence)
    if first is None: return sequence + 1, held
    # Its content is tied where the link before it is known: before it, or of what stands between.
    links, size = [before or b"", data[edge + 32:edge + 64]], number(data, edge, 4)
    if before and is_legal(size) and edge + padded(size) == first.at:
        links.append(link_of(data, record_at(data, edge, size), before, header))
    is_known = first.place.link in (link_of(data, first, link, header) for link in links)
    return first.place.sequence + (not is_known), held
def standing(log):
    """Ranges of records, and how they stand, tied back from HEAD (33); no index is believed."""
    found, parts, mark = [], [], (*log.head.newest, log.head.end) if log.head else (0, None, 0)
    names, end = [at for at in log.names if at > log.anchor[0]], max(mark[0], log.newest.sequence)
    while names:
        holding = [name for name in names if name <= mark[0]]
        if not (header := log.headers.get(holding[-1]) if holding else None): break
        first, held = tied(log.read(path_of(header.first)), header, *mark)
        parts.append((first, mark[0], held))
        names, mark = holding[:-1], (*header.before[:2], header.seal_offset)
        if first != header.first: break
    def how(at):
        held = next((held for first, last, held in parts if first <= at <= last), None)
        if held is None or any(low <= at <= high for low, high in log.said): return "unproven"
        return "withheld" if at in held else "proven"
    begin = log.anchor[0] + 1 if log.head else (names or [1])[0]
    ranges = log.said + [part[:2] for part in parts] + [(at, at) for one in parts for at in one[2]]
    edges = {edge for first, last in ranges for edge in (first, last + 1) if begin < edge <= end}
    for first, behind in zip(edges := sorted(edges | {begin}), [*edges[1:], end + 1]):
        if found and found[-1][2] == how(first): found[-1][1] = behind - 1
        elif first < behind: found.append([first, behind - 1, how(first)])
    return found
# What every page begins with, up to the first line of its block; a `*` is any digit of Base64.
FORM, HASH = "holdpoint-report 1", b"'sha256-" + b"*" * 43 + b"='"
BEGIN = (b'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
         b'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; script-src '
         + HASH + b"; style-src " + HASH + b"; base-uri 'none'; form-action 'none'\">\n"
         b'<script type="text/plain" id="holdpoint-records">')
def short(link): return f"{link.hex()[:16]}.."
def place_of(word, line):
    """A record and its link, behind a word; None: the line is of another form."""
    match = re.fullmatch(f"{word} (0|[1-9][0-9]{{0,19}}) ([0-9a-f]{{64}})", line)
    return (int(match[1]), bytes.fromhex(match[2])) if match else None
def frame_of(line):
    """The bytes of a record; None: the line is of another form, or one that nobody writes."""
    try: frame = base64.b64decode(line[7:], validate=True)
    except ValueError: return None
    return frame if line == "record " + base64.b64encode(frame).decode() else None
def block_of(page):
    """The text of a page's block. No HTML is parsed, which has more than one reading: a page begins
    with the bytes that holdpoint writes, or is none, and then every browser reads this block."""
    for at in range(len(BEGIN)):
        found, due = page[at:at + 1], BEGIN[at:at + 1]
        if not (found.isalnum() or found in (b"+", b"/") if due == b"*" else found == due):
            found, due = page[at:at + 16], BEGIN[at:at + 16]
            raise ValueError(f"at byte {at} stands {found!r}, where every page has {due!r}")
    if (end := page.find(b"</script>", len(BEGIN))) < 0:
        raise ValueError(f"the file ends at byte {len(page)}, within the block of records")
    # One more script is on a page, its own: another one could be named as the block is. And nothing
    # is that could show another page, whose own script vouches for other records.
    metas = b' name="(?:referrer" content="no-referrer|viewport" content="width=device-width)">'
    others = re.compile(b"(?is)<(?:script.?|i?frame|object|embed|meta(?!" + metas + b"))")
    for count, found in enumerate(others.finditer(page, end)):
        if count > 0 or found[0] != b"<script>":
            raise ValueError(f"at byte {found.start()} begins {found[0]!r}, which no page has")
    return page[len(BEGIN):end].decode("ascii", errors="replace")
class PageCheck:
    """What the records in a page come to. Its line ends are taken as HTML reads them."""
    def __init__(self, file):
        self.findings, self.links, self.ends, self.log, self.header = [], {}, {}, b"", None
        self.first = self.due = self.time = self.flags = self.payloads = 0
        with open(file, "rb") as opened: page = opened.read()
        try: self.text(block_of(page.replace(b"\r\n", b"\n").replace(b"\r", b"\n")))
        except ValueError as error: self.find(0, f"form: {error}")
    def find(self, line, what, record=None):
        place = f"line {line}" if record is None else f"line {line}, record {record}"
        self.findings.append(f"{place}: {what}")
    def text(self, text):
        """The whole block: a few lines that say what it is, records, and what they end with."""
        lines = text.split("\n")
        if lines.pop() != "" or len(lines) < 6:
            return self.find(len(lines), "form: the lines do not end as they should")
        log, before = re.fullmatch("log ([0-9a-f]{32})", lines[1]), place_of("before", lines[2])
        if lines[0] != FORM or not log or not before:
            return self.find(1, f"form: these are not the first lines of {FORM}")
        self.log, (sequence, self.link) = bytes.fromhex(log[1]), before
        self.first, self.due, self.links = sequence + 1, sequence + 1, dict([before])
        if sequence == 0 and self.link != genesis(self.log):
            self.find(3, "link: not the one that every log of this identity begins with")
        for at, line in enumerate(lines[3:-3], 4): self.line(at, line)
        self.last_lines(len(lines), lines)
    def line(self, at, line):
        if match := re.fullmatch("segment ([1-9][0-9]{0,19})", line):
            return self.begin_segment(at, int(match[1]))
        if (frame := frame_of(line)) is None or self.header is None:
            return self.find(at, "form: this is no record and no segment")
        if fault := self.fault(frame): self.find(at, fault, self.due)
        # What is behind it is checked against what it says of itself.
        self.flags, self.link = 0, None
        if len(frame) >= 64:
            item = record_at(frame, 0, len(frame))
            (sequence, self.link, time), self.flags = item.place, item.flags
            if not fault or fault.startswith("sequence"): self.due, self.time = sequence, time
            if not fault:
                self.ends[sequence], self.links[sequence] = not item.flags & MORE_FOLLOWS, self.link
                self.payloads += not item.flags & WITHHELD
        self.due += 1
    def begin_segment(self, at, first):
        if first > self.due if self.header is None else first != self.due:
            self.find(at, f"segment: begins with {first} where record {self.due} is due")
        seed = crc(self.log, struct.pack("<Q", first % 2**64))
        self.header, self.ends = Header(self.log, first, 0, None, 0, seed), {}
    def fault(self, frame):
        """What is wrong with a record and its place in the chain (6, 8), the first fault there."""
        size = number(frame, 0, 4) if len(frame) >= 8 else 0
        if not is_legal(size): return f"size: it says {size}, and no record has that"
        if padded(size) != len(frame):
            return f"room: it says {size} bytes, and there are {len(frame)} with the padding"
        if found := fault_of(frame, 0, size, len(frame), self.header.seed): return found
        (sequence, stated, time), *_ = (item := record_at(frame, 0, size))[1:]
        made = stated if self.link is None else link_of(frame, item, self.link, self.header)
        if sequence != self.due: return f"sequence: it says {sequence}, and {self.due} is due"
        if made != stated: return f"link: it says {short(stated)}, and the bytes give {short(made)}"
        if time < self.time: return "time: it lies before that of the record before"
        if (mark := mark_of(item)) is None or self.ends.get(mark) is False:
            last = sequence - 1 - item.claim
            return f"claim: that records up to {last} were durable, where no batch ends"
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
        if lines[-1] != f"sum {made}": self.find(count, f"sum: the lines before give {made[:16]}..")
def told_of_page(file, kept, link):
    """What is said of a page and of the link of a record that was kept, and the exit code."""
    check, kept, link = PageCheck(file), int(kept), bytes.fromhex(link)
    if link and kept not in check.links:
        check.find(0, f"kept: record {kept} is not on this page, or not whole")
    elif link and link != check.links[kept]:
        check.find(0, f"kept: no match: record {kept} has another link than was kept")
    if check.findings: return [*check.findings, f"{len(check.findings)} wrong"], 6
    last, digests = check.due - 1, len(check.links) - 1 - check.payloads
    lines = [f"records {check.first} to {last} of log {check.log.hex()} follow from each other",
             f"{check.payloads} with their payloads, {digests} by their digests alone",
             f"record {last} has the link {check.link.hex()}",
             "of the words on the page nothing was checked: read them beside the log"]
    if not link: return [*lines, "nothing on the page proves that link: compare it with the log, "
                                 "or with what was kept"], 0
    match = f"match: record {kept} has the link that was kept"
    behind = f"it proves none behind it: compare the link of record {last} as well"
    return [*lines, match, *[behind] * (kept < last)], 0
def told(log):
    """What is said of a log, for programs and for people."""
    newest = log.run.place if log.run else Place(*log.anchor, 0)
    found = {key: getattr(log, key) for key in ("verdict", "row", "records", "withheld", "mark")}
    found |= {"head": {"sequence": newest.sequence, "link": newest.link.hex()},
              "findings": [finding._asdict() for finding in log.findings]}
    return found, [log.verdict, f"record {newest.sequence}, link {newest.link.hex()}",
                   *map(first_bad, log.findings[:1])]
def main():
    if hasattr(signal, "SIGPIPE"): signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    add = (parser := argparse.ArgumentParser(description="Verifies a log or a page.")).add_argument
    add("--json", action="store_true", help="write one JSON object, of a log")
    add("--archive", type=pathlib.Path, metavar="DIR", help="verify a log with its archive as well")
    add("--standing", action="store_true", help="tell which records of a log are tied to HEAD")
    add("--link", nargs=2, metavar=("SEQUENCE", "LINK"), help="kept elsewhere of a page's record")
    add("PATH", type=pathlib.Path, help="the log's directory, or the file of a page")
    arguments = parser.parse_args()
    kept, path = arguments.link, arguments.PATH
    is_page = not os.path.isdir(path) and (kept or os.path.exists(path))
    if arguments.json or arguments.archive or arguments.standing if is_page else kept:
        parser.error("--link is for a page, and the other options are for a log")
    if kept and not re.fullmatch("[0-9]{1,20} [0-9a-f]{64}", " ".join(kept)):
        parser.error("--link takes the number of a record and the 64 digits of its link")
    places = [place for place in (path, arguments.archive) if place]
    if len({place.resolve() for place in places}) < len(places):
        parser.error("the archive is the log itself, which proves nothing of the records before it")
    try:
        if is_page:
            lines, code = told_of_page(path, *kept or ("0", ""))
            sys.exit(print("\n".join(lines)) or code)
        for place in filter(os.path.lexists, places):
            if not stat.S_ISDIR(place.lstat().st_mode): raise OSError(f"{place} is no directory")
        log = settled(path)
        both = Together(log, settled(places[1], log.anchor[0])) if arguments.archive else None
        ranges = standing(log) if arguments.standing else []
    except OSError as error: sys.exit(f"verify.py: {error}")
    verdict, (found, lines) = both.verdict if both else log.verdict, told(log)
    found |= {"standing": [Part(*part)._asdict() for part in ranges]} if arguments.standing else {}
    lines += ["records {} to {}: {}".format(*part) for part in ranges]
    if both:
        of_archive, of_lines = told(both.archive)
        found = {"verdict": verdict, "first_sequence": both.first, "archive": of_archive,
                 "log": found, "findings": [finding._asdict() for finding in both.findings]}
        lines = ["archive:", *of_lines, "log:", *lines, *map(first_bad, both.findings[:1]),
                 f"together: {verdict}, from record {both.first} on"]
    print(json.dumps(found) if arguments.json else "\n".join(lines))
    sys.exit({NOTHING: 3, CUT: 6, CORRUPT: 6, FORBIDDEN: 6}.get(verdict, 0))
if __name__ == "__main__": main()
