"""Triggers keep how many conversations and events there are of each sort, so that no count looks at them all.

A later change of a model that rebuilds its table on SQLite drops these triggers: it has to make them again
(``tests/conversations/test_tally_triggers.py`` fails otherwise).
"""

from django.db import migrations, models

# A conversation counts twice: among all (owner 0), and among its owner's.
SQLITE = [
    """CREATE TRIGGER conversations_event_tally_added AFTER INSERT ON conversations_event BEGIN
         INSERT INTO conversations_eventtally (conversation_id, kind, source, count)
           VALUES (new.conversation_id, new.kind, new.source, 1)
           ON CONFLICT (conversation_id, kind, source) DO UPDATE SET count = count + 1;
       END""",
    """CREATE TRIGGER conversations_tally_added AFTER INSERT ON conversations_conversation BEGIN
         INSERT INTO conversations_conversationtally (owner, status, count, folded)
           SELECT 0, new.status, 1, 1 UNION ALL
           SELECT new.owner_id, new.status, 1, 1 WHERE new.owner_id IS NOT NULL
           ON CONFLICT (owner, status) WHERE folded = 1 DO UPDATE SET count = count + 1;
       END""",
    """CREATE TRIGGER conversations_tally_removed AFTER DELETE ON conversations_conversation BEGIN
         UPDATE conversations_conversationtally SET count = count - 1
           WHERE owner IN (0, old.owner_id) AND status = old.status AND folded = 1;
       END""",
    """CREATE TRIGGER conversations_tally_changed AFTER UPDATE OF status, owner_id ON conversations_conversation
         WHEN old.status <> new.status OR old.owner_id IS NOT new.owner_id BEGIN
           UPDATE conversations_conversationtally SET count = count - 1
             WHERE owner IN (0, old.owner_id) AND status = old.status AND folded = 1;
           INSERT INTO conversations_conversationtally (owner, status, count, folded)
             SELECT 0, new.status, 1, 1 UNION ALL
             SELECT new.owner_id, new.status, 1, 1 WHERE new.owner_id IS NOT NULL
             ON CONFLICT (owner, status) WHERE folded = 1 DO UPDATE SET count = count + 1;
         END""",
]
SQLITE_BACK = [
    "DROP TRIGGER conversations_event_tally_added",
    "DROP TRIGGER conversations_tally_added",
    "DROP TRIGGER conversations_tally_removed",
    "DROP TRIGGER conversations_tally_changed",
]
# Events: one row for a statement, not for an event, as a fork inserts thousands. Sorted, so that two writers
# meet in one order. Conversations: rows are only added, so writers never wait for each other (decision 16).
POSTGRESQL = [
    """CREATE FUNCTION conversations_event_tally() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO conversations_eventtally AS tally (conversation_id, kind, source, count)
           SELECT conversation_id, kind, source, count(*) FROM added GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
           ON CONFLICT (conversation_id, kind, source) DO UPDATE SET count = tally.count + EXCLUDED.count;
         RETURN NULL;
       END $$""",
    """CREATE TRIGGER conversations_event_tally_added AFTER INSERT ON conversations_event
         REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION conversations_event_tally()""",
    """CREATE FUNCTION conversations_tally() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF TG_OP <> 'INSERT' THEN
           INSERT INTO conversations_conversationtally (owner, status, count, folded)
             SELECT one, OLD.status, -1, false FROM unnest(ARRAY[0, OLD.owner_id]) AS one WHERE one IS NOT NULL;
         END IF;
         IF TG_OP <> 'DELETE' THEN
           INSERT INTO conversations_conversationtally (owner, status, count, folded)
             SELECT one, NEW.status, 1, false FROM unnest(ARRAY[0, NEW.owner_id]) AS one WHERE one IS NOT NULL;
         END IF;
         RETURN NULL;
       END $$""",
    """CREATE TRIGGER conversations_tally_added AFTER INSERT ON conversations_conversation
         FOR EACH ROW EXECUTE FUNCTION conversations_tally()""",
    """CREATE TRIGGER conversations_tally_removed AFTER DELETE ON conversations_conversation
         FOR EACH ROW EXECUTE FUNCTION conversations_tally()""",
    """CREATE TRIGGER conversations_tally_changed AFTER UPDATE OF status, owner_id ON conversations_conversation
         FOR EACH ROW WHEN (OLD.status <> NEW.status OR OLD.owner_id IS DISTINCT FROM NEW.owner_id)
         EXECUTE FUNCTION conversations_tally()""",
]
POSTGRESQL_BACK = [
    "DROP TRIGGER conversations_event_tally_added ON conversations_event",
    "DROP TRIGGER conversations_tally_added ON conversations_conversation",
    "DROP TRIGGER conversations_tally_removed ON conversations_conversation",
    "DROP TRIGGER conversations_tally_changed ON conversations_conversation",
    "DROP FUNCTION conversations_event_tally()",
    "DROP FUNCTION conversations_tally()",
]
# After the triggers, whose making waits for the writers there are: nothing comes in between uncounted.
FILL = [
    """INSERT INTO conversations_eventtally (conversation_id, kind, source, count)
         SELECT conversation_id, kind, source, count(*) FROM conversations_event
         GROUP BY conversation_id, kind, source""",
    """INSERT INTO conversations_conversationtally (owner, status, count, folded)
         SELECT 0, status, count(*), true FROM conversations_conversation GROUP BY status UNION ALL
         SELECT owner_id, status, count(*), true FROM conversations_conversation
         WHERE owner_id IS NOT NULL GROUP BY owner_id, status""",
]


def forwards(apps, schema_editor):
    triggers = {"sqlite": SQLITE, "postgresql": POSTGRESQL}[schema_editor.connection.vendor]
    for statement in triggers + FILL:
        schema_editor.execute(statement)


def backwards(apps, schema_editor):
    for statement in {"sqlite": SQLITE_BACK, "postgresql": POSTGRESQL_BACK}[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("conversations", "0004_conversation_search")]
    operations = [
        migrations.CreateModel(
            name="ConversationTally",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "owner",
                    models.BigIntegerField(
                        help_text="A user's id, which may be gone; 0 for all conversations"
                    ),
                ),
                ("status", models.CharField(max_length=32)),
                ("count", models.IntegerField()),
                ("folded", models.BooleanField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["owner", "status"], name="conversation_tally_rows"),
                    models.Index(
                        condition=models.Q(("folded", False)),
                        fields=["id"],
                        name="conversation_tally_changes",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("folded", True)),
                        fields=("owner", "status"),
                        name="conversation_tally",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="EventTally",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "conversation_id",
                        "kind",
                        "source",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("kind", models.CharField(max_length=64)),
                ("source", models.CharField(max_length=32)),
                ("count", models.PositiveIntegerField()),
                (
                    "conversation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="tallies",
                        to="conversations.conversation",
                    ),
                ),
            ],
        ),
        migrations.RunPython(forwards, backwards),
    ]
