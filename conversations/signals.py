"""What others may want to know of a conversation, said inside the transaction that makes it so.

Receivers run on the writer thread, in that transaction: they use the ORM, briefly, and what they
raise undoes it. What has to follow the commit they leave to ``transaction.on_commit``. Both are sent
with ``conversation_id``.
"""

from django.dispatch import Signal

changed = Signal()
"""It began, came to rest after a stop, got another title or tags, or is being deleted."""

leaving = Signal()
"""It is deleted and at rest; its rows go next. A receiver that returns True keeps them, and sees to
it that ``removal.remove`` is called again."""
