"""A real client of the Model Context Protocol against `holdpoint mcp`.

Usage: client.py MODE PROGRAM LOG, with MODE `legacy` (the initialize handshake) or `2026-07-28`.
Prints one JSON object: what was negotiated, the tools, and what every tool answered. The library
checks each result against its tool's output schema.
"""

import asyncio
import json
import sys

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


def told(result):
    return {"is_error": bool(result.is_error), "value": result.structured_content}


async def converse(mode, program, log):
    server = StdioServerParameters(command=program, args=["--log", log, "mcp"])
    async with Client(stdio_client(server), mode=mode) as client:
        tools = (await client.list_tools()).tools
        answers = {}

        async def call(name, arguments):
            answers[name] = told(await client.call_tool(name, arguments))
            return answers[name]["value"]

        options = [
            {"id": "yes", "label": "Do it"},
            {"id": "no", "label": "Leave it", "reject": True},
        ]
        asked = await call(
            "decision_create", {"prompt": "Delete the cache?", "options": options, "issue_id": mode}
        )
        decision = {"decision_id": asked["decision"]["id"]}
        await call("decision_list", {})
        await call("bd_decision_list", {"issue_id": mode})
        await call("decision_show", decision)
        await call("decision_wait", {**decision, "timeout_seconds": 0})
        await call("decision_refine", {**decision, "prompt": "Delete all of the cache?"})
        await call("decision_cancel", {**decision, "reason": "not needed"})
        await call("audit_verify", {})
        await call("audit_query", {"decision": decision["decision_id"]})
        return {
            "protocol": client.protocol_version,
            "server": client.server_info.name if client.server_info else None,
            "tools": [tool.name for tool in tools],
            "answers": answers,
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(converse(*sys.argv[1:4]))))
