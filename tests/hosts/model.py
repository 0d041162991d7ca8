"""A model on loopback that calls an agent host's shell once, and then says that it is done.

It speaks what the hosts speak: Anthropic's messages, OpenAI's responses and chat completions, and Gemini's
generateContent, each streamed where the host asks for that.
"""
import http.server
import json
import threading

SHELLS = ("Bash", "bash", "exec_command", "shell", "run_shell_command")


def events(pairs):
    return "".join((f"event: {name}\n" if name else "") + f"data: {data}\n\n" for name, data in pairs)


def anthropic(body, path, call):
    if path.endswith("count_tokens"):
        return {"input_tokens": 1}
    text = {"type": "text", "text": "done"}
    if call:
        text = {"type": "tool_use", "id": call["id"], "name": call["tool"], "input": call["input"]}
    reason = "tool_use" if call else "end_turn"
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "stop_sequence": None,
               "usage": {"input_tokens": 1, "output_tokens": 1}}
    if not body.get("stream"):
        return {**message, "content": [text], "stop_reason": reason}
    begun = {**text, "input": {}} if call else {**text, "text": ""}
    delta = {"type": "text_delta", "text": "done"}
    if call:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call["input"])}
    parts = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return events((part["type"], json.dumps(part)) for part in parts)


def responses(body, path, call):
    item = {"type": "message", "id": "m_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "done"}]}
    if call:
        command = call["input"]["command"]
        given = {"cmd": command} if call["tool"] == "exec_command" else {"command": ["bash", "-c", command]}
        item = {"type": "function_call", "id": "f_1", "call_id": call["id"], "name": call["tool"],
                "arguments": json.dumps(given), "status": "completed"}
    used = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0}}
    parts = [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "usage": used}},
    ]
    return events((part["type"], json.dumps(part)) for part in parts)


def chat(body, path, call):
    message, end = {"role": "assistant", "content": "done"}, "stop"
    if call:
        function = {"name": call["tool"], "arguments": json.dumps(call["input"])}
        made = {"index": 0, "id": call["id"], "type": "function", "function": function}
        message, end = {"role": "assistant", "content": None, "tool_calls": [made]}, "tool_calls"
    head = {"id": "c", "created": 1, "model": body.get("model")}
    used = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": end}
        return {**head, "object": "chat.completion", "usage": used, "choices": [choice]}
    parts = [(message, None), ({}, end)]
    chunk = {**head, "object": "chat.completion.chunk"}
    lines = [json.dumps({**chunk, "choices": [{"index": 0, "delta": d, "finish_reason": e}]}) for d, e in parts]
    return events((None, line) for line in [*lines, "[DONE]"])


def gemini(body, path, call):
    if path.endswith("countTokens"):
        return {"totalTokens": 1}
    part = {"functionCall": {"name": call["tool"], "args": call["input"]}} if call else {"text": '{"done":true}'}
    content = {"role": "model", "parts": [part]}
    answer = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "modelVersion": "m",
              "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
    return events([(None, json.dumps(answer))]) if "stream" in path else answer


def tools_of(body):
    for tool in body.get("tools") or []:
        for one in tool.get("functionDeclarations", [tool]):
            yield one.get("function", one).get("name") or one.get("type")


def results_of(body, ident):
    """What the host says of the call with this id. Gemini's has none: there it is of the last content."""
    for message in body.get("messages") or []:
        if message.get("role") == "tool" and message.get("tool_call_id") == ident:
            yield message.get("content")
        for part in message.get("content") if isinstance(message.get("content"), list) else []:
            if part.get("tool_use_id") == ident:
                yield part.get("content")
    for item in body.get("input") if isinstance(body.get("input"), list) else []:
        if item.get("call_id") == ident and "output" in item:
            yield item["output"]
    for part in (body.get("contents") or [{}])[-1].get("parts") or []:
        if "functionResponse" in part:
            yield part["functionResponse"].get("response")


class Model:
    """Serves until it is closed. `result` is what the host said of the call, once it has."""

    def __init__(self, command, number):
        self.command, self.ident, self.result, self.asked = command, f"call_{number}", None, False
        self.lock, model = threading.Lock(), self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                try:
                    answer = model.answer(self.path.split("?")[0], json.loads(raw))
                except ValueError:
                    answer = None
                self.say(answer)

            def do_GET(self):
                self.say(None)

            def do_HEAD(self):
                self.say({})

            def say(self, answer):
                kind = "text/event-stream" if isinstance(answer, str) else "application/json"
                text = (answer if isinstance(answer, str) else json.dumps(answer or {})).encode()
                self.send_response(404 if answer is None else 200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, body):
        speaks = {"chat/completions": chat, "responses": responses, "messages": anthropic, "count_tokens": anthropic}
        name = next((name for name in speaks if path.endswith(name)), None)
        speak = speaks.get(name) or (gemini if ":" in path.rsplit("/", 1)[-1] else None)
        if speak is None:
            return None
        shell = next((tool for tool in tools_of(body) if tool in SHELLS), None)
        call = None
        with self.lock:
            found = list(results_of(body, self.ident)) if self.asked else []
            if found:
                self.result = found[-1] if isinstance(found[-1], str) else json.dumps(found[-1])
            elif shell and self.result is None and "ount" not in path.rsplit("/", 1)[-1]:
                self.asked = True
                call = {"id": self.ident, "tool": shell, "input": {"command": self.command, "description": "x"}}
        return speak(body, path, call)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
