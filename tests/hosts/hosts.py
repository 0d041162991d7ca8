#!/usr/bin/env python3
"""Real agent hosts with the settings that docs/agents.md prints, against a model on loopback.

    hosts.py --program HOLDPOINT --hosts DIR [--host NAME..] [--case NAME..] [--timeout S] [--keep]

A host is DIR/NAME/node_modules/.bin/PROGRAM, as `npm install --prefix DIR/NAME PACKAGE` puts it there; one that is not
there is skipped and said to be. Every case has a home and a project of its own and an empty environment. One JSON line
a case; exit 1 where one is not as it is expected.

control   without a hook the call has its effect, or the other cases would prove nothing
deny      nobody approves: no effect, a question on the log, and the model is told its id
approve   denied, approved at a terminal, called again twice in the same session: one effect
missing   the program is not there: no effect
killed    the hook is killed: no effect
stopped   the hook is stopped and the host's own limit passes: as the document says
broken    the settings cannot be read: as the document says, and `doctor hooks` fails
off       the hooks are switched off in the project: likewise
untrusted the host was not told to trust them: likewise
"""
import argparse
import hashlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

from model import Model

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs/agents.md"
PLACE = "/path/to/project"
CASES = ["control", "deny", "approve", "missing", "killed", "stopped", "broken", "off", "untrusted"]
NEVER = "http://127.0.0.1:9"


def printed(name):
    """The first block of the document behind the line that names a file."""
    text = DOCUMENT.read_text()
    at = text.index(f"`{name}`:\n")
    return re.search(r"```\w+\n(.*?)```", text[at:], re.S).group(1)


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))


class Host:
    """`opens`: the cases in which the document says that the host runs the call, `refuses`: those in which it does not
    even start or come to an end. `skips`: those that it has not."""
    opens, refuses, skips, limit = (), (), (), ("timeout", 3)

    def settings(self, case):
        raise NotImplementedError

    def hook(self, case):
        """The settings as the document prints them, for this case."""
        text = printed(self.file).replace(PLACE, str(case.project)).replace("$CLAUDE_PROJECT_DIR", str(case.project))
        program = str(case.program)
        if case.name == "missing":
            program = "/nowhere/holdpoint"
        elif case.name in ("killed", "stopped"):
            program = str(case.script("kill -KILL $$" if case.name == "killed" else "kill -STOP $$"))
        text = re.sub(r"(?<![/\w.-])holdpoint(?= --log|\", \"--log)", lambda _: program, text)
        if case.name == "stopped":
            name, value = self.limit
            text = re.sub(rf'("?{name}"?: )\d+', rf"\g<1>{value}", text)
        return text[:-4] if case.name == "broken" else text

    def before(self, case, model):
        pass


