"""Paths of the catalogue, below /api/ but for those of ``outside_api``."""

from django.urls import re_path

from agentserver.catalog.views import agents, canvas, extensions, llms, openai

NAME = r"(?P<name>[^/]+)"
JOB = r"(?P<job_id>[^/]+)"

urlpatterns = [
    re_path(r"^llm/models/?\Z", llms.ModelsView.as_view()),
    re_path(r"^llm/models/verified/?\Z", llms.VerifiedModelsView.as_view()),
    re_path(r"^llm/providers/?\Z", llms.ProvidersView.as_view()),
    re_path(r"^llm/subscription/openai/status/?\Z", llms.SubscriptionStatusView.as_view()),
    re_path(r"^llm/subscription/openai/models/?\Z", llms.SubscriptionModelsView.as_view()),
    re_path(r"^llm/subscription/openai/logout/?\Z", llms.SubscriptionLogoutView.as_view()),
    re_path(r"^llm/subscription/openai/device/start/?\Z", llms.DeviceStartView.as_view()),
    re_path(r"^llm/subscription/openai/device/poll/?\Z", llms.DevicePollView.as_view()),
    re_path(r"^tools/?\Z", agents.ToolsView.as_view()),
    re_path(r"^tools/catalog/?\Z", agents.ToolCatalogView.as_view()),
    re_path(r"^hooks/?\Z", agents.HooksView.as_view()),
    re_path(r"^sub-agents/?\Z", agents.SubAgentsView.as_view()),
    re_path(r"^mcp/test/?\Z", agents.MCPTestView.as_view()),
    re_path(r"^mcp/oauth/start/?\Z", agents.OAuthStartView.as_view()),
    re_path(rf"^mcp/oauth/status/{JOB}/?\Z", agents.OAuthStatusView.as_view()),
    re_path(rf"^mcp/oauth/callback/{JOB}/?\Z", agents.OAuthCallbackView.as_view()),
    re_path(r"^acp/models/?\Z", agents.ACPModelsView.as_view()),
    re_path(r"^skills/?\Z", extensions.SkillsView.as_view()),
    re_path(r"^skills/catalog/?\Z", extensions.SkillCatalogView.as_view()),
    re_path(r"^skills/marketplace/?\Z", extensions.SkillMarketplaceView.as_view()),
    re_path(r"^skills/sync/?\Z", extensions.SyncSkillsView.as_view()),
    re_path(r"^skills/install/?\Z", extensions.InstallView.as_view()),
    re_path(r"^skills/installed/?\Z", extensions.InstalledView.as_view()),
    re_path(rf"^skills/installed/{NAME}/?\Z", extensions.OneInstalledView.as_view()),
    re_path(rf"^skills/installed/{NAME}/refresh/?\Z", extensions.RefreshView.as_view()),
    re_path(r"^plugins/?\Z", extensions.PluginsView.as_view()),
    re_path(r"^plugins/fetch/?\Z", extensions.FetchPluginView.as_view()),
    re_path(r"^plugins/marketplace/?\Z", extensions.PluginMarketplaceView.as_view()),
    re_path(r"^plugins/install/?\Z", extensions.InstallPluginView.as_view()),
    re_path(r"^plugins/installed/?\Z", extensions.InstalledPluginsView.as_view()),
    re_path(rf"^plugins/installed/{NAME}/?\Z", extensions.OneInstalledPluginView.as_view()),
    re_path(rf"^plugins/installed/{NAME}/refresh/?\Z", extensions.RefreshPluginView.as_view()),
    re_path(r"^canvas-extensions/installed/?\Z", canvas.CanvasExtensionsView.as_view()),
    re_path(r"^canvas-extensions/install/?\Z", canvas.InstallCanvasExtensionView.as_view()),
    re_path(
        rf"^canvas-extensions/installed/{NAME}(?:/(?P<rest>.*))?\Z", canvas.CanvasExtensionView.as_view()
    ),
]

outside_api = [
    re_path(rf"^app-backends/{NAME}/session/?\Z", canvas.AppBackendSessionView.as_view()),
    re_path(r"^v1/models/?\Z", openai.ModelsView.as_view()),
    re_path(r"^v1/chat/completions/?\Z", openai.ChatView.as_view()),
    re_path(r"^v1/responses/?\Z", openai.ResponsesView.as_view()),
]
