"""Which room may know which: patterns of module names, and the map they draw."""

from dataclasses import dataclass, field

MAP = """
    command                                                          what happened
      |                                                                    ^
    views        parse, call one service, answer                     consumers   one socket; reads rows
      |                                                                    ^
    services     one transaction: check, record intent               live        tail: read, wait for a ring
      |  after commit                                                      ^
    dispatch     to the lane in this process, or to the engine       channel layer  doorbell
      |                                                                    ^
    runner       one conversation in a lane; the agent SDK           models      rows are the record
      |                                                                    ^
    store  --->  writer: insert event, update state, commit ------>  ring after commit
"""


@dataclass(frozen=True)
class Rule:
    """Modules that match ``rooms``, but not ``but``, import nothing that matches ``never``: ``why``."""

    why: str
    rooms: tuple[str, ...]
    never: tuple[str, ...]
    but: tuple[str, ...] = field(default=())


VIEWS = ("*.views", "*.eventviews", "*.views.*", "*.urls")
CONSUMERS = ("*.consumers",)
ASYNC_SIDE = ("conversations.runner", "conversations.lanes", "conversations.loaded", "bashevents.runner")
STORE = ("*.store", "agentserver.writer")
MODELS = ("*.models", "*.querysets", "*.migrations.*")
FRONT = (
    "agentserver.api",
    "agentserver.bodies",
    "agentserver.errors",
    "agentserver.asgi",
    "agentserver.front",
    "agentserver.front.*",
    "agentserver.auth.*",
)

RULES = (
    Rule(
        "a view parses, calls one service and answers: it pushes nothing and runs nothing",
        rooms=VIEWS,
        never=(*CONSUMERS, *ASYNC_SIDE, *STORE, "agentserver.live", "agentserver.sockets", "channels"),
    ),
    Rule(
        "a consumer shows rows: it decides nothing and writes nothing",
        rooms=(*CONSUMERS, "agentserver.sockets"),
        never=(
            *VIEWS,
            *ASYNC_SIDE,
            *STORE,
            "*.dispatch",
            "rest_framework",
            "openhands.sdk.conversation.impl",
        ),
    ),
    Rule(
        "a service records intent and hands it to dispatch: it knows neither HTTP nor sockets nor lanes",
        rooms=("*.services", "*.dispatch"),
        never=(*VIEWS, *CONSUMERS, "rest_framework", "channels", "agentserver.api", "agentserver.sockets"),
    ),
    Rule(
        "what runs conversations and commands knows nothing of those who ask for it",
        rooms=(*ASYNC_SIDE, *STORE),
        never=(*VIEWS, *CONSUMERS, "*.admin", "rest_framework", "channels", "agentserver.api"),
    ),
    Rule(
        "the store keeps what it is given: it starts nothing",
        rooms=STORE,
        never=("*.services", "*.dispatch", *ASYNC_SIDE),
    ),
    Rule(
        "models are the bottom: rows know nobody above them",
        rooms=MODELS,
        never=(
            *VIEWS,
            *CONSUMERS,
            *ASYNC_SIDE,
            *STORE,
            "*.services",
            "*.dispatch",
            "rest_framework",
            "openhands",
        ),
    ),
    Rule(
        "HTTP ends at the views: REST framework is known to them and to the front alone",
        rooms=("*",),
        never=("rest_framework", "drf_spectacular"),
        but=(
            *VIEWS,
            "*.serializers",
            "conversations.starts",  # reads the body of a start request for the views
            *FRONT,
            "agentserver.openapi",
            "agentserver.openapi.*",
            "*.schema",
            "*.schemas",
        ),
    ),
    Rule(
        "sockets end at the consumers: Channels is known to them, to routing and to the doorbell alone",
        rooms=("*",),
        never=("channels",),
        but=(
            *CONSUMERS,
            "agentserver.sockets",
            "agentserver.live",
            "agentserver.routing",
            "agentserver.asgi",
        ),
    ),
    Rule(
        "what all share knows none of the apps; the wiring does",
        rooms=("agentserver.*",),
        never=("conversations", "bashevents"),
        but=("agentserver.urls", "agentserver.routing", "agentserver.*.*"),
    ),
    Rule("conversations do not know bash commands", rooms=("conversations.*",), never=("bashevents",)),
    Rule(
        "a bash command may belong to a conversation's row; what happens there is not its business",
        rooms=("bashevents.*",),
        never=tuple(
            f"conversations.{room}" for room in ("views", "consumers", "services", "dispatch", "runner")
        ),
    ),
    Rule(
        "the agent server of others is what we replace, never what we build on",
        rooms=("*",),
        never=("openhands.agent_server",),
    ),
)
