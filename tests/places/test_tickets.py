import pytest

from agentserver.auth.principals import OPERATOR, Principal
from agentserver.places import tickets

TARGET = "/api/conversations/1/file/download?path=%2Fa"


@pytest.mark.parametrize("principal", [OPERATOR, Principal(operator=False, user_id=7), Principal(user_id=3)])
def test_a_ticket_says_for_whom_the_request_is(principal):
    assert tickets.redeem(tickets.issue(principal, "GET", TARGET), "GET", TARGET) == principal


@pytest.mark.parametrize(
    ("method", "target"), [("POST", TARGET), ("GET", TARGET + "b"), ("GET", TARGET.replace("1", "2"))]
)
def test_a_ticket_holds_for_one_request(method, target):
    assert tickets.redeem(tickets.issue(OPERATOR, "GET", TARGET), method, target) is None


def test_a_ticket_holds_for_a_minute(monkeypatch):
    ticket = tickets.issue(OPERATOR, "GET", TARGET)
    issued = tickets.time.time()
    monkeypatch.setattr(tickets.time, "time", lambda: issued + tickets.SECONDS + 2)

    assert tickets.redeem(ticket, "GET", TARGET) is None


@pytest.mark.parametrize("ticket", ["", ";", ";;;", "1;operator;;00", "x" * 1000, "1;operator;é;ü"])
def test_what_is_no_ticket_opens_nothing(ticket):
    assert tickets.redeem(ticket, "GET", TARGET) is None


def test_a_user_cannot_make_themselves_an_operator():
    ticket = tickets.issue(Principal(operator=False, user_id=7), "GET", TARGET)

    assert tickets.redeem(ticket.replace("user", "operator"), "GET", TARGET) is None
