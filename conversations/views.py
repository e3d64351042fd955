"""HTTP in: parse, call one service, answer."""

import uuid
from typing import Any

from rest_framework import viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from agentserver import activity, api, sdk
from agentserver.api import Raw
from agentserver.auth import doors
from agentserver.auth.doors import Principal
from agentserver.errors import invalid
from conversations import forks, infos, reads, services, tallies
from conversations.models import Conversation, Status

SUCCESS = Raw('{"success":true}')


def principal_of(request: Request) -> Principal:
    return getattr(request._request, "principal", doors.OPERATOR)


def uuid_of(text: str, *loc: str) -> uuid.UUID:
    """Any spelling of a UUID. Raises Invalid (422)."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise invalid(
            list(loc) or ["path", "conversation_id"], "Input should be a valid UUID", "uuid_parsing"
        ) from None


class ConversationBase(viewsets.ViewSet):
    """What the views of one conversation share."""

    def row(self, request: Request, conversation_id: str, *fields: str) -> Conversation:
        """The conversation of the path, if the caller may see it: else 404, 422 for what is no id."""
        activity.touch()
        found = uuid_of(conversation_id)
        return services.find(conversation_id=found, principal=principal_of(request), fields=fields)


class ConversationViewSet(ConversationBase):
    """Conversations: start, find, read, change, delete, run, pause, interrupt."""

    waits = frozenset(
        {"create", "run", "pause", "interrupt", "destroy", "ask_agent", "condense", "navigate", "switch_llm",
         "switch_profile", "switch_acp_model", "secrets", "confirmation_policy", "security_analyzer",
         "load_plugin", "children", "fork"}
    )  # fmt: skip

    # Collection

    def create(self, request: Request) -> Response:
        include_skills = api.flag(request, "include_skills")
        sdk.require()
        from conversations import starts

        activity.touch()
        principal = principal_of(request)
        wanted = starts.parsed(request.data, principal)
        row, new = services.start(request=wanted, principal=principal)
        return Response(infos.info(row, include_skills), status=201 if new else 200)

    def search(self, request: Request) -> Response:
        limit = api.limit_of(request)
        sort = api.choice(request, "sort_order", set(reads.SORTS), "CREATED_AT_DESC")
        include_skills = api.flag(request, "include_skills")
        page_id = request.query_params.get("page_id")
        if page_id is None and principal_of(request).operator:
            found, following = reads.first_conversations(
                status=api.choice(request, "status", set(Status.values)),
                sort=sort or "",
                limit=limit,
                columns=infos.columns(include_skills),
            )
        else:
            rows = infos.read(self._rows(request), include_skills)
            found, following = reads.conversation_page(
                rows=rows, sort=sort or "", limit=limit, page_id=page_id
            )
        return Response(infos.page(found, following, include_skills))

    def count(self, request: Request) -> Response:
        status = api.choice(request, "status", set(Status.values))
        return Response(tallies.conversations(principal=principal_of(request), status=status))

    def batch(self, request: Request) -> Response:
        texts = request.query_params.getlist("ids")
        if not 1 <= len(texts) < 100:
            raise invalid(["query", "ids"], "From 1 to 99 ids, as ids=...&ids=...")
        ids = [uuid_of(text, "query", "ids") for text in texts]
        include_skills = api.flag(request, "include_skills")
        rows = Conversation.objects.visible_to(principal_of(request)).living().filter(id__in=set(ids))
        found = list(infos.read(rows, include_skills))
        by_id = dict(zip((row.id for row in found), infos.infos(found, include_skills), strict=True))
        return Response(Raw("[" + ",".join(by_id.get(one, "null") for one in ids) + "]"))

    def _rows(self, request: Request) -> Any:
        rows = Conversation.objects.visible_to(principal_of(request))
        status = api.choice(request, "status", set(Status.values))
        return rows.living() if status is None else rows.filter(status=status)

    # One

    def retrieve(self, request: Request, conversation_id: str) -> Response:
        include_skills = api.flag(request, "include_skills")
        row = self.row(request, conversation_id, *infos.columns(include_skills))
        return Response(infos.info(row, include_skills))

    def partial_update(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id")
        change = api.parse(request, self._models().UpdateConversation)
        services.update(row=row, title=change.title, tags=change.tags)
        return Response(SUCCESS)

    def destroy(self, request: Request, conversation_id: str) -> Response:
        services.delete(row=self.row(request, conversation_id, "id", "workspace_dir", "request"))
        return Response(SUCCESS)

    def final_response(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "leaf_event_id")
        return Response({"response": reads.final_response(row=row)})

    # Run control

    def run(self, request: Request, conversation_id: str) -> Response:
        services.run(row=self.row(request, conversation_id, "id", "status"))
        return Response(SUCCESS)

    def pause(self, request: Request, conversation_id: str) -> Response:
        services.stop(row=self.row(request, conversation_id, "id", "status"), kind="pause")
        return Response(SUCCESS)

    def interrupt(self, request: Request, conversation_id: str) -> Response:
        services.stop(row=self.row(request, conversation_id, "id", "status"), kind="interrupt")
        return Response(SUCCESS)

    # Changes that the conversation's runner carries out

    def secrets(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "status")
        body = api.parse(request, self._models().UpdateSecrets)
        plain = body.model_dump(mode="json", context={"expose_secrets": True})["secrets"]
        services.ask(row=row, kind="secrets", payload=plain)
        return Response(SUCCESS)

    def confirmation_policy(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "status")
        policy = api.parse(request, self._models().SetPolicy).policy
        services.ask(row=row, kind="confirmation_policy", payload=policy.model_dump(mode="json"))
        return Response(SUCCESS)

    def security_analyzer(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "status")
        analyzer = api.parse(request, self._models().SetAnalyzer).security_analyzer
        payload = None if analyzer is None else analyzer.model_dump(mode="json")
        services.ask(row=row, kind="security_analyzer", payload=payload)
        return Response(SUCCESS)

    def switch_llm(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "status")
        llm = api.parse(request, self._models().SwitchLLM).llm
        services.switch_llm(row=row, llm=llm, principal=principal_of(request))
        return Response(SUCCESS)

    def switch_profile(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "status")
        name = api.parse(request, self._models().SwitchProfile).profile_name
        services.switch_profile(row=row, name=name, principal=principal_of(request))
        return Response(SUCCESS)

    def switch_acp_model(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "status", "info")
        model = api.parse(request, self._models().SwitchModel).model
        services.switch_acp_model(row=row, model=model)
        return Response(SUCCESS)

    def navigate(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "status")
        include_skills = api.flag(request, "include_skills")
        event_id = api.parse(request, self._models().Navigate).event_id
        services.ask(row=row, kind="navigate", payload=event_id)
        return Response(infos.info(self.row(request, conversation_id), include_skills))

    def load_plugin(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "status")
        services.load_plugin(row=row, plugin_ref=api.parse(request, self._models().LoadPlugin).plugin_ref)
        return Response(SUCCESS)

    def condense(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "status", "info")
        services.condense(row=row)
        return Response(SUCCESS)

    def ask_agent(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id")
        question = api.parse(request, self._models().AskAgent).question
        return Response({"response": services.ask_agent(row=row, question=question)})

    # Others made from it

    def fork(self, request: Request, conversation_id: str) -> Response:
        source = self.row(request, conversation_id)
        include_skills = api.flag(request, "include_skills")
        models = self._models()
        body = (
            api.parse(request, models.ForkConversation)
            if request.data is not None
            else models.ForkConversation()
        )
        made = forks.fork(
            source=source,
            new_id=body.id,
            title=body.title,
            tags=body.tags,
            reset_metrics=body.reset_metrics,
            from_event_id=body.from_event_id,
            owner_id=principal_of(request).user_id,
        )
        return Response(infos.info(made, include_skills), status=201)

    def children(self, request: Request, conversation_id: str) -> Response:
        parent = self.row(request, conversation_id)
        sdk.require()
        from openhands.sdk.conversation.request import StartChildConversationRequest

        wanted = api.parse(request, StartChildConversationRequest)
        from conversations import starts

        answer = starts.child(parent=parent, wanted=wanted, principal=principal_of(request))
        return Response(answer, status=201)

    # Goals

    def goal(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "status", "goal")
        body = api.parse(request, self._models().StartGoal)
        from conversations import goals

        goals.start(row=row, objective=body.objective, max_iterations=body.max_iterations)
        return Response(SUCCESS)

    def goal_resume(self, request: Request, conversation_id: str) -> Response:
        from conversations import goals

        goals.resume(row=self.row(request, conversation_id, "id", "status", "goal"))
        return Response(SUCCESS)

    def goal_stop(self, request: Request, conversation_id: str) -> Response:
        from conversations import goals

        goals.stop(row=self.row(request, conversation_id, "id", "status", "goal"))
        return Response(SUCCESS)

    # The runtime: this server runs conversations itself

    def runtime(self, request: Request, conversation_id: str) -> Response:
        self.row(request, conversation_id, "id")
        return Response({"runtime_status": "available", "can_resume": True, "runtime_error": None})

    def _models(self) -> Any:
        sdk.require()
        from conversations import requests

        return requests
