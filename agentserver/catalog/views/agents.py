"""What agents are made of: tools, hooks, sub-agents, MCP servers, ACP models."""

from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver import sdk
from agentserver.api import parse
from agentserver.catalog import acp, mcp, mcp_oauth, projects
from agentserver.catalog.bodies import ACPBody, CallbackBody, HooksBody, MCPTestBody, ProjectBody
from agentserver.configuration.owners import of_request


class ToolsView(APIView):
    """GET: names of the tools that agents may be given."""

    def get(self, request):
        sdk.require()
        from openhands.sdk.tool import list_registered_tools

        return Response(list_registered_tools())


class ToolCatalogView(APIView):
    """GET: the tools with what a person needs for choosing."""

    def get(self, request):
        sdk.require()
        from openhands.sdk.tool.registry import list_tool_catalog

        return Response({"tools": [entry.model_dump(mode="json") for entry in list_tool_catalog()]})


class HooksView(APIView):
    """POST {project_dir}: the hooks of a project."""

    waits = True

    def post(self, request):
        body = parse(request, HooksBody) if request.data is not None else HooksBody()
        return Response({"hook_config": projects.hooks(project_dir=body.project_dir)})


class SubAgentsView(APIView):
    """POST: the sub-agents of the sources that are asked for."""

    waits = True

    def post(self, request):
        wanted = parse(request, ProjectBody) if request.data is not None else ProjectBody()
        return Response({"agents": projects.sub_agents(wanted=wanted)})


class MCPTestView(APIView):
    """POST {server, name, timeout, tool_call}: try an MCP server out. A failure is an answer."""

    waits = True

    def post(self, request):
        body = parse(request, MCPTestBody)
        answer = mcp.tested(
            server=mcp.parsed(body.server), name=body.name, timeout=body.timeout, call=body.tool_call
        )
        return Response(answer)


class OAuthStartView(APIView):
    """POST, as for a test: begin to sign in."""

    waits = True

    def post(self, request):
        return Response(mcp_oauth.start(owner=of_request(request), wanted=parse(request, MCPTestBody)))


class OAuthStatusView(APIView):
    """GET: how the sign-in stands."""

    def get(self, request, job_id):
        return Response(mcp_oauth.status(owner=of_request(request), job_id=job_id))


class OAuthCallbackView(APIView):
    """POST {callback_url}: where the person's browser was sent at last."""

    waits = True

    def post(self, request, job_id):
        url = parse(request, CallbackBody).callback_url
        return Response(mcp_oauth.call_back(owner=of_request(request), job_id=job_id, callback_url=url))


class ACPModelsView(APIView):
    """POST {agent_settings, secrets, refresh}: which models an ACP agent offers."""

    waits = True

    def post(self, request):
        return Response(acp.models(**parse(request, ACPBody).model_dump()))
