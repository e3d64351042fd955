"""A scripted OpenAI-compatible chat server, for tests and benchmarks without a real model.

The client's last user message that starts with ``PLAN`` carries the script, so the server
keeps no state between requests and any number of conversations can share it:

    PLAN {"delay": 0.05, "steps": [
        {"tool": "terminal", "args": {"command": "echo hello"}},
        {"say": "half way", "delay": 2.0},
        {"tool": "finish", "args": {"message": "done"}}]}

The step played is the number of assistant messages that follow that user message; past the
last step the server answers with a ``finish`` call.  Without a plan it says "ok" and finishes.

Step keys
    tool, args   a tool call (``tools``: a list of {"tool", "args"} for several at once)
    say          assistant text (with or without a tool call)
    delay        seconds to wait before the first byte (default: the plan's ``delay``, else 0)
    chunks       with streaming: how many pieces the text is cut into (default 4)
    gap          with streaming: seconds between pieces (default 0)
    status       answer with this HTTP status and an OpenAI-style error body instead

Plan keys besides ``steps``
    delay, final  default delay of the steps; message of the finish call after the last step
    strict        true: refuse (400), as real providers do, a history in which a tool call is
                  not followed by its result or a result has no call

Clients merge consecutive user messages into one; then the last readable plan in it counts.

``GET /stats`` -> {"started", "finished", "cancelled", "in_flight", "last_cancel_at"};
``cancelled`` counts requests whose client went away before the answer was complete, which is
how a test proves that an interrupt really reached the in-flight LLM call.
"overlapping" are the markers (the plan's ``marker``) for which two requests were under way at once.
``POST /reset`` zeroes the counters.
``GET /requests?contains=TEXT`` -> the last 500 requests whose messages hold TEXT, oldest first:
[{"model", "authorization", "stream", "tools": [names], "messages", "status", "outcome", "began"}] with
outcome "pending", "finished" or "cancelled".

Run:  python fakellm.py --port 9999
"""

import argparse
import asyncio
import collections
import json
import time
import uuid

from aiohttp import web

STATS = {
    "started": 0,
    "finished": 0,
    "cancelled": 0,
    "in_flight": 0,
    "last_cancel_at": None,
    "overlapping": [],
}
REQUESTS = collections.deque(maxlen=500)
OF_MARKER = collections.defaultdict(list)
LEAVING_SECONDS = 1
"""What a client that went away may take to be noticed."""


def _text(message):
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content


def _last_plan(text):
    """The last JSON object in ``text`` that follows the word PLAN, or None."""
    start = len(text)
    while (start := text.rfind("PLAN ", 0, start)) >= 0:
        try:
            found, _ = json.JSONDecoder().raw_decode(text[start + len("PLAN ") :].lstrip())
        except json.JSONDecodeError:
            continue
        if isinstance(found, dict):
            return found
    return None


def choose_step(messages):
    """Return (plan, step) for an OpenAI ``messages`` list."""
    plan, after = None, 0
    for message in messages:
        found = _last_plan(_text(message)) if message.get("role") == "user" else None
        if found is not None:
            plan, after = found, 0
        elif message.get("role") == "assistant":
            after += 1
    if plan is None:
        return {}, {"say": "ok", "tool": "finish", "args": {"message": "ok"}}
    steps = plan.get("steps", [])
    if after < len(steps):
        return plan, steps[after]
    return plan, {"tool": "finish", "args": {"message": plan.get("final", "done")}}


def history_problem(messages):
    """Why a real provider would refuse these messages, or None."""
    open_calls = set()
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_calls:
                return f"tool result without its call: {message.get('tool_call_id')}"
            open_calls.discard(message["tool_call_id"])
            continue
        if open_calls:
            return f"tool calls without a result: {sorted(open_calls)}"
        open_calls = {call["id"] for call in message.get("tool_calls") or []}
    return f"tool calls without a result: {sorted(open_calls)}" if open_calls else None


def _tool_calls(step):
    calls = step.get("tools") or (
        [{"tool": step["tool"], "args": step.get("args", {})}] if "tool" in step else []
    )
    return [
        {
            "id": f"call_{uuid.uuid4().hex[:12]}",
            "type": "function",
            "function": {"name": call["tool"], "arguments": json.dumps(call.get("args", {}))},
        }
        for call in calls
    ]


USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def note_overlaps(marker, record):
    """Requests for one conversation come one after the other, unless the earlier one was given up."""
    earlier = [one for one in OF_MARKER[marker] if one["outcome"] == "pending"]
    OF_MARKER[marker] = [*earlier, record]

    def look():
        if any(one["outcome"] != "cancelled" for one in earlier):
            STATS["overlapping"].append(marker)

    if earlier:
        asyncio.get_running_loop().call_later(LEAVING_SECONDS, look)


async def chat_completions(request):
    body = await request.json()
    plan, step = choose_step(body.get("messages", []))
    problem = history_problem(body.get("messages", [])) if plan.get("strict") else None
    if problem:
        step = {"status": 400, "say": problem, "delay": 0}
    record = {
        "model": body.get("model"),
        "authorization": request.headers.get("Authorization"),
        "stream": bool(body.get("stream")),
        "tools": [tool.get("function", {}).get("name") for tool in body.get("tools") or []],
        "messages": body.get("messages", []),
        "status": step.get("status", 200),
        "outcome": "pending",
        "began": time.time(),
    }
    REQUESTS.append(record)
    if "marker" in plan:
        note_overlaps(plan["marker"], record)
    STATS["started"] += 1
    STATS["in_flight"] += 1
    complete = False
    try:
        await asyncio.sleep(step.get("delay", plan.get("delay", 0)))
        if "status" in step:
            complete = True
            return web.json_response(
                {
                    "error": {
                        "message": step.get("say", "scripted failure"),
                        "type": "scripted",
                        "code": step["status"],
                    }
                },
                status=step["status"],
            )
        calls = _tool_calls(step)
        say = step.get("say")
        base = {
            "id": f"chatcmpl-{uuid.uuid4().hex[:12]}",
            "created": int(time.time()),
            "model": body.get("model", "fake"),
        }
        finish_reason = "tool_calls" if calls else "stop"
        if not body.get("stream"):
            message = {"role": "assistant", "content": say}
            if calls:
                message["tool_calls"] = calls
            complete = True
            return web.json_response(
                {
                    **base,
                    "object": "chat.completion",
                    "usage": USAGE,
                    "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
                }
            )
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)

        async def send(delta, reason=None, **extra):
            chunk = {
                **base,
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
                **extra,
            }
            await response.write(f"data: {json.dumps(chunk)}\n\n".encode())

        await send({"role": "assistant", "content": ""})
        if say:
            pieces = max(1, int(step.get("chunks", 4)))
            size = -(-len(say) // pieces)
            for start in range(0, len(say), size):
                await send({"content": say[start : start + size]})
                await asyncio.sleep(step.get("gap", 0))
        for index, call in enumerate(calls):
            await send({"tool_calls": [{"index": index, **call}]})
        await send({}, finish_reason, usage=USAGE)
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        complete = True
        return response
    finally:
        record["outcome"] = "finished" if complete else "cancelled"
        STATS["in_flight"] -= 1
        if complete:
            STATS["finished"] += 1
        else:
            STATS["cancelled"] += 1
            STATS["last_cancel_at"] = time.time()


async def stats(_request):
    return web.json_response(STATS)


async def requests(request):
    wanted = request.query.get("contains", "")
    return web.json_response(
        [item for item in REQUESTS if wanted in json.dumps(item["messages"], ensure_ascii=False)]
    )


async def reset(_request):
    STATS.update(started=0, finished=0, cancelled=0, last_cancel_at=None, overlapping=[])
    return web.json_response(STATS)


async def models(_request):
    return web.json_response(
        {"object": "list", "data": [{"id": "fake-model", "object": "model", "owned_by": "local"}]}
    )


def make_app():
    app = web.Application(client_max_size=64 * 1024 * 1024)
    for prefix in ("", "/v1"):
        app.router.add_post(f"{prefix}/chat/completions", chat_completions)
        app.router.add_get(f"{prefix}/models", models)
    app.router.add_get("/stats", stats)
    app.router.add_get("/requests", requests)
    app.router.add_post("/reset", reset)
    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9999)
    args = parser.parse_args()
    # handler_cancellation: a client that disconnects cancels the handler, so /stats can count it.
    web.run_app(
        make_app(),
        host=args.host,
        port=args.port,
        handler_cancellation=True,
        shutdown_timeout=0.5,
        print=None,
    )
