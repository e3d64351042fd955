"""The demo model's two routes. Answers are streams on the event loop: a slow one holds no thread."""

from typing import Any

from django.http import StreamingHttpResponse
from pydantic import BaseModel, Field
from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver.api import parse
from agentserver.demo import story, wire
from agentserver.errors import NotFound


class ChatRequest(BaseModel):
    """What is read of an OpenAI request; the rest (temperature, ...) makes no difference here."""

    model: str
    messages: list[dict[str, Any]] = Field(min_length=1)
    tools: list[dict[str, Any]] | None = None
    stream: bool | None = False

    def tool_names(self) -> set[str]:
        functions = (tool.get("function") for tool in self.tools or [])
        return {str(function.get("name")) for function in functions if isinstance(function, dict)}


class ChatCompletionsView(APIView):
    """POST: the next turn of the demo model's story, in OpenAI's form."""

    def post(self, request):
        asked = parse(request, ChatRequest)
        if asked.model != story.MODEL:
            raise NotFound(f"There is one model here, named {story.MODEL}.")
        turn = story.next_turn(asked.messages, asked.tool_names())
        if asked.stream:
            return StreamingHttpResponse(wire.streamed(turn), content_type="text/event-stream")
        return StreamingHttpResponse(wire.whole(turn), content_type="application/json")


class ModelsView(APIView):
    """GET: the list of models, which is this one."""

    def get(self, request):
        model = {"id": story.MODEL, "object": "model", "created": 0, "owned_by": "agentserver"}
        return Response({"object": "list", "data": [model]})
