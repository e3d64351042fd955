"""One user cannot take all: sockets and runs are counted for each."""

import pytest

from agentserver.auth import limits
from agentserver.auth.doors import OPERATOR, Principal
from agentserver.errors import TooMany
from conversations import services
from conversations.models import Status

ANN, BOB = Principal(operator=False, user_id=1), Principal(operator=False, user_id=2)


def test_sockets_of_a_user_are_bounded_and_given_back(configure):
    configure(max_sockets_per_user=2)
    sockets = limits.Sockets()
    assert [sockets.take(ANN) for _ in range(3)] == [True, True, False]
    assert sockets.take(BOB)

    sockets.give_back(ANN)
    assert sockets.take(ANN)


def test_operators_are_not_counted(configure):
    configure(max_sockets_per_user=1)
    sockets = limits.Sockets()
    assert all(sockets.take(OPERATOR) for _ in range(10))
    assert all(sockets.take(Principal(operator=True, user_id=3)) for _ in range(10))


def test_who_left_is_not_remembered():
    sockets = limits.Sockets()
    sockets.take(ANN)
    sockets.give_back(ANN)
    assert not sockets._open


@pytest.mark.django_db(transaction=True)
def test_runs_of_a_user_are_bounded(configure, make_user, make_conversation, monkeypatch):
    monkeypatch.setattr("conversations.dispatch.reserve", lambda: "a lane")
    configure(max_runs_per_user=2)
    ann, sue = make_user("ann"), make_user("sue", staff=True)
    for owner in (ann, ann, sue, sue, None):
        make_conversation(owner=owner, status=Status.RUNNING)

    with pytest.raises(TooMany, match="You run 2"):
        services._reserve(ann.pk)
    assert services._reserve(sue.pk) == "a lane"
    assert services._reserve(None) == "a lane"
