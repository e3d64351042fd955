"""Bash over HTTP, for the server's own shell and for those of conversations."""

import datetime
import json
import re
import uuid
from typing import Any

from pydantic import TypeAdapter, ValidationError
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from agentserver import api
from agentserver.api import Raw
from agentserver.errors import NotFound, from_pydantic, invalid
from bashevents import services
from bashevents.models import Kind
from bashevents.serializers import ExecuteRequest
from bashevents.services import Position, Scope, Search
from conversations.models import Conversation

EVENT_IDS = 1000
"""Ids of one batch request."""
_MOMENT = TypeAdapter(datetime.datetime)
_IDS = TypeAdapter(list[str])


class BashViewSet(ViewSet):
    """``/api/bash`` and ``/api/conversations/{id}/bash``."""

    waits = frozenset({"execute", "clear"})

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.scope = _scope(request, kwargs.get("conversation_id"))

    @action(detail=False, methods=["post"])
    def start(self, request: Request, **kwargs: Any) -> Response:
        """Start a command; answers with its BashCommand."""
        return Response(
            Raw(services.start_command(scope=self.scope, body=api.parse(request, ExecuteRequest)))
        )

    @action(detail=False, methods=["post"])
    def execute(self, request: Request, **kwargs: Any) -> Response:
        """Run a command to its end; answers with one BashOutput."""
        return Response(
            Raw(services.execute_command(scope=self.scope, body=api.parse(request, ExecuteRequest)))
        )

    @action(detail=True, methods=["post"])
    def stop(self, request: Request, command_id: str, **kwargs: Any) -> Response:
        """Ask a command to end."""
        services.stop_command(scope=self.scope, command_id=_uuid(command_id, ["path", "command_id"]))
        return Response({"success": True})

    @action(detail=False, methods=["get"])
    def search(self, request: Request, **kwargs: Any) -> Response:
        """A page of events, oldest first unless told otherwise."""
        items, position = services.search(scope=self.scope, query=_search(request))
        return Response(
            Raw(f'{{"items":[{",".join(items)}],"next_page_id":{json.dumps(_page_id(position))}}}')
        )

    def retrieve(self, request: Request, event_id: str, **kwargs: Any) -> Response:
        """One event; its id with or without dashes."""
        if (wanted := _maybe_uuid(event_id)) is None:
            raise NotFound()
        return Response(Raw(services.find_event(scope=self.scope, event_id=wanted)))

    def batch(self, request: Request, **kwargs: Any) -> Response:
        """Several events, by ``?event_ids=`` or by a JSON array in the body; null for missing ones."""
        ids = [_maybe_uuid(text) for text in _event_ids(request)]
        return Response(Raw(services.find_events(scope=self.scope, event_ids=ids)))

    def clear(self, request: Request, **kwargs: Any) -> Response:
        """Delete all events."""
        return Response({"cleared_count": services.clear(scope=self.scope)})


def _scope(request: Request, conversation_id: str | None) -> Scope:
    """Whose shell the path names. Raises Invalid or NotFound."""
    if conversation_id is None:
        return services.SERVER
    wanted = _uuid(conversation_id, ["path", "conversation_id"])
    theirs = Conversation.objects.visible_to(request.principal).living().filter(id=wanted)
    workspace = theirs.values_list("workspace_dir", flat=True).first()
    if workspace is None:
        raise NotFound()
    return Scope(wanted, workspace)


def _search(request: Request) -> Search:
    query = request.query_params
    command_id = query.get("command_id__eq")
    return Search(
        kind=api.choice(request, "kind__eq", set(Kind.values)),
        command_id=None if command_id is None else _uuid(command_id, ["query", "command_id__eq"]),
        since=_moment(request, "timestamp__gte"),
        before=_moment(request, "timestamp__lt"),
        beyond_order=api.integer(request, "order__gt", 0, -(2**31), 2**31 - 1)
        if "order__gt" in query
        else None,
        newest_first=api.choice(request, "sort_order", {"TIMESTAMP", "TIMESTAMP_DESC"}) == "TIMESTAMP_DESC",
        position=_position(query.get("page_id")),
        limit=api.limit_of(request),
    )


def _page_id(position: Position | None) -> str | None:
    """A place between two events, which outlives both."""
    if position is None:
        return None
    moment, number = position
    return f"{moment.astimezone(datetime.UTC):%Y%m%d%H%M%S%f}_{number}"


def _position(page_id: str | None) -> Position | None:
    """None for a page id that is none of ours: the first page, as in the reference."""
    if not page_id or not (parts := re.fullmatch(r"(\d{20})_(\d{1,18})", page_id, re.ASCII)):
        return None
    try:
        moment = datetime.datetime.strptime(parts[1], "%Y%m%d%H%M%S%f").replace(tzinfo=datetime.UTC)
    except ValueError:
        return None
    return moment, int(parts[2])


def _moment(request: Request, name: str) -> datetime.datetime | None:
    """A time; UTC if it has no zone."""
    text = request.query_params.get(name)
    if text is None:
        return None
    # Many a client leaves the plus of a zone bare, which a query string takes for a space.
    text = re.sub(r" (\d\d:?\d\d)$", r"+\1", text)
    try:
        moment = _MOMENT.validate_python(text)
        return (
            moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment.astimezone(datetime.UTC)
        )
    except ValidationError as error:
        raise from_pydantic(error, ("query", name)) from None
    except (OverflowError, ValueError):
        raise invalid(["query", name], "The time is out of range.", "datetime_parsing") from None


def _event_ids(request: Request) -> list[str]:
    if "event_ids" in request.query_params:
        ids = request.query_params.getlist("event_ids")
    elif request.data is None:
        raise invalid(["body"], "Field required", "missing")
    else:
        try:
            ids = _IDS.validate_python(request.data)
        except ValidationError as error:
            raise from_pydantic(error) from None
    if len(ids) > EVENT_IDS:
        raise invalid(["event_ids"], f"Ask for at most {EVENT_IDS} events at once.", "too_long")
    return ids


def _uuid(text: str, loc: list[str]) -> uuid.UUID:
    found = _maybe_uuid(text)
    if found is None:
        raise invalid(loc, "Input should be a valid UUID", "uuid_parsing")
    return found


def _maybe_uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
