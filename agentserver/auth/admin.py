"""API tokens in the admin: made and revoked there; the text is shown once, after saving. And accounts."""

from django.contrib import admin, messages
from django.contrib.auth import admin as accounts
from django.contrib.auth.models import Group, User
from django.utils.html import format_html

from agentserver.auth import tokens
from agentserver.auth.models import ApiToken


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    list_display = ["name", "user", "created_at", "last_used_at"]
    list_select_related = ["user"]
    search_fields = ["name__startswith", "=user__username"]
    search_help_text = "The beginning of a name, or an account"
    show_full_result_count = False
    fields = ["user", "name"]
    raw_id_fields = ["user"]  # its label is read aloud; that of the autocompletion is not

    def has_change_permission(self, request, obj=None):
        return False  # there is nothing to change: revoke it and make another

    def has_view_permission(self, request, obj=None):
        return super().has_change_permission(request, obj) or super().has_view_permission(request, obj)

    def save_model(self, request, obj, form, change):
        made, text = tokens.create(user=obj.user, name=obj.name)
        obj.pk, obj.digest, obj.created_at = made.pk, made.digest, made.created_at
        sentence = "Copy this token now, it is not shown again: <code>{}</code>"
        messages.warning(request, format_html(sentence, text))


# Permissions are chosen in plain lists: Django's two boxes beside each other have marks whose text
# readers of screens are not given.
admin.site.unregister([User, Group])


@admin.register(User)
class UserAdmin(accounts.UserAdmin):
    filter_horizontal = ()

    def get_deleted_objects(self, objs, request):
        """What belongs to an account goes with it, also settings, which nobody deletes by themselves."""
        shown, counts, _, protected = super().get_deleted_objects(objs, request)
        return shown, counts, set(), protected


@admin.register(Group)
class GroupAdmin(accounts.GroupAdmin):
    filter_horizontal = ()
