"""Validation errors say what is wrong and never what was sent."""

from types import SimpleNamespace

import pytest
from django.db import OperationalError
from pydantic import BaseModel, ValidationError, field_validator

from agentserver.errors import answer, from_pydantic

SECRET = "canary-6f1e\nwith a line"


class Picky(BaseModel):
    kind: object

    @field_validator("kind")
    @classmethod
    def _quote(cls, value):
        raise ValueError(f"Unknown kind {value!r}, or {value}")


class Outer(BaseModel):
    inner: object

    @field_validator("inner")
    @classmethod
    def _nested(cls, value):
        try:
            Inner.model_validate(value)
        except ValidationError as error:
            raise ValueError(str(error)) from None


class Inner(BaseModel):
    number: int


def message_of(model, body):
    with pytest.raises(ValidationError) as caught:
        model.model_validate(body)
    return str(from_pydantic(caught.value).body)


@pytest.mark.parametrize("value", [SECRET, {"a": SECRET}, [SECRET, {"b": [SECRET]}]])
def test_a_message_that_quotes_the_input_is_masked(value):
    text = message_of(Picky, {"kind": value})
    assert "canary" not in text
    assert "Unknown kind" in text


def test_another_errors_text_inside_a_message_ends_before_its_input():
    text = message_of(Outer, {"inner": {"number": "canary" + "x" * 200}})
    assert "canary" not in text


def test_plain_messages_stay_as_they_are():
    assert "Input should be a valid integer" in message_of(Inner, {"number": "integer"})


def test_a_database_that_is_away_is_said_to_be_away():
    answered = answer(OperationalError("connection refused"), {"request": SimpleNamespace(path="/api/x")})

    assert (answered.status_code, answered.data["code"]) == (503, "database_away")
