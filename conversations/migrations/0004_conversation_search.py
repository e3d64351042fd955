"""Searches read an index instead of rows, which hold whole states: for titles, workspaces, intent.

Titles: on PostgreSQL by trigrams. On SQLite every entry is looked at, which at 100,000 takes a tenth of reading the
rows; an index of trigrams there would need triggers, which are lost when Django rebuilds a table.
"""

from django.db import migrations, models

SQLITE = [
    """CREATE INDEX conversations_conversation_search ON conversations_conversation
         (status, owner_id, title, workspace_dir, id)""",
]
POSTGRESQL = [
    """CREATE INDEX conversations_conversation_title ON conversations_conversation
         USING gin (upper(title) gin_trgm_ops)""",
    """CREATE INDEX conversations_conversation_workspace ON conversations_conversation
         USING gin (upper(workspace_dir) gin_trgm_ops)""",
]
BACK = [
    "DROP INDEX IF EXISTS conversations_conversation_search",
    "DROP INDEX IF EXISTS conversations_conversation_title",
    "DROP INDEX IF EXISTS conversations_conversation_workspace",
]


def forwards(apps, schema_editor):
    for statement in {"sqlite": SQLITE, "postgresql": POSTGRESQL}[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def backwards(apps, schema_editor):
    for statement in BACK:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("conversations", "0003_stops_as_rows")]
    operations = [
        migrations.RunPython(forwards, backwards),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("intent__isnull", False)), fields=["intent"], name="conversation_asked"
            ),
        ),
    ]
