#!/usr/bin/env python3
"""Check a holdpoint against the rules of its owner's documents: check.py PROGRAM [ID]

Each .jsonl file beside this one is run on a log of its own. A line with "define" names a part of
lines, or lines; one with "setup" is given to `holdpoint apply` first; every other line is a vector:
its id, its rule, the lines "given" before, the line "when", and what is to be found. A line is a
list of parts, each laid over those before it. $ID and $NEXT stand for digits of the vector's own,
$NOW for now in nanoseconds, $USER for who runs this. What a person has to type is typed at a
terminal. With the beginning of an id, vectors that begin so are run alone, and all that is given and
answered is shown. Exit 0: all as expected; 1: not; 2: not run. Python 3.9 or newer.
"""
import functools, hashlib, json, os, pathlib, pty, pwd, re, subprocess, sys, tempfile, time

ANSWER = {"decision": "decision", "reason": "reason", "target": "escalation_target"}
DECISION = ["decision_id", "request_id", "human_id", *ANSWER.values(), "timestamp",
            "evidence_chain_hash"]


def laid(under, over):
    """One value laid over another, objects member by member."""
    if isinstance(under, dict) and isinstance(over, dict):
        return under | {name: laid(under.get(name), value) for name, value in over.items()}
    return over


def difference(expected, found, where):
    """Where something expected is not there; None where all of it is."""
    if isinstance(expected, dict) and isinstance(found, dict):
        pairs = [(value, found.get(name), name) for name, value in expected.items()]
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = [(*pair, place) for place, pair in enumerate(zip(expected, found))]
    else:
        return None if expected == found else f"{where}: expected {expected!r}, found {found!r}"
    return next(filter(None, (difference(a, b, f"{where}.{name}") for a, b, name in pairs)), None)


def digest(fields):
    """SHA-256 over fields with NUL between them (PHASE-31, EVIDENCE HASH COMPUTATION)."""
    return hashlib.sha256("\0".join(fields).encode()).hexdigest()


