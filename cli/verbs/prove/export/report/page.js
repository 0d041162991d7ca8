"use strict";
// Checks the records that this page carries, as log-format/FORMAT.md has them: sizes, padding,
// checksums, sequences, links and digests of payloads. It does not look at the words on the page.
(() => {
  const FORM = "holdpoint-report 1", MORE_FOLLOWS = 1, WITHHELD = 4, NO_CLAIM = 0xffffffffn;
  const encoder = new TextEncoder();
  const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
    let rest = byte;
    for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
    return rest;
  });

  const crc = (bytes, before) => {
    let rest = ~before;
    for (const byte of bytes) rest = TABLE[(rest ^ byte) & 255] ^ (rest >>> 8);
    return ~rest >>> 0;
  };
  const sha256 = async bytes => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const join = (...parts) => Uint8Array.from(parts.flatMap(part => [...part]));
  const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
  const unhex = text => Uint8Array.from(text.match(/../g), pair => parseInt(pair, 16));
  const short = link => `${hex(link).slice(0, 16)}..`;
  const same = (one, other) => Boolean(one && other) && hex(one) === hex(other);
  const wide = value => {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, BigInt.asUintN(64, value), true);
    return bytes;
  };

  const placeOf = (word, line) => {
    const match = new RegExp(`^${word} (0|[1-9][0-9]{0,19}) ([0-9a-f]{64})$`).exec(line);
    return match && { sequence: BigInt(match[1]), link: unhex(match[2]) };
  };
  const frameOf = line => {
    if (!line.startsWith("record ")) return null;
    try {
      const text = atob(line.slice(7));
      if (btoa(text) !== line.slice(7)) return null;
      return Uint8Array.from(text, character => character.charCodeAt(0));
    } catch {
      return null;
    }
  };

  class Check {
    findings = [];
    links = new Map();
    ends = new Map();
    segment = null;
    time = 0n;
    flags = 0;
    payloads = 0;

    find(line, what, record) {
      const place = record === undefined ? `line ${line}` : `line ${line}, record ${record}`;
      this.findings.push(`${place}: ${what}`);
    }

    async text(text, tell) {
      const lines = text.split("\n");
      if (lines.pop() !== "" || lines.length < 6) {
        return this.find(lines.length, "form: the lines do not end as they should");
      }
      const log = /^log ([0-9a-f]{32})$/.exec(lines[1]), before = placeOf("before", lines[2]);
      if (lines[0] !== FORM || !log || !before) {
        return this.find(1, `form: these are not the first lines of ${FORM}`);
      }
      this.log = unhex(log[1]);
      this.link = before.link;
      this.due = this.first = before.sequence + 1n;
      const genesis = await sha256(join(encoder.encode("holdpoint/g1"), this.log));
      if (before.sequence === 0n && !same(this.link, genesis)) {
        this.find(3, "link: not the one that every log of this identity begins with");
      }
      for (let at = 3; at < lines.length - 3; at += 1) {
        await this.line(at + 1, lines[at]);
        if (at % 1000 === 0) await tell(at, lines.length);
      }
      await this.lastLines(lines.length, lines);
    }

    async line(number, line) {
      const segment = /^segment ([1-9][0-9]{0,19})$/.exec(line);
      if (segment) return this.beginSegment(number, BigInt(segment[1]));
      const frame = frameOf(line);
      if (frame === null || this.segment === null) {
        return this.find(number, "form: this is no record and no segment");
      }
      const due = this.due, view = new DataView(frame.buffer);
      const fault = this.frame(frame, view) ?? (await this.place(frame, view));
      if (fault) this.find(number, fault, due);
      this.goOn(frame, view, fault);
    }

    beginSegment(number, first) {
      const isNext = this.segment === null ? first <= this.due : first === this.due;
      if (!isNext) {
        this.find(number, `segment: begins with ${first} where record ${this.due} is due`);
      }
      this.segment = first;
      this.ends.clear();
      this.seed = crc(join(this.log, wide(first)), 0);
    }

    frame(frame, view) {
      const [size, stated] =
        frame.length >= 8 ? [view.getUint32(0, true), view.getUint32(4, true)] : [0, 0];
      if (size < 64 || size > 64 + 67108864) {
        return `size: it says ${size}, and no record has that`;
      }
      if (Math.ceil(size / 8) * 8 !== frame.length) {
        return `room: it says ${size} bytes, and there are ${frame.length} with the padding`;
      }
      const made = crc(frame.subarray(8, size), crc(frame.subarray(0, 4), this.seed));
      if (made !== stated) {
        const [says, give] = [stated, made].map(it => it.toString(16).padStart(8, "0"));
        return `checksum: it says ${says}, and the bytes give ${give}`;
      }
      if (frame[11] & ~(MORE_FOLLOWS | WITHHELD)) {
        return `flags: ${frame[11]} has some that mean nothing`;
      }
      if (frame[11] & WITHHELD && size !== 96) {
        return `withheld: a digest has 32 bytes, and there are ${size - 64}`;
      }
      if (frame.subarray(size).some(byte => byte !== 0)) return "padding: not all of it is zero";
      return null;
    }

    async place(frame, view) {
      const sequence = view.getBigUint64(16, true), stated = frame.subarray(32, 64);
      if (sequence !== this.due) return `sequence: it says ${sequence}, and ${this.due} is due`;
      const payload = frame.subarray(64, view.getUint32(0, true));
      const digest = frame[11] & WITHHELD ? payload : await sha256(payload);
      if (this.link) {
        const flags = [frame[11] & ~WITHHELD], tag = encoder.encode("holdpoint/r1");
        const block = join(tag, this.log, frame.subarray(8, 11), flags, digest);
        const made = await sha256(join(block, this.link, frame.subarray(12, 32)));
        if (!same(made, stated)) {
          return `link: it says ${short(stated)}, and the bytes give ${short(made)}`;
        }
      }
      if (view.getBigUint64(24, true) < this.time) {
        return "time: it lies before that of the record before";
      }
      const unsynced = BigInt(view.getUint32(12, true)), claimed = sequence - 1n - unsynced;
      if (unsynced !== NO_CLAIM && (claimed < 0n || this.ends.get(claimed) === false)) {
        return `claim: that records up to ${claimed} were durable, where no batch ends`;
      }
      return null;
    }

    goOn(frame, view, fault) {
      this.flags = 0;
      this.link = null;
      if (frame.length >= 64) {
        this.flags = frame[11];
        this.link = frame.subarray(32, 64);
        if (fault === null || fault.startsWith("sequence")) {
          this.due = view.getBigUint64(16, true);
          this.time = view.getBigUint64(24, true);
        }
        if (fault === null) {
          this.ends.set(this.due, !(frame[11] & MORE_FOLLOWS));
          this.links.set(this.due, this.link);
          if (!(frame[11] & WITHHELD)) this.payloads += 1;
        }
      }
      this.due += 1n;
    }

    async lastLines(count, lines) {
      const [endLine, headLine, sumLine] = lines.slice(-3);
      const end = placeOf("end", endLine), head = placeOf("head", headLine);
      if (this.flags & MORE_FOLLOWS) {
        this.find(count - 3, "batch: the last record is not the last one of its batch");
      }
      if (!lines.some(line => line.startsWith("record "))) {
        this.find(count - 2, "end: no record stands before it, and none is proved");
      }
      if (!end || end.sequence !== this.due - 1n || !same(end.link, this.link)) {
        this.find(count - 2, "end: the records do not end with what this line names");
      }
      if (!head && headLine !== "head none") {
        this.find(count - 1, "form: this names no head");
      } else if (
        head && this.first <= head.sequence && head.sequence < this.due
        && !same(this.links.get(head.sequence), head.link)
      ) {
        this.find(count - 1,
          `head: record ${head.sequence} has another link than this line says`);
      }
      const before = lines.slice(0, -1).map(line => `${line}\n`).join("");
      const made = hex(await sha256(encoder.encode(before)));
      if (sumLine !== `sum ${made}`) {
        this.find(count, `sum: the lines before give ${made.slice(0, 16)}..`);
      }
    }
  }

  // An image or a form takes any name of the document's for itself: its methods come from elsewhere.
  const page = (method, ...given) => Document.prototype[method].apply(document, given);
  const box = page("getElementById", "check"), list = page("getElementById", "check-findings");
  const say = (state, sentence) => {
    box.className = state;
    box.textContent = sentence;
  };
  const tell = async (at, count) => {
    say("waiting", `Checking the records: ${at} of ${count} lines.`);
    await new Promise(resolve => setTimeout(resolve, 0));
  };

  // Programs that read HTML disagree on where a comment or a script ends: neither stands before the
  // block, where verify.py demands every byte.
  const isInPlace = block => {
    const hidden = NodeFilter.SHOW_COMMENT | NodeFilter.SHOW_PROCESSING_INSTRUCTION;
    const first = page("createNodeIterator", document, hidden).nextNode();
    const policy = 'meta[http-equiv="Content-Security-Policy"]';
    return block.matches(`head > meta[charset="utf-8"] + ${policy} + script`)
      && !(first?.compareDocumentPosition(block) & Node.DOCUMENT_POSITION_FOLLOWING);
  };

  // What shows another page within this one, the script of which vouches for nothing either.
  const FRAMES = "iframe, frame, frameset, object, embed, [srcdoc]";

  const run = async () => {
    if (window !== window.top) {
      return say("failed", "Nothing was checked: another page shows this one, and may be the one "
        + "that verify.py checks. Open the file of this page by itself.");
    }
    if (!globalThis.crypto?.subtle) {
      return say("failed", "Nothing was checked: this browser computes no SHA-256 for this page. "
        + "verify.py does.");
    }
    const blocks = page("querySelectorAll", 'script[id="holdpoint-records"]');
    const check = new Check();
    if (page("querySelectorAll", FRAMES).length > 0) {
      check.find(0, "form: the page has room for another page, which no page has");
    } else if (blocks.length !== 1) {
      check.find(0, `form: the page has ${blocks.length} blocks of records instead of one`);
    } else if (isInPlace(blocks[0])) {
      await check.text(blocks[0].textContent, tell);
    } else {
      check.find(0, "form: the block of records is not where every page has it");
    }
    for (const finding of check.findings) {
      const item = page("createElement", "li");
      item.textContent = finding;
      list.append(item);
    }
    if (check.findings.length > 0) {
      const count = check.findings.length, wrong = count === 1 ? "place" : "places";
      return say("failed", `Damaged: ${count} ${wrong} in the records of this page, named below. `
        + "Believe none of it: have the report made again from the log.");
    }
    const count = check.links.size, last = check.due - 1n;
    say("passed", `Records ${check.first} to ${last} on this page follow from each other: `
      + `${check.payloads} with their payloads, ${count - check.payloads} by their digests alone. `
      + "Nothing was checked of the words, and a page that was made up can say this too: only a "
      + "check from outside counts.");
  };
  const start = () => run().catch(error => say("failed", `Nothing was checked: ${error}`));
  // What stands behind this script is a part of the page as well.
  addEventListener("DOMContentLoaded", start);
})();
