// Asks Holdpoint before each tool. Any answer but exit 0 stops the call.
import { spawnSync } from "node:child_process";

const HOOK = ["holdpoint", "--log", "/path/to/project/.holdpoint", "hook", "pre-tool-use", "--host", "opencode"];

export const Holdpoint = async ({ directory }) => ({
  "tool.execute.before": async (call, output) => {
    const input = JSON.stringify({
      session_id: call.sessionID,
      cwd: directory,
      hook_event_name: "PreToolUse",
      tool_name: call.tool,
      tool_input: output.args,
      tool_use_id: call.callID,
    });
    const hook = spawnSync(HOOK[0], HOOK.slice(1), {
      input,
      encoding: "utf8",
      timeout: 60000,
      killSignal: "SIGKILL",
    });
    if (hook.status !== 0) {
      throw new Error(hook.stderr || `holdpoint: the hook gave no answer (${hook.error ?? hook.signal})`);
    }
  },
});
