"""Paths of settings, secrets, profiles and connections, below /api/."""

from django.urls import re_path

from agentserver.configuration.views import connections, profiles, settings

NAME = r"(?P<name>[^/]+)"

urlpatterns = [
    re_path(r"^settings/?$", settings.SettingsView.as_view()),
    re_path(r"^settings/agent-schema/?$", settings.AgentSchemaView.as_view()),
    re_path(r"^settings/conversation-schema/?$", settings.ConversationSchemaView.as_view()),
    re_path(rf"^settings/mcp/{NAME}/?$", settings.MCPServerView.as_view()),
    re_path(r"^settings/secrets/?$", settings.SecretsView.as_view()),
    re_path(rf"^settings/secrets/{NAME}/?$", settings.SecretView.as_view()),
    re_path(r"^profiles/?$", profiles.LLMProfilesView.as_view()),
    re_path(rf"^profiles/{NAME}/?$", profiles.LLMProfileView.as_view()),
    re_path(rf"^profiles/{NAME}/rename/?$", profiles.RenameLLMProfileView.as_view()),
    re_path(rf"^profiles/{NAME}/activate/?$", profiles.ActivateLLMProfileView.as_view()),
    re_path(rf"^profiles/{NAME}/validate/?$", profiles.ValidateLLMProfileView.as_view()),
    re_path(r"^agent-profiles/?$", profiles.AgentProfilesView.as_view()),
    re_path(rf"^agent-profiles/{NAME}/?$", profiles.AgentProfileView.as_view()),
    re_path(rf"^agent-profiles/{NAME}/rename/?$", profiles.RenameAgentProfileView.as_view()),
    re_path(
        rf"^agent-profiles/{NAME}/activate/?$",
        profiles.ActivateAgentProfileView.as_view(),
    ),
    re_path(
        rf"^agent-profiles/{NAME}/materialize/?$",
        profiles.MaterializeAgentProfileView.as_view(),
    ),
    re_path(r"^meta-profiles/?$", profiles.MetaProfilesView.as_view()),
    re_path(rf"^meta-profiles/{NAME}/?$", profiles.MetaProfileView.as_view()),
    re_path(
        rf"^meta-profiles/{NAME}/activate/?$",
        profiles.ActivateMetaProfileView.as_view(),
    ),
    re_path(r"^llm/provider-connections/?$", connections.ConnectionsView.as_view()),
    re_path(
        r"^llm/provider-connections/(?P<connection_id>[^/]+)/?$",
        connections.ConnectionView.as_view(),
    ),
]
