"""API tokens of users: what is stored opens nothing."""

from django.conf import settings
from django.db import models


class ApiToken(models.Model):
    """A user's key for ``X-Session-API-Key``. Its text is shown once; only a digest is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, help_text="What it is for, so that you know it again")
    digest = models.CharField(max_length=64, unique=True, editable=False, help_text="SHA-256 of the token")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "API token"
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"
