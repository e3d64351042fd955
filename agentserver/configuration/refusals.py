"""Answers to documents that the SDK's models refuse, without what was refused."""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agentserver.errors import Invalid, Problem, invalid


class NoEncryption(Problem):
    status_code, code = 503, "no_encryption"
    sentence = (
        "Secrets are not shown encrypted because this server was given neither a secret key nor a session "
        "key. Set OH_EXPOSE_ENCRYPTED_SECRETS=true, or one of these keys, and start it again."
    )


def refuse_quietly[**P, T](function: Callable[P, T]) -> Callable[P, T]:
    """Turn what a validator of the SDK raises within ``function`` into 422."""

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        from pydantic import ValidationError

        try:
            return function(*args, **kwargs)
        except ValidationError as error:
            raise of_validation(error) from None
        except (
            TypeError,
            ValueError,
            AttributeError,
            KeyError,
            RecursionError,
        ) as error:
            raise invalid(["body"], _say(error)) from None

    return guarded


def of_validation(error: Any, prefix: tuple[str, ...] = ("body",)) -> Invalid:
    """422 for a pydantic ValidationError. A message that quotes an input is replaced."""
    items = error.errors(include_url=False, include_context=False)
    return Invalid([_item(item, prefix) for item in items])


def _item(item: Mapping[str, Any], prefix: tuple[str, ...]) -> dict[str, Any]:
    message = str(item["msg"])
    if any(text in message for text in texts_in(item.get("input"))):
        message = "This value is not accepted here."
    return {"loc": [*prefix, *item["loc"]], "msg": message, "type": item["type"]}


def texts_in(tree: Any) -> Iterator[str]:
    """The texts in ``tree`` that a message might quote; very short ones occur by chance."""
    if isinstance(tree, str):
        if len(tree) > 3:
            yield tree
    elif isinstance(tree, Mapping):
        for value in tree.values():
            yield from texts_in(value)
    elif isinstance(tree, (list, tuple)):
        for value in tree:
            yield from texts_in(value)
    elif hasattr(tree, "get_secret_value"):
        yield from texts_in(tree.get_secret_value())


def _say(error: Exception) -> str:
    """A sentence that names the kind of fault only: the text may quote what was refused."""
    return f"The document does not have the expected shape ({type(error).__name__})."
