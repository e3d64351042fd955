"""/api/llm/provider-connections: keys that several profiles share."""

from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver.api import parse
from agentserver.configuration import connections
from agentserver.configuration.owners import of_request
from agentserver.configuration.views.bodies import ConnectionBody, ConnectionChange


class ConnectionsView(APIView):
    """GET: all of them. POST: create one."""

    def get(self, request):
        return Response(connections.listed(owner=of_request(request)))

    def post(self, request):
        body = parse(request, ConnectionBody)
        return Response(
            connections.create(owner=of_request(request), **body.model_dump()),
            status=201,
        )


class ConnectionView(APIView):
    """PATCH what is named; DELETE."""

    def patch(self, request, connection_id):
        changes = parse(request, ConnectionChange).model_dump(exclude_unset=True)
        return Response(
            connections.change(owner=of_request(request), connection_id=connection_id, changes=changes)
        )

    def delete(self, request, connection_id):
        return Response(connections.delete(owner=of_request(request), connection_id=connection_id))
