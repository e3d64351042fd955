"""The trajectory of a conversation over HTTP."""

from rest_framework.views import APIView

from agentserver import sdk
from agentserver.auth import doors
from agentserver.workspace import scopes, serving, steps, trajectories
from agentserver.workspace.paths import Outside
from conversations import services


class TrajectoryView(APIView):
    """GET: state and events as a zip, without secrets."""

    waits = True  # at start, for the SDK's cipher

    def get(self, request, wanted_id, conversation_id=None):
        wanted = scopes.conversation_id(wanted_id)
        if conversation_id is not None:
            scopes.workspace_of(request, conversation_id)
            if scopes.conversation_id(conversation_id) != wanted:
                raise Outside()
        principal = getattr(request, "principal", doors.OPERATOR)
        row = services.find(conversation_id=wanted, principal=principal)
        sdk.require()
        return steps.answer(
            request._request,
            trajectories.zipped(row),
            content_type="application/octet-stream",
            headers=serving.attachment(f"{row.id.hex}.zip"),
        )
