"""Settings and profiles in the admin: who has what. Secrets are not among it, and nothing is edited here.

Edits go through the API, which knows what fits together (``/api/settings``, ``/api/profiles``).
"""

import json

from django.contrib import admin
from django.utils.html import format_html

from agentserver.adminlists import ReadOnlyAdmin
from agentserver.configuration import models, settings_service


class ReadOnly(ReadOnlyAdmin):
    list_select_related = ["owner"]


@admin.register(models.Settings)
class SettingsAdmin(ReadOnly):
    list_display = ["owner", "active_profile", "updated_at"]
    list_display_links = ["updated_at"]
    fields = ["owner", "active_profile", "active_agent_profile_id", "updated_at", "document"]

    def has_delete_permission(self, request, obj=None):
        return False

    @admin.display(description="Settings, secrets masked")
    def document(self, row):
        owner = row.owner_id
        shown = settings_service.view(owner=owner)
        return format_html("<pre>{}</pre>", json.dumps(shown, indent=2, ensure_ascii=False, default=str))


class Named(ReadOnly):
    list_display = ["name", "owner", "updated_at"]
    search_fields = ["=name", "=owner__username"]
    search_help_text = "A name, or that of an account"
    fields = ["name", "owner", "created_at", "updated_at"]


admin.site.register(models.Secret, Named)
admin.site.register(models.LLMProfile, Named)
admin.site.register(models.AgentProfile, Named)
admin.site.register(models.MetaProfile, Named)


@admin.register(models.ProviderConnection)
class ProviderConnectionAdmin(ReadOnly):
    list_display = ["display_name", "owner", "provider", "base_url"]
    fields = ["display_name", "owner", "provider", "base_url", "connection_id"]
