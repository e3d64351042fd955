"""Directories that a user interface remembers: workspaces, and parents that workspaces lie in."""

from django.db import models


class RememberedDirectory(models.Model):
    """One remembered directory. ``wire_id`` and ``name`` are the client's; the path is what counts."""

    class Kind(models.TextChoices):
        WORKSPACE = "workspace"
        PARENT = "parent"

    kind = models.CharField(max_length=16, choices=Kind.choices)
    path = models.CharField(max_length=4096)
    digest = models.CharField(
        max_length=64, help_text="SHA-256 of the path: the path is too long for an index"
    )
    wire_id = models.CharField(max_length=4096)
    name = models.CharField(max_length=256)
    parent_path = models.CharField(max_length=4096, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "remembered directories"
        constraints = [models.UniqueConstraint(fields=["kind", "digest"], name="remembered_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
