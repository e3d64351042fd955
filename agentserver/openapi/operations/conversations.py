"""Conversations and their events."""

from agentserver.openapi.operation import Operation
from agentserver.openapi.operation import operation as op

_SDK = "openhands.sdk.conversation"
_OWN = "conversations.requests"
_ONE = "/api/conversations/{conversation_id}"
_EVENT = "openhands.sdk.event:Event"
_FILTERS = "kind source body timestamp__gte:time timestamp__lt:time"


def _post(action: str, body: str | None = None, answer: str = "Success", **fields) -> Operation:
    return op("POST", f"{_ONE}/{action}", body=body, answer=answer, errors=(404,), **fields)


def _collection(base: str, **fields) -> tuple[Operation, ...]:
    """What is the same below the present path and the older one."""
    return (
        op("GET", base, answer=["ConversationInfo"], query="ids*:uuids include_skills:bool", **fields),
        op(
            "POST",
            base,
            body=f"{_SDK}.request:StartConversationRequest",
            answer="ConversationInfo",
            query="include_skills:bool",
            also_ok=(201,),
            errors=(429,),
            **fields,
        ),
        op(
            "GET",
            f"{base}/search",
            answer="ConversationPage",
            query="page_id limit:limit status sort_order include_skills:bool",
            **fields,
        ),
        op("GET", f"{base}/count", answer={"type": "integer"}, query="status", **fields),
        op(
            "GET",
            f"{base}/{{conversation_id}}",
            answer="ConversationInfo",
            query="include_skills:bool",
            errors=(404,),
            **fields,
        ),
    )


OPERATIONS = (
    *_collection("/api/conversations"),
    *_collection("/api/acp/conversations", deprecated=True),
    op("PATCH", _ONE, body=f"{_OWN}:UpdateConversation", answer="Success", errors=(404,)),
    op("DELETE", _ONE, answer="Success", errors=(404,)),
    op("GET", f"{_ONE}/agent_final_response", answer="FinalResponse", errors=(404,)),
    _post("run"),
    _post("pause"),
    _post("interrupt"),
    _post("condense"),
    _post("ask_agent", f"{_OWN}:AskAgent", "Answer"),
    _post("secrets", f"{_OWN}:UpdateSecrets"),
    _post("confirmation_policy", f"{_OWN}:SetPolicy"),
    _post("security_analyzer", f"{_OWN}:SetAnalyzer"),
    _post("switch_llm", f"{_OWN}:SwitchLLM"),
    _post("switch_profile", f"{_OWN}:SwitchProfile"),
    _post("switch_acp_model", f"{_OWN}:SwitchModel"),
    _post("load_plugin", f"{_OWN}:LoadPlugin"),
    _post("navigate", f"{_OWN}:Navigate", "ConversationInfo", query="include_skills:bool"),
    _post("fork", f"{_OWN}:ForkConversation", "ConversationInfo", ok=201, query="include_skills:bool"),
    _post(
        "children",
        f"{_SDK}.request:StartChildConversationRequest",
        f"{_SDK}.request:StartChildConversationResponse",
        ok=201,
    ),
    _post("goal", f"{_OWN}:StartGoal"),
    _post("goal/resume"),
    _post("goal/stop"),
    op("GET", f"{_ONE}/runtime", answer={"type": "object"}, errors=(404,)),
    op("POST", f"{_ONE}/runtime/reprovision", answer={"type": "object"}, errors=(404,)),
    op("GET", f"{_ONE}/events", answer=[_EVENT], errors=(404,)),
    op(
        "POST",
        f"{_ONE}/events",
        body=f"{_SDK}.request:SendMessageRequest",
        answer="Success",
        errors=(404, 429),
    ),
    op(
        "GET",
        f"{_ONE}/events/search",
        answer="EventPage",
        query=f"page_id limit:limit sort_order {_FILTERS}",
        errors=(404,),
    ),
    op("GET", f"{_ONE}/events/count", answer={"type": "integer"}, query=_FILTERS, errors=(404,)),
    op(
        "POST",
        f"{_ONE}/events/respond_to_confirmation",
        body=f"{_OWN}:Confirmation",
        answer="Success",
        errors=(404, 429),
    ),
    op("GET", f"{_ONE}/events/{{event_id}}", answer=_EVENT, errors=(404,)),
)
