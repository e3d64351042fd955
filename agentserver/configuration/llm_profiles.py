"""Saved language models of an owner."""

import json
from collections.abc import Mapping
from typing import Any

from agentserver import sdk
from agentserver.configuration import connections, documents, references, sealing
from agentserver.configuration.models import LLMProfile
from agentserver.configuration.owners import locked, settings_row
from agentserver.configuration.refusals import refuse_quietly
from agentserver.errors import Conflict, NotFound, invalid

LIMIT = 50


class NoSuchProfile(NotFound):
    sentence = "There is no LLM profile of this name."


class ProfileExists(Conflict):
    sentence = "There is an LLM profile of this name already."


class TooManyProfiles(Conflict):
    sentence = f"There are {LIMIT} LLM profiles, as many as are kept. Delete one first."


def listed(*, owner: int | None) -> dict[str, Any]:
    """The wire's ProfileListResponse. Reads JSON only: building an LLM has effects on the process."""
    keys = connections.keys_set(owner=owner)
    rows = LLMProfile.objects.filter(owner=owner).order_by("name")
    return {
        "profiles": [_summary(row, keys) for row in rows],
        "active_profile": settings_row(owner).active_profile,
    }


def _summary(row: LLMProfile, keys: Mapping[str, bool]) -> dict[str, Any]:
    body = json.loads(row.body)
    return {
        "name": row.name,
        "model": body.get("model"),
        "base_url": body.get("base_url"),
        "provider_connection_id": row.connection_id,
        "provider_connection_broken": row.connection_id is not None and row.connection_id not in keys,
        "api_key_set": _key_set(row, body, keys),
    }


def _key_set(row: LLMProfile, body: Mapping[str, Any], keys: Mapping[str, bool]) -> bool:
    key = sealing.opened(body.get("api_key"))
    return bool(key and key.strip()) or keys.get(row.connection_id or "", False)


def detail(*, owner: int | None, name: str, expose: str | None) -> dict[str, Any]:
    """The wire's ProfileDetailResponse; without ``expose`` the keys are null. Raises NoSuchProfile (404)."""
    row, keys = _row(owner, name), connections.keys_set(owner=owner)
    body = json.loads(row.body)
    llm = _model_of(body)
    if expose is not None and row.connection_id in keys:
        llm = connections.applied(owner=owner, llm=llm)
    config = documents.shown(llm, expose)
    if expose is None:
        config |= dict.fromkeys(secret_fields())
    return {"name": row.name, "config": config, "api_key_set": _key_set(row, body, keys)}


def names(*, owner: int | None) -> list[str]:
    return list(LLMProfile.objects.filter(owner=owner).order_by("name").values_list("name", flat=True))


def load(*, owner: int | None, name: str) -> Any:
    """The SDK's LLM with its plain key. Raises NoSuchProfile (404), Invalid (422): no connection."""
    return connections.applied(owner=owner, llm=_model_of(json.loads(_row(owner, name).body)))


def _row(owner: int | None, name: str) -> LLMProfile:
    row = LLMProfile.objects.filter(owner=owner, name=name).first()
    if row is None:
        raise NoSuchProfile()
    return row


@refuse_quietly
def _model_of(body: Mapping[str, Any]) -> Any:
    sdk.require()
    from openhands.sdk.llm import LLM

    return LLM.from_persisted(sealing.opened(body))


@refuse_quietly
def parsed(data: Any, stored: Mapping[str, Any] | None = None) -> Any:
    """The LLM that a client describes; a key that it left out or masked is that of ``stored``.

    Raises Invalid (422).
    """
    sdk.require()
    from openhands.sdk.llm import LLM

    if not isinstance(data, Mapping):
        raise invalid(["body", "llm"], "Input should be an object", "dict_type")
    if not isinstance(data.get("model", ""), str):
        raise invalid(["body", "llm", "model"], "Input should be a valid string", "string_type")
    before = sealing.opened(stored or {})
    plain = sealing.without_masks(sealing.decrypted(data, ("body", "llm")), before)
    kept = {field: before[field] for field in secret_fields() if not plain.get(field) and before.get(field)}
    return LLM.from_persisted({**plain, **kept})


def save(*, owner: int | None, name: str, llm: Any, include_secrets: bool = True) -> None:
    """Create or replace. Raises TooManyProfiles (409), Invalid (422)."""
    with locked(owner):
        row = LLMProfile.objects.filter(owner=owner, name=name).first()
        if row is None:
            if LLMProfile.objects.filter(owner=owner).count() >= LIMIT:
                raise TooManyProfiles()
            row = LLMProfile(owner_id=owner, name=name)
        stored = json.loads(row.body) if row.body else {}
        model = parsed(llm, stored)
        row.connection_id = model.provider_connection_id
        row.body = json.dumps(_persisted(model, stored, llm, include_secrets))
        row.save()


def _persisted(
    model: Any,
    stored: Mapping[str, Any],
    sent: Mapping[str, Any],
    include_secrets: bool,
) -> dict[str, Any]:
    if model.provider_connection_id:
        # The connection is the one place of its key; a copy could come to disagree with it.
        model = model.model_copy(update={"api_key": None, "base_url": None})
    document = sealing.seal_headers(model.to_persisted(context=sealing.for_storage()))
    if not include_secrets:
        for field in secret_fields():
            document.pop(field, None)
    elif not model.provider_connection_id:
        named = {key: value for key, value in sent.items() if value and not sealing.is_mask(value)}
        sealing.keep_unopened({field: stored.get(field) for field in secret_fields()}, document, named)
    return document


def secret_fields() -> tuple[str, ...]:
    from openhands.sdk.llm.llm import LLM_SECRET_FIELDS

    return LLM_SECRET_FIELDS


def delete(*, owner: int | None, name: str) -> None:
    """May be repeated. Raises Conflict (409) naming the profiles that refer to it."""
    with locked(owner) as settings:
        if users := references.referrers(owner, name):
            raise Conflict(f"LLM profile in use by: {', '.join(users)}. Point them at another one first.")
        LLMProfile.objects.filter(owner=owner, name=name).delete()
        if settings.active_profile == name:
            settings.active_profile = None
            settings.save()


def rename(*, owner: int | None, name: str, new_name: str) -> None:
    """What refers to it follows. Raises NoSuchProfile (404), ProfileExists (409)."""
    with locked(owner) as settings:
        row = _row(owner, name)
        if name == new_name:
            return
        if LLMProfile.objects.filter(owner=owner, name=new_name).exists():
            raise ProfileExists()
        row.name = new_name
        row.save()
        references.follow(owner, settings, name, new_name)


def activate(*, owner: int | None, name: str) -> bool:
    """Make it the model of the settings; whether they have a place for it. Raises NoSuchProfile (404)."""
    from agentserver.configuration import pointers

    with locked(owner) as row:
        applied = pointers.point_at_llm_profile(row, name)
        row.save()
        return applied
