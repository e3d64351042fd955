"""/api/settings: the settings, their schemas, MCP servers and secrets."""

from django.http import HttpResponse
from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver import sdk
from agentserver.api import parse
from agentserver.configuration import documents, names, settings_service, user_secrets
from agentserver.configuration.owners import of_request
from agentserver.configuration.views.bodies import SecretBody, object_of


class SettingsView(APIView):
    """GET: the settings. PATCH: change what is named, keep the rest."""

    def get(self, request):
        expose = documents.exposure(request.headers.get("X-Expose-Secrets"))
        return Response(settings_service.view(owner=of_request(request), expose=expose))

    def patch(self, request):
        sdk.require()
        from openhands.sdk.settings import SettingsUpdateRequest

        parsed = parse(request, SettingsUpdateRequest)
        changes = {
            name: getattr(parsed, name)
            for name in settings_service.CHANGES
            if name in parsed.model_fields_set
        }
        return Response(settings_service.patch(owner=of_request(request), changes=changes))


class AgentSchemaView(APIView):
    """GET: which agent settings there are, for forms."""

    def get(self, request):
        sdk.require()
        from openhands.sdk.settings import export_agent_settings_schema

        return Response(export_agent_settings_schema().model_dump(mode="json"))


class ConversationSchemaView(APIView):
    """GET: which conversation settings there are, for forms."""

    def get(self, request):
        sdk.require()
        from openhands.sdk.settings import ConversationSettings

        return Response(ConversationSettings.export_schema().model_dump(mode="json"))


class MCPServerView(APIView):
    """POST, PATCH and DELETE one MCP server of the settings."""

    def post(self, request, name):
        sdk.require()
        from openhands.sdk.mcp.config import MCPServer

        documents.require_reachable(parse(request, MCPServer))
        answer = settings_service.add_mcp_server(
            owner=of_request(request), name=names.mcp_server(name), server=request.data
        )
        return Response(answer, status=201)

    def patch(self, request, name):
        sdk.require()
        from openhands.sdk.settings.api_models import MCPServerPatch

        parse(request, MCPServerPatch)
        return Response(
            settings_service.change_mcp_server(
                owner=of_request(request),
                name=names.mcp_server(name),
                change=request.data,
            )
        )

    def delete(self, request, name):
        return Response(
            settings_service.remove_mcp_server(owner=of_request(request), name=names.mcp_server(name))
        )


class SecretsView(APIView):
    """GET: names and descriptions. PUT: create or replace one."""

    def get(self, request):
        profile_id = request.query_params.get("agent_profile_id")
        return Response(
            {"secrets": user_secrets.listed(owner=of_request(request), agent_profile_id=profile_id)}
        )

    def put(self, request):
        object_of(request)
        body = parse(request, SecretBody)
        answer = user_secrets.put(
            owner=of_request(request),
            name=names.secret(body.name),
            value=body.value,
            description=body.description,
        )
        return Response(answer)


class SecretView(APIView):
    """GET: the value as text. DELETE."""

    def get(self, request, name):
        value = user_secrets.value(owner=of_request(request), name=names.secret(name))
        return HttpResponse(
            value,
            content_type="text/plain; charset=utf-8",
            headers={"Cache-Control": "no-store"},
        )

    def delete(self, request, name):
        user_secrets.delete(owner=of_request(request), name=names.secret(name))
        return Response({"deleted": True})
