"""The list of workspaces and parents: adding, removing, listing."""

import hashlib
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from agentserver.errors import Conflict, NotFound
from agentserver.workspace.models import RememberedDirectory

MOST = 1000
"""Of each kind: a user interface shows them all at once."""

Kind = RememberedDirectory.Kind


class Full(Conflict):
    code, sentence = "too_many_workspaces", f"{MOST} are remembered already. Remove some first."


class NotRemembered(NotFound):
    sentence = "That directory is not remembered."


def listed() -> dict[str, list[dict[str, Any]]]:
    """Both lists in the wire's form, in the order in which they were added."""
    lists: dict[str, list[dict[str, Any]]] = {Kind.WORKSPACE: [], Kind.PARENT: []}
    for row in RememberedDirectory.objects.order_by("pk"):
        lists[row.kind].append(_wire(row))
    return {"workspaces": lists[Kind.WORKSPACE], "workspaceParents": lists[Kind.PARENT]}


@transaction.atomic
def add(*, kind: str, items: Sequence[Any]) -> None:
    """Remember ``items`` (id, name, path, maybe parentPath). A path that is known stays as it is."""
    rows = [
        RememberedDirectory(
            kind=kind,
            path=item.path,
            digest=_digest(item.path),
            wire_id=item.id,
            name=item.name,
            parent_path=getattr(item, "parentPath", None),
        )
        for item in items
    ]
    RememberedDirectory.objects.bulk_create(rows, ignore_conflicts=True)
    if RememberedDirectory.objects.filter(kind=kind).count() > MOST:
        raise Full()


def remove(*, kind: str, path: str) -> None:
    """Forget ``path``; the directory itself stays. Raises NotRemembered (404)."""
    deleted, _ = RememberedDirectory.objects.filter(kind=kind, digest=_digest(path)).delete()
    if not deleted:
        raise NotRemembered()


def _digest(path: str) -> str:
    return hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()


def _wire(row: RememberedDirectory) -> dict[str, Any]:
    item = {"id": row.wire_id, "name": row.name, "path": row.path}
    return item if row.parent_path is None else {**item, "parentPath": row.parent_path}
