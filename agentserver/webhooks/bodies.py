"""Request bodies: what a webhook may be."""

import re
import uuid
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agentserver import conf, outgoing

# Written by this server or by HTTP itself.
_RESERVED = {
    "host", "connection", "content-length", "content-type", "transfer-encoding", "upgrade", "te", "trailer",
    "keep-alive", "idempotency-key", "webhook-id", "webhook-timestamp", "webhook-signature",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = re.compile(r"[\x20-\x7e\t]{0,4096}")


def _address(text: str) -> str:
    try:
        url = outgoing.parsed(text)
    except outgoing.BadAddress:
        raise ValueError("Give an http or https address, with a host and without a password in it.") from None
    if url.query or "#" in text or "?" in text:
        raise ValueError("Give an address without query and fragment.")
    if not conf.current().webhook_allow_private_addresses and _is_private(url.host):
        raise ValueError(
            "Private addresses are not called. The operator may set OH_WEBHOOK_ALLOW_PRIVATE_ADDRESSES."
        )
    return text.rstrip("/")


def _is_private(host: str) -> bool:
    """As far as the text says; the address a name stands for is looked at when it is called."""
    try:
        return not outgoing.is_public(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _headers(headers: dict[str, str]) -> dict[str, str]:
    if len(headers) > 20:
        raise ValueError("At most 20 headers.")
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or name.lower() in _RESERVED or not _VALUE.fullmatch(value):
            raise ValueError("A header has a name that is not one of HTTP's own, and one line of ASCII.")
    return headers


Address = Annotated[str, Field(max_length=2048), AfterValidator(_address)]
Headers = Annotated[dict[str, str], AfterValidator(_headers)]
Secret = Annotated[str, Field(max_length=512)]


class WebhookBody(BaseModel):
    """A webhook to be made. Times are seconds."""

    model_config = ConfigDict(extra="forbid")

    base_url: Address
    headers: Headers = {}
    secret: Secret = ""
    event_buffer_size: int = Field(5, ge=1, le=1000)
    flush_delay: float = Field(30, ge=0.1, le=3600)
    num_retries: int = Field(3, ge=0, le=100)
    retry_delay: float = Field(5, ge=0, le=3600)


class WebhookChange(BaseModel):
    """What is named is changed. ``headers`` replaces all; a masked value keeps the one there is."""

    model_config = ConfigDict(extra="forbid")

    base_url: Address | None = None
    headers: Headers | None = None
    secret: Secret | None = None
    event_buffer_size: int | None = Field(None, ge=1, le=1000)
    flush_delay: float | None = Field(None, ge=0.1, le=3600)
    num_retries: int | None = Field(None, ge=0, le=100)
    retry_delay: float | None = Field(None, ge=0, le=3600)
    enabled: bool | None = None


class RedeliverBody(BaseModel):
    """Which conversation; none: all that the webhook has heard of."""

    model_config = ConfigDict(extra="forbid")

    conversation_id: uuid.UUID | None = None
