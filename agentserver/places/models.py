"""Which runner answers for which disk."""

from django.db import models


class Place(models.Model):
    """One runner process whose queue has a disk of its own. It says every some seconds that it is there."""

    runner = models.CharField(max_length=64, primary_key=True)
    queue = models.CharField(max_length=64, db_index=True)
    address = models.CharField(max_length=255, help_text="Where web processes reach it")
    seen_at = models.DateTimeField(help_text="By the database's clock")

    def __str__(self) -> str:
        return f"{self.queue} at {self.address}"