class Claude(Host):
    name, program, file = "claude", "claude", ".claude/settings.json"
    opens, refuses, skips = ("broken", "off"), ("stopped",), ("untrusted",)

    def settings(self, case):
        put(case.home / ".claude.json", {"hasCompletedOnboarding": True})
        if case.name != "control":
            put(case.project / self.file, self.hook(case))
        if case.name == "off":
            put(case.project / ".claude/settings.local.json", {"disableAllHooks": True})

    def environment(self, port):
        return {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "x",
                "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}

    def arguments(self, case, again):
        return ["-p", "go", "--allowedTools", "Bash", "--resume" if again else "--session-id", case.session]


class Codex(Host):
    name, program, file = "codex", "codex", ".codex/hooks.json"
    opens = ("broken", "off", "untrusted", "stopped")

    def settings(self, case):
        if case.name != "control":
            put(case.project / self.file, self.hook(case))

    def before(self, case, model):
        project = json.dumps(str(case.project))
        lines = ['model = "m"', 'model_provider = "fake"', "check_for_update_on_startup = false", "[analytics]",
                 "enabled = false", "[model_providers.fake]", 'name = "fake"', 'wire_api = "responses"',
                 f'base_url = "http://127.0.0.1:{model.port}/v1"', "requires_openai_auth = false",
                 f"[projects.{project}]", 'trust_level = "trusted"']
        if case.name == "off":
            lines += ["[features]", "hooks = false"]
        if case.name not in ("control", "untrusted", "broken"):
            lines += self.trust(case)
        put(case.home / ".codex/config.toml", "\n".join(lines) + "\n")

    def trust(self, case):
        """As the host has it once a person trusted the hook: the digest of what it is."""
        events = {"PreToolUse": "pre_tool_use", "PostToolUse": "post_tool_use"}
        for event, groups in json.loads((case.project / self.file).read_text())["hooks"].items():
            for at, group in enumerate(groups):
                for number, hook in enumerate(group["hooks"]):
                    what = {"event_name": events[event], "hooks": [{"async": False, **hook}]}
                    if "matcher" in group:
                        what["matcher"] = group["matcher"]
                    text = json.dumps(what, sort_keys=True, separators=(",", ":"))
                    key = json.dumps(f"{case.project / self.file}:{events[event]}:{at}:{number}")
                    yield f"[hooks.state.{key}]"
                    yield f'trusted_hash = "sha256:{hashlib.sha256(text.encode()).hexdigest()}"'

    def environment(self, port):
        return {}

    def arguments(self, case, again):
        free = ["--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"]
        return ["exec", "resume", *free, "--last", "go"] if again else ["exec", *free, "go"]


class Gemini(Host):
    name, program, file, limit = "gemini", "gemini", ".gemini/settings.json", ("timeout", 3000)
    opens, refuses = ("off",), ("broken", "untrusted", "stopped")

    def settings(self, case):
        trust = {"enabled": case.name == "untrusted"}
        put(case.home / ".gemini/settings.json", {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": trust},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False}})
        if case.name == "control":
            return
        text = self.hook(case)
        if case.name == "off":
            settings = json.loads(text)
            name = settings["hooks"]["BeforeTool"][0]["hooks"][0]
            settings["hooksConfig"] = {"disabled": [name.get("name", name["command"])]}
            text = json.dumps(settings)
        put(case.project / self.file, text)

    def environment(self, port):
        return {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}"}

    def arguments(self, case, again):
        return ["-m", "gemini-2.5-flash", "-y", "-p", "go", *(["--resume", "latest"] if again else [])]


class Copilot(Host):
    name, program, file, limit = "copilot", "copilot", "~/.copilot/hooks/holdpoint.json", ("timeoutSec", 3)
    opens, skips = ("broken", "untrusted", "stopped"), ("off",)

    def settings(self, case):
        text = None if case.name == "control" else self.hook(case)
        if case.name == "untrusted":
            put(case.project / ".github/hooks/holdpoint.json", text)
        elif text:
            put(case.home / ".copilot/hooks/holdpoint.json", text)

    def environment(self, port):
        return {"COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{port}/v1", "COPILOT_PROVIDER_API_KEY": "x",
                "COPILOT_MODEL": "m", "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"}

    def arguments(self, case, again):
        return ["-p", "go", "--allow-all-tools", "--allow-all-paths", "--session-id", case.session]


class OpenCode(Host):
    name, program, file = "opencode", "opencode", ".opencode/plugins/holdpoint.js"
    opens, skips = ("broken", "off"), ("untrusted",)

    def settings(self, case):
        if case.name == "off":
            put(case.project / ".opencode/plugins/holdpoint.js.off", self.hook(case))
        elif case.name != "control":
            put(case.project / self.file, self.hook(case))

    def environment(self, port):
        options = {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "x"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "fake", "models": {"m": {"name": "m"}}, "options": options}
        settings = {"autoupdate": False, "share": "disabled", "model": "fake/m", "small_model": "fake/m",
                    "provider": {"fake": provider}}
        return {"OPENCODE_CONFIG_CONTENT": json.dumps(settings), "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_AUTOUPDATE": "1", "npm_config_fetch_retries": "0"}

    def arguments(self, case, again):
        return ["run", *(["--continue"] if again else []), "go"]


HOSTS = {host.name: host for host in (Claude(), Codex(), Gemini(), Copilot(), OpenCode())}


def end(process):
    """Ends a process that this program started, and its group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Case:
    def __init__(self, root, name, host, command, program, timeout):
        self.root, self.name, self.host, self.command = root, name, host, command
        self.program, self.timeout, self.session, self.runs = program, timeout, str(uuid.uuid4()), 0
        self.home, self.project, self.effect = root / "home", root / "project", root / "effect"
        self.log = self.project / ".holdpoint"
        for folder in (self.home, self.project, root / "tmp"):
            folder.mkdir()
        subprocess.run(["git", "init", "-q", self.project], env=self.environment(), check=True)
        self.ours("init")
        host.settings(self)

    def environment(self, **more):
        away = {name: NEVER for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
        near = {name: "127.0.0.1,localhost" for name in ("NO_PROXY", "no_proxy")}
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.root / "tmp"), "LANG": "C.UTF-8",
                "TERM": "dumb", **away, **near, **more}

    def script(self, body):
        file = self.root / "hook.sh"
        put(file, f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
        return file

    def ours(self, *words):
        return subprocess.run([self.program, "--log", self.log, *words], env=self.environment(), cwd=self.project,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def questions(self, state="all"):
        listed = self.ours("decision", "list", f"state={state}", "--json").stdout
        return [question["id"] for question in json.loads(listed or "[]")]

    def approve(self, ident):
        """Types the word at a terminal of its own until the program ends."""
        words = [str(self.program), "--log", str(self.log), "decision", "respond", ident, "--option", "approve"]
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.project)
            os.execve(words[0], words, self.environment())
        late, typed = time.monotonic() + 30, 0.0
        while time.monotonic() < late:
            try:
                if select.select([terminal], [], [], 0.2)[0] and not os.read(terminal, 65536):
                    break
                if time.monotonic() > typed + 1:
                    typed = time.monotonic()
                    os.write(terminal, b"approve\r")
            except OSError:
                break
        else:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    def effects(self):
        return len(self.effect.read_text().splitlines()) if self.effect.exists() else 0

    def run(self):
        """One run of the host, and what the model was told of its call."""
        self.runs += 1
        model = Model(f"echo RAN >>{self.effect}", f"{self.session[:8]}_{self.runs}")
        try:
            self.host.before(self, model)
            words = [*self.command, *self.host.arguments(self, self.runs > 1)]
            environment = self.environment(**self.host.environment(model.port))
            with open(self.root / f"output.{self.runs}", "w") as output:
                process = subprocess.Popen(words, env=environment, cwd=self.project, stdin=subprocess.DEVNULL,
                                           stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
                try:
                    process.wait(self.timeout)
                except subprocess.TimeoutExpired:
                    pass
                finally:
                    end(process)
        finally:
            model.close()
        return model

    def left(self):
        """Ends what the host left behind in other groups: known by the home that it was given."""
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if f"HOME={self.home}\0".encode() in (folder / "environ").read_bytes():
                    os.kill(int(folder.name), signal.SIGKILL)
            except OSError:
                pass

    def guarded(self):
        """Whether `doctor` says that the hooks of this host guard a tool."""
        return self.ours("doctor", "hooks", "--json")


def check(case):
    host, name, told = case.host, case.name, []
    try:
        models = [case.run()]
        first = case.effects()
        if name == "approve":
            for ident in case.questions("pending"):
                case.approve(ident)
            models += [case.run(), case.run()]
        told = [model.result or "" for model in models]
        came = all(model.asked for model in models)
        asked, effects = case.questions(), case.effects()
        names = any(ident in text for ident in asked for text in told)
        doctor = case.guarded().returncode
        expected = {
            "control": effects == 1,
            "deny": effects == 0 and names and doctor == 0,
            "approve": first == 0 and effects == 1 and names,
        }.get(name)
        if expected is None:
            expected = effects == (1 if name in host.opens else 0)
            if name in ("broken", "off", "untrusted"):
                expected = expected and doctor == 1
        came = came or name in host.refuses
        return {"ok": came and expected, "effects": effects, "questions": len(asked), "told": names, "doctor": doctor,
                "result": [text[:160] for text in told]}
    finally:
        case.left()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=lambda text: pathlib.Path(text).resolve(strict=True))
    parser.add_argument("--hosts", required=True, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--host", action="append", choices=list(HOSTS))
    parser.add_argument("--case", action="append", choices=CASES)
    parser.add_argument("--timeout", type=float, default=90, help="seconds for one run of a host")
    parser.add_argument("--keep", action="store_true", help="leave each case's folder, and name it on stderr")
    given, is_fine, ran = parser.parse_args(), True, 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for name in given.host or HOSTS:
        host = HOSTS[name]
        command = given.hosts / name / "node_modules/.bin" / host.program
        if not command.exists():
            print(json.dumps({"host": name, "skipped": f"{command} is not there"}), flush=True)
            continue
        for case in given.case or CASES:
            if case in host.skips:
                continue
            root = pathlib.Path(tempfile.mkdtemp(prefix="agent-host-")).resolve()
            try:
                begun = time.monotonic()
                found = check(Case(root, case, host, [str(command)], given.program, given.timeout))
                found = {"host": name, "case": case, **found, "seconds": round(time.monotonic() - begun, 1)}
                print(json.dumps(found), flush=True)
                is_fine, ran = is_fine and found["ok"], ran + 1
            finally:
                if given.keep:
                    print(f"{name} {case}: {root}", file=sys.stderr)
                else:
                    shutil.rmtree(root, ignore_errors=True)
    print(json.dumps({"cases": ran, "as_expected": is_fine}), flush=True)
    sys.exit(0 if is_fine else 1)


if __name__ == "__main__":
    main()
