"""/v1: agents for programs that speak OpenAI's protocol."""

import json
import time
import uuid

from django.http import StreamingHttpResponse
from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver import api, threads
from agentserver.catalog import openai_facade as facade
from agentserver.catalog.openai_bodies import ChatBody, ChatMessage, ResponseBody
from agentserver.catalog.openai_prompts import CannotAnswer, prompt_of
from agentserver.errors import Problem, invalid

CONVERSATION = "X-OpenHands-ServerConversation-ID"
TRACES = {
    "X-OpenHands-Observability-Span-Name": "observability_span_name",
    "X-OpenHands-Observability-Tags": "observability_tags",
    "X-OpenHands-Observability-Metadata": "observability_metadata",
    "X-OpenHands-Observability-Parent-Span-Context": "observability_parent_span_context",
}


class ModelsView(APIView):
    """GET: every saved LLM profile is a model."""

    def get(self, request):
        names = facade.models(principal=request.principal)
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "openhands"} for name in names]
        return Response({"object": "list", "data": data})


class Asking(APIView):
    """What both ways of asking share."""

    waits = True

    def ask(self, request, model, messages):
        """Start the run that answers."""
        profile = facade.require_model(principal=request.principal, model=model)
        conversation_id = _conversation_id(request)
        known = facade.is_known(principal=request.principal, conversation_id=conversation_id)
        return facade.ask(
            principal=request.principal,
            profile=profile,
            prompt=prompt_of(messages, continued=known),
            conversation_id=conversation_id,
            traces=_traces(request),
        )


def _conversation_id(request):
    text = request.headers.get(CONVERSATION)
    if not text:
        return None
    try:
        return uuid.UUID(text)
    except ValueError:
        raise invalid(["header", CONVERSATION], "Input should be a valid UUID", "uuid_parsing") from None


def _traces(request):
    found = {field: request.headers[name] for name, field in TRACES.items() if request.headers.get(name)}
    for field in ("observability_tags", "observability_metadata"):
        if field in found:
            try:
                found[field] = json.loads(found[field])
            except ValueError:
                raise CannotAnswer("Observability tags and metadata are JSON.") from None
    return found


def _usage(answer):
    total = answer.prompt_tokens + answer.completion_tokens
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "total_tokens": total,
    }


class ChatView(Asking):
    """POST: a chat completion, streamed if asked for."""

    def post(self, request):
        body = api.parse(request, ChatBody)
        asked = self.ask(request, body.model, body.messages)
        headers = {CONVERSATION: str(asked.conversation_id)}
        frame = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": body.model}
        if body.stream:
            usage = bool(body.stream_options and body.stream_options.include_usage)
            return _stream(asked, frame, usage, headers)
        answer = facade.answer(asked)
        message = {"role": "assistant", "content": answer.text, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        completion = {**frame, "object": "chat.completion", "choices": [choice], "usage": _usage(answer)}
        return Response(completion, headers=headers)


def _stream(asked, frame, usage, headers):
    response = StreamingHttpResponse(
        _chunks(asked, frame, usage), content_type="text/event-stream", headers=headers
    )
    response["Cache-Control"] = "no-cache"
    return response


async def _chunks(asked, frame, usage):
    """The role at once, the answer when there is one."""
    frame = {**frame, "object": "chat.completion.chunk"}
    yield _data({**frame, "choices": [_delta(role="assistant")]})
    try:
        answer = await threads.run_in(threads.waiting(), facade.answer, asked)
    except Problem as problem:
        yield _data({"error": {"message": str(problem.body["detail"]), "code": problem.code}})
        return
    yield _data({**frame, "choices": [_delta(content=answer.text)]})
    yield _data({**frame, "choices": [{**_delta(), "finish_reason": "stop"}]})
    if usage:
        yield _data({**frame, "choices": [], "usage": _usage(answer)})
    yield b"data: [DONE]\n\n"


def _delta(**delta):
    return {"index": 0, "delta": delta, "finish_reason": None}


def _data(value):
    return b"data: " + api.dumps(value) + b"\n\n"


class ResponsesView(Asking):
    """POST: the same in the newer shape, whole and not kept."""

    def post(self, request):
        body = api.parse(request, ResponseBody)
        if body.stream or body.store or body.previous_response_id:
            raise CannotAnswer("Responses are neither streamed nor stored here. Use /v1/chat/completions.")
        began = time.time()
        asked = self.ask(request, body.model, _messages(body))
        answer = facade.answer(asked)
        return Response(_response(body, answer, began), headers={CONVERSATION: str(asked.conversation_id)})


def _messages(body):
    given = [ChatMessage(role="user", content=body.input)] if isinstance(body.input, str) else body.input
    system = [ChatMessage(role="system", content=body.instructions)] if body.instructions else []
    return [*system, *given]


def _response(body, answer, began):
    text = {"type": "output_text", "text": answer.text, "annotations": []}
    message = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "status": "completed"}
    return {
        "id": f"resp_{uuid.uuid4().hex}",
        "object": "response",
        "status": "completed",
        "model": body.model,
        "created_at": began,
        "completed_at": time.time(),
        "instructions": body.instructions,
        "metadata": body.metadata,
        "output": [{**message, "content": [text]}],
        "parallel_tool_calls": False,
        "previous_response_id": None,
        "tool_choice": "none",
        "tools": [],
        "usage": {
            "input_tokens": answer.prompt_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": answer.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.prompt_tokens + answer.completion_tokens,
        },
    }
