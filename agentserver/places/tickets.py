"""What a request carries that one process of this server passes on to another: for whom it is, sealed.

The seal is made with a key derived from ``OH_SECRET_KEY``, which all processes have. It holds for the method
and the target, for a minute.
"""

import hashlib
import hmac
import time

from agentserver import keys
from agentserver.auth.principals import Principal

HEADER = b"x-agentserver-ticket"
SECONDS = 60
"""How long a ticket holds, and how far clocks may be apart."""


def issue(principal: Principal, method: str, target: str) -> str:
    """A ticket for one request. ``target``: path and query as they are sent."""
    who = "operator" if principal.operator else "user"
    text = f"{int(time.time())};{who};{principal.user_id or ''}"
    return f"{text};{_seal(text, method, target)}"


def redeem(ticket: str, method: str, target: str) -> Principal | None:
    """For whom the request is; None for a ticket that is not ours, or for something else, or old."""
    text, _, seal = ticket.rpartition(";")
    if not hmac.compare_digest(seal.encode(), _seal(text, method, target).encode()):
        return None
    issued, who, user_id = text.split(";")
    if abs(time.time() - int(issued)) > SECONDS:
        return None
    return Principal(operator=who == "operator", user_id=int(user_id) if user_id else None)


def _seal(text: str, method: str, target: str) -> str:
    key = hashlib.sha256(f"places:{keys.installation_key()}".encode()).digest()
    return hmac.new(
        key, f"{text}\n{method}\n{target}".encode("utf-8", "surrogateescape"), "sha256"
    ).hexdigest()
