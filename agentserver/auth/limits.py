"""How much one user may hold at once. Operators are not counted: they are who sets the limits."""

import collections

from agentserver import conf
from agentserver.auth.principals import Principal


class Sockets:
    """Open sockets by user, of this process. Used on the loop that serves them."""

    def __init__(self) -> None:
        self._open: collections.Counter[int] = collections.Counter()

    def take(self, principal: Principal) -> bool:
        """Count one more; False if the user holds as many as they may."""
        user = _counted(principal)
        if user is None:
            return True
        if self._open[user] >= conf.current().max_sockets_per_user:
            return False
        self._open[user] += 1
        return True

    def give_back(self, principal: Principal) -> None:
        user = _counted(principal)
        if user is None:
            return
        self._open[user] -= 1
        if self._open[user] <= 0:
            del self._open[user]


sockets = Sockets()


def _counted(principal: Principal) -> int | None:
    return None if principal.operator else principal.user_id
