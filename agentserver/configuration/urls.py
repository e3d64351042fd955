"""Paths of settings, secrets, profiles and connections, below /api/."""

from django.urls import re_path

from agentserver.configuration.views import connections, profiles, settings

NAME = r"(?P<name>[^/]+)"

urlpatterns = [
    re_path(r"^settings/?\Z", settings.SettingsView.as_view()),
    re_path(r"^settings/agent-schema/?\Z", settings.AgentSchemaView.as_view()),
    re_path(r"^settings/conversation-schema/?\Z", settings.ConversationSchemaView.as_view()),
    re_path(rf"^settings/mcp/{NAME}/?\Z", settings.MCPServerView.as_view()),
    re_path(r"^settings/secrets/?\Z", settings.SecretsView.as_view()),
    re_path(rf"^settings/secrets/{NAME}/?\Z", settings.SecretView.as_view()),
    re_path(r"^profiles/?\Z", profiles.LLMProfilesView.as_view()),
    re_path(rf"^profiles/{NAME}/?\Z", profiles.LLMProfileView.as_view()),
    re_path(rf"^profiles/{NAME}/rename/?\Z", profiles.RenameLLMProfileView.as_view()),
    re_path(rf"^profiles/{NAME}/activate/?\Z", profiles.ActivateLLMProfileView.as_view()),
    re_path(rf"^profiles/{NAME}/validate/?\Z", profiles.ValidateLLMProfileView.as_view()),
    re_path(r"^agent-profiles/?\Z", profiles.AgentProfilesView.as_view()),
    re_path(rf"^agent-profiles/{NAME}/?\Z", profiles.AgentProfileView.as_view()),
    re_path(rf"^agent-profiles/{NAME}/rename/?\Z", profiles.RenameAgentProfileView.as_view()),
    re_path(
        rf"^agent-profiles/{NAME}/activate/?\Z",
        profiles.ActivateAgentProfileView.as_view(),
    ),
    re_path(
        rf"^agent-profiles/{NAME}/materialize/?\Z",
        profiles.MaterializeAgentProfileView.as_view(),
    ),
    re_path(r"^meta-profiles/?\Z", profiles.MetaProfilesView.as_view()),
    re_path(rf"^meta-profiles/{NAME}/?\Z", profiles.MetaProfileView.as_view()),
    re_path(
        rf"^meta-profiles/{NAME}/activate/?\Z",
        profiles.ActivateMetaProfileView.as_view(),
    ),
    re_path(r"^llm/provider-connections/?\Z", connections.ConnectionsView.as_view()),
    re_path(
        r"^llm/provider-connections/(?P<connection_id>[^/]+)/?\Z",
        connections.ConnectionView.as_view(),
    ),
]
