"""The principal: who acts, as every other module sees it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Principal:
    """Who acts. ``operator`` sees and controls all: session keys, staff, anybody where there are no keys."""

    operator: bool = True
    user_id: int | None = None


OPERATOR = Principal()


def of_user(user: Any) -> Principal | None:
    """The principal of a Django user; None if there is no active one."""
    if user is None or not user.is_active or user.pk is None:
        return None
    return Principal(operator=user.is_staff, user_id=user.pk)