def typed(command):
    """Runs a command at a terminal of its own, where the word that it asks for is typed."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(command[0], command)
    shown = b""
    try:
        while read := os.read(terminal, 4096):
            shown += read
            if asked := re.search(rb"type (\S+)\s+to\s+answer", shown):
                os.write(terminal, asked[1] + b"\n")
                shown = b""
    except OSError:
        pass  # The terminal is gone: the command has ended.
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check(program, file, only):
    """Runs a file of vectors: what is not as expected, and how many there were."""
    holdpoint, user = [program, "--log", file.stem], pwd.getpwuid(os.geteuid()).pw_name
    defined, vectors, answered, faults = {}, [], [], []

    def line_of(parts, names):
        parts = [defined[part] if isinstance(part, str) else part for part in parts]
        line = dict(functools.reduce(laid, parts, {}))
        is_due, text = line.pop("when_due", False), placed(json.dumps(line), names)
        return text.replace('"$NOW"', str(time.time_ns())) + "\n", is_due

    def placed(text, names):
        return functools.reduce(lambda text, name: text.replace(name, names[name]), names, text)

    def ask(parts, names):
        line, is_due = line_of(parts, names)
        if '"human_decision.answer"' in line:  # A person's: no line of `apply` is taken for it.
            told = json.loads(line)["submit"]
            words = [f"--{word}={told[name]}" for word, name in ANSWER.items() if told.get(name)]
            status = typed([*holdpoint, "hold", "answer", told["request_id"], *words])
            return {"exit": status, "receipt": {"last_sequence": sys.maxsize}}
        time.sleep(0.02 if is_due else 0)  # What is due then had 1 ms.
        apply.stdin.write(line)
        apply.stdin.flush()
        answer = apply.stdout.readline()
        if only:
            print(line, answer, sep="", end="")
        return {"receipt": {}} if is_due else json.loads(answer)

    def show(*words):
        command = [*holdpoint, *words, "--json"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    for line in map(json.loads, file.open()):
        if "define" in line:
            defined[line["define"]] = line["line"]
        elif "setup" in line:
            pathlib.Path("setup").write_text(line_of(line["setup"], {"$USER": user})[0])
            if typed([*holdpoint, "apply", "setup"]) != 0:
                sys.exit(f"not accepted: {pathlib.Path('setup').read_text()}")
        else:
            vectors.append(line)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*holdpoint, "apply"], **pipes) as apply:
        for number, vector in enumerate(vectors, 1):
            names = {"$ID": f"a{number:031x}", "$NEXT": f"b{number:031x}", "$USER": user}
            if not f"{file.stem}/{vector['id']}".startswith(only):
                continue
            given, answer = vector.get("given", []), {"digest": digest(vector.get("preimage", []))}
            given = defined[given] if isinstance(given, str) else given
            given = [ask(parts, names) for parts in given]
            answer = ask(vector["when"], names) if "when" in vector else answer
            refused = [it for it in given if "receipt" not in it or it.get("exit")]
            answered.append((vector, names, {"given": refused} if refused else answer))
    shown = map(json.loads, show("log", "show").splitlines())
    events = {line["sequence"]: line["event"] for line in shown if "event" in line}
    rows = {row["id"]: row for row in json.loads(show("decision", "list", "--state", "all"))}
    for vector, names, answer in answered:
        expected = json.loads(placed(json.dumps(vector["expect"]), names))
        own, receipt = f"LOOP-{names['$ID']}", answer.get("receipt", {})
        first, last = receipt.get("first_sequence", 0), receipt.get("last_sequence", 0)
        answer["records"] = {it["kind"]: it for at, it in events.items() if first <= at <= last
                             and it.get("loop_id", own) == own}
        answer["row"] = rows.get(expected.get("row", {}).get("id"))
        if "evidence" in expected:
            chain = [it for it in events.values() if it.get("loop_id") == own and "self_hash" in it]
            answer["evidence"], prior = chain, ""
            for place, ((point, kind, raw), it) in enumerate(zip(expected["evidence"], chain)):
                fields = [it["record_id"], point, kind, it["timestamp"], raw, prior]
                hashes = {"self_hash": digest(fields), "prior_hash": prior}
                expected["evidence"][place], prior = hashes, hashes["self_hash"]
        if fault := difference(expected, answer, "answer"):
            faults.append(f"{file.stem}/{vector['id']} ({vector['rule']}): {fault}")
    for event in (it for it in events.values() if "audit" in it):
        fields = [event["record"][name] or "" for name in DECISION]
        if digest([*fields, event["audit"]["prior_hash"]]) != event["audit"]["self_hash"]:
            faults.append(f"{file.stem}: a decision of another hash: {event}")
    show("verify")
    return faults, len(answered)


def main():
    if len(sys.argv) not in (2, 3) or not os.access(sys.argv[1], os.X_OK):
        print(__doc__)
        sys.exit(2)
    program, only, count, faults = os.path.abspath(sys.argv[1]), "".join(sys.argv[2:]), 0, []
    for name in [name for name in os.environ if name.startswith("HOLDPOINT_")]:
        del os.environ[name]
    files = sorted(pathlib.Path(__file__).resolve().parent.glob("*.jsonl"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_STATE_HOME": folder}
        os.chdir(folder)
        try:
            for file in files:
                if only.startswith(file.stem) or file.stem.startswith(only):
                    found, run = check(program, file, only)
                    faults, count = faults + found, count + run
        finally:  # What is gone is in nobody's inbox.
            logs = [os.path.join(folder, file.stem) for file in files]
            subprocess.run([program, "inbox", "remove", *logs], capture_output=True)
    print(*faults, f"{count} vectors, {len(faults)} not as expected", sep="\n")
    sys.exit(1 if faults or not count else 0)


main()
