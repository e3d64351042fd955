"""Making the SDK's conversation: a new one from a request, an old one from its row."""

import importlib
from collections.abc import Callable
from typing import Any

import orjson
from openhands.sdk.conversation.request import StartConversationRequest
from openhands.sdk.workspace import LocalWorkspace

from agentserver import conf, sdk
from agentserver.configuration import stores
from agentserver.errors import invalid
from agentserver.observability import tracing
from conversations import infos, streams, titles
from conversations.lanes import Lanes
from conversations.loaded import Loaded
from conversations.models import Command, Conversation, Status
from conversations.sdkconversation import RunnerConversation
from conversations.store import DatabaseFileStore

# Kept of a request for loading and display. What the state keeps (agent, secrets, tags) is not here.
_KEPT = {
    "worktree", "worktree_options", "user_id", "plugins", "hook_config", "client_tools",
    "tool_module_qualnames", "agent_definitions", "autotitle", "title_llm_profile", "prompt",
    "max_iterations", "stuck_detection", "observability_metadata", "observability_tags",
    "observability_span_name", "observability_parent_span_context",
}  # fmt: skip


def persistence_dir() -> str:
    """Where tools put files beside a conversation; the SDK appends the conversation's id."""
    configuration = conf.current()
    return str(configuration.conversations_path or configuration.persistence_dir / "conversations")


def create(
    *,
    row: Conversation,
    request: StartConversationRequest,
    agent: Any,
    profile: Any,
    commands: list[Command],
    lanes: Lanes,
    admit: Callable[[], None],
) -> Loaded:
    """Build the conversation and insert its row and first commands at once, if ``admit`` lets it.

    Raises IntegrityError if the id exists; Invalid if the SDK refuses the request; what ``admit`` raises.
    """
    store = DatabaseFileStore(row.id, epoch=1)
    kept = request.model_dump(
        mode="json", include=_KEPT, exclude_defaults=True, context={"cipher": sdk.cipher()}
    )
    if profile is not None:
        kept["launched_agent_profile"] = profile.model_dump(mode="json")
    row.request = orjson.dumps(kept).decode()
    conversation = _conversation(
        store,
        row,
        request.workspace,
        kept,
        agent=agent,
        secrets=request.secrets,
        client_tools=request.client_tools,
        plugins=request.plugins,
        hook_config=request.hook_config,
        tags=request.tags,
    )
    if request.confirmation_policy.kind != "NeverConfirm":
        conversation.set_confirmation_policy(request.confirmation_policy)
    if request.security_analyzer is not None:
        conversation.set_security_analyzer(request.security_analyzer)
    store.describe = lambda: infos.describe(conversation.state, kept)
    conversation.save()
    try:
        store.create(row, commands, admit)
    except BaseException:
        conversation.close()
        raise
    loaded = Loaded(store, conversation, lanes, kept)
    loaded.wants_title = titles.wanted(row, kept)
    return loaded


def load(row: Conversation, lanes: Lanes, *, frozen: bool = False) -> Loaded:
    """The conversation of an existing row that this process has claimed. Worker thread.

    ``frozen``: a copy of one that another process may have; nothing of it is ever written.
    """
    kept = orjson.loads(row.request)
    register(kept)
    store = DatabaseFileStore.load(row)
    store.frozen = frozen  # before the SDK has it: it saves the state while it loads
    from openhands.sdk.hooks import HookConfig
    from openhands.sdk.plugin import PluginSource

    plugins = [PluginSource.model_validate(source) for source in kept.get("plugins") or []]
    hooks = HookConfig.model_validate(kept["hook_config"]) if kept.get("hook_config") else None
    workspace = LocalWorkspace(working_dir=row.workspace_dir)
    conversation = _conversation(
        store, row, workspace, kept, agent=None, plugins=plugins or None, hook_config=hooks
    )
    store.describe = lambda: infos.describe(conversation.state, kept)
    if row.status in (Status.RUNNING, Status.WAITING):
        conversation.keep_open_calls()
    loaded = Loaded(store, conversation, lanes, kept)
    said = row.events.filter(kind="MessageEvent", source="user").exists()
    loaded.wants_title = not said and titles.wanted(row, kept)
    return loaded


def _conversation(
    store: DatabaseFileStore,
    row: Conversation,
    workspace: LocalWorkspace,
    kept: dict[str, Any],
    **options: Any,
) -> RunnerConversation:
    options |= _observability(kept)
    with stores.acting_for(row.owner_id):  # the profiles it switches between are its owner's
        return _made(store, row.id, workspace, kept, options)


def _made(store: Any, conversation_id: Any, workspace: Any, kept: Any, options: Any) -> RunnerConversation:
    return RunnerConversation(
        workspace=workspace,
        conversation_id=conversation_id,
        persistence_dir=persistence_dir(),
        file_store=store,
        cipher=sdk.cipher(),
        visualizer=None,
        delete_on_close=False,
        max_iteration_per_run=kept.get("max_iterations", 500),
        stuck_detection=kept.get("stuck_detection", True),
        stream_callbacks=[streams.Streams(store.group).forward],
        callbacks=[tracing.Tools()],
        profile_store_dir=conf.current().persistence_dir / "profiles",
        **options,
    )


def _observability(kept: dict[str, Any]) -> dict[str, Any]:
    return {
        "user_id": kept.get("user_id"),
        "observability_metadata": kept.get("observability_metadata"),
        "observability_tags": kept.get("observability_tags"),
        "observability_span_name": kept.get("observability_span_name", "conversation"),
        "observability_parent_span_context": kept.get("observability_parent_span_context"),
    }


def register(kept: dict[str, Any]) -> None:
    """Import the tool modules and register the sub-agents that a request names. Raises Invalid."""
    for module in kept.get("tool_module_qualnames", {}).values():
        try:
            importlib.import_module(module)
        except Exception:
            raise invalid(
                ["body", "tool_module_qualnames"], "A tool's module cannot be imported here."
            ) from None
    if definitions := kept.get("agent_definitions"):
        from openhands.sdk.subagent.registry import agent_definition_to_factory, register_agent_if_absent
        from openhands.sdk.subagent.schema import AgentDefinition

        for definition in map(AgentDefinition.model_validate, definitions):
            register_agent_if_absent(
                name=definition.name,
                factory_func=agent_definition_to_factory(definition),
                description=definition,
            )
