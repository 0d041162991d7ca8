#!/usr/bin/env python3
"""Check a holdpoint against the rules of its owner's documents: check.py PROGRAM [ID]

Each .jsonl file beside this one is run on a log of its own. A line with "define" names a part of
lines, or lines; one with "setup" is given to `holdpoint apply` first; every other line is a vector:
its id, its rule, the lines "given" before, the line "when", and what is to be found. A line is a
list of parts, each laid over those before it. $ID and $NEXT stand for digits of the vector's own,
$NOW for now in nanoseconds, $USER for who runs this. What a person has to type is typed at a
terminal. With the beginning of an id, vectors that begin so are run alone, and all that is given
and answered is shown. Exit 0: all as expected; 1: not; 2: not run. Python 3.9 or newer.
"""
import contextlib, functools, hashlib, json, os, pathlib, pty, pwd, re, sys, tempfile, time
from subprocess import DEVNULL, PIPE, Popen, check_output, run

KEYS = ["decision_id", "request_id", "human_id", "decision", "reason", "escalation_target",
        "timestamp", "evidence_chain_hash"]


def laid(under, over):
    """One value laid over another, objects member by member."""
    if isinstance(under, dict) and isinstance(over, dict):
        return under | {name: laid(under.get(name), value) for name, value in over.items()}
    return over


def difference(expected, found, where):
    """Where something expected is not there; None where all of it is."""
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        expected, found = dict(enumerate(expected)), dict(enumerate(found))
    if not isinstance(expected, dict) or not isinstance(found, dict):
        return None if expected == found else f"{where}: expected {expected!r}, found {found!r}"
    pairs = ((value, found.get(name), f"{where}.{name}") for name, value in expected.items())
    return next(filter(None, (difference(*pair) for pair in pairs)), None)


def digest(fields):
    """SHA-256 over fields with NUL between them (PHASE-31, EVIDENCE HASH COMPUTATION)."""
    return hashlib.sha256("\0".join(fields).encode()).hexdigest()


def typed(command):
    """Runs a command at a terminal of its own, where the word that it asks for is typed."""
    child, terminal = pty.fork()
    child or os.execv(command[0], command)
    shown = b""
    with contextlib.suppress(OSError):  # The terminal is gone: the command has ended.
        while read := os.read(terminal, 4096):
            shown += read
            if asked := re.search(rb"type (\S+)\s+to\s+answer", shown):
                os.write(terminal, asked[1] + b"\n")
                shown = b""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check(program, file, only, faults):
    """Runs a file of vectors: adds what is not as expected, and returns how many there were."""
    holdpoint, user = [program, "--log", file.stem], pwd.getpwuid(os.geteuid()).pw_name
    lines, answered = [json.loads(line) for line in file.open()], []
    defined = {line["define"]: line["line"] for line in lines if "define" in line}
    vectors = {f"{at:031x}": line for at, line in enumerate(lines)
               if "id" in line and f"{file.stem}/{line['id']}".startswith(only)}

    def placed(value, id=""):
        text = json.dumps(value).replace('"$NOW"', str(time.time_ns())).replace("$USER", user)
        return json.loads(text.replace("$ID", "a" + id).replace("$NEXT", "b" + id))

    def line_of(parts, id=""):
        parts = (defined[part] if isinstance(part, str) else part for part in parts)
        return placed(functools.reduce(laid, parts, {}), id)

    def ask(parts, id):
        line = line_of(parts, id)
        is_due, told = line.pop("when_due", False), line["submit"]
        if told["command"] == "human_decision.answer":  # A person's, which `apply` does not take.
            words = [f"--{a}={told[b]}" for a, b in zip(("reason", "to"), KEYS[4:]) if told.get(b)]
            words = ["decision", "respond", told["request_id"], told["decision"], *words]
            return {"exit": typed([*holdpoint, *words]), "receipt": {"last_sequence": sys.maxsize}}
        time.sleep(0.02 if is_due else 0)  # What is due then had 1 ms.
        print(json.dumps(line), file=apply.stdin, flush=True)
        answer = apply.stdout.readline()
        print(*[json.dumps(line), answer] * bool(only), sep="\n", end="")
        return {"receipt": {}} if is_due else json.loads(answer)

    def show(*words):
        return check_output([*holdpoint, *words, "--json"], stderr=DEVNULL)

    for setup in (line["setup"] for line in lines if "setup" in line):
        pathlib.Path("setup").write_text(text := json.dumps(line_of(setup)))
        typed([*holdpoint, "apply", "setup"]) == 0 or sys.exit(f"not accepted: {text}")
    with Popen([*holdpoint, "apply"], stdin=PIPE, stdout=PIPE, text=True) as apply:
        for id, vector in vectors.items():
            given, answer = vector.get("given", []), {"digest": digest(vector.get("preimage", []))}
            given = [ask(it, id) for it in (defined[given] if isinstance(given, str) else given)]
            refused = [it for it in given if "receipt" not in it or it.get("exit")]
            answer = ask(vector["when"], id) if "when" in vector else answer
            answered.append((vector, id, {"given": refused} if refused else answer))
    records = [json.loads(line) for line in show("log").splitlines()]
    events = {it["sequence"]: it["event"] for it in records if "event" in it}
    rows = {row["id"]: row for row in json.loads(show("decision", "list", "state=all"))}
    for vector, id, got in answered:
        expected, own = placed(vector["expect"], id), "LOOP-a" + id
        first, last = (got.get("receipt", {}).get(f"{it}_sequence", 0) for it in ("first", "last"))
        got["records"] = {it["kind"]: it for at, it in events.items() if first <= at <= last
                          and it.get("loop_id", own) == own}
        got["row"] = rows.get(expected.get("row", {}).get("id"))
        chain = [it for it in events.values() if it.get("loop_id") == own and "self_hash" in it]
        got["evidence"], prior = chain, ""
        for place, ((point, kind, raw), it) in enumerate(zip(expected.get("evidence", []), chain)):
            hash = digest([it["record_id"], point, kind, it["timestamp"], raw, prior])
            expected["evidence"][place], prior = {"self_hash": hash, "prior_hash": prior}, hash
        if fault := difference(expected, got, "answer"):
            faults.append(f"{file.stem}/{vector['id']} ({vector['rule']}): {fault}")
    faults += [f"{file.stem}: a decision of another hash: {it}" for it in events.values()
               if "audit" in it and it["audit"]["self_hash"] != digest(
                   [it["record"][name] or "" for name in KEYS] + [it["audit"]["prior_hash"]])]
    show("verify")
    return len(answered)


if len(sys.argv) not in (2, 3) or not os.access(sys.argv[1], os.X_OK):
    sys.exit(print(__doc__) or 2)
program, only, faults = os.path.abspath(sys.argv[1]), "".join(sys.argv[2:]), []
for name in [name for name in os.environ if name.startswith("HOLDPOINT_")]:
    del os.environ[name]
files = sorted(pathlib.Path(__file__).resolve().parent.glob("*.jsonl"))
with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as at_end:
    os.environ |= {"HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_STATE_HOME": folder}
    os.chdir(folder)
    logs = [os.path.join(folder, file.stem) for file in files]  # Gone: in nobody's inbox.
    at_end.callback(run, [program, "inbox", "--remove", *logs], capture_output=True)
    count = sum(check(program, file, only, faults) for file in files
                if only.startswith(file.stem) or file.stem.startswith(only))
print(*faults, f"{count} vectors, {len(faults)} not as expected", sep="\n")
sys.exit(1 if faults or not count else 0)
