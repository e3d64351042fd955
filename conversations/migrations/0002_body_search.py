"""Body search finds substrings by an index of trigrams: FTS5 on SQLite, pg_trgm on PostgreSQL."""

from django.db import migrations

# Only messages have a body, so only they are indexed; see conversations/texts.py.
SQLITE = [
    """CREATE VIRTUAL TABLE conversations_event_body USING fts5(
         body, content='conversations_event', content_rowid='id', tokenize='trigram case_sensitive 1')""",
    """CREATE TRIGGER conversations_event_body_added AFTER INSERT ON conversations_event
         WHEN new.body <> '' BEGIN
           INSERT INTO conversations_event_body(rowid, body) VALUES (new.id, new.body);
         END""",
    """CREATE TRIGGER conversations_event_body_removed AFTER DELETE ON conversations_event
         WHEN old.body <> '' BEGIN
           INSERT INTO conversations_event_body(conversations_event_body, rowid, body)
             VALUES ('delete', old.id, old.body);
         END""",
    "INSERT INTO conversations_event_body(rowid, body) SELECT id, body FROM conversations_event WHERE body <> ''",
]
SQLITE_BACK = [
    "DROP TRIGGER conversations_event_body_added",
    "DROP TRIGGER conversations_event_body_removed",
    "DROP TABLE conversations_event_body",
]
POSTGRESQL = [
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    """CREATE INDEX conversations_event_body ON conversations_event
         USING gin (body gin_trgm_ops) WHERE body <> ''""",
]
POSTGRESQL_BACK = ["DROP INDEX conversations_event_body"]


def forwards(apps, schema_editor):
    for statement in {"sqlite": SQLITE, "postgresql": POSTGRESQL}[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def backwards(apps, schema_editor):
    for statement in {"sqlite": SQLITE_BACK, "postgresql": POSTGRESQL_BACK}[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("conversations", "0001_initial")]
    operations = [migrations.RunPython(forwards, backwards)]
