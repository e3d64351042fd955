"""Server-Sent Events: the same events as REST, numbered, resumable, live."""

import json
import threading

import httpx
import pytest

from tests.contract.dialogue import finish, think


@pytest.fixture
def listen_to(base_url, auth_headers):
    """Callable: the events of a conversation's stream as they come, until ``stop(events)``."""

    def _listen_to(conversation, stop, headers=None):
        events = []
        with httpx.stream(
            "GET",
            f"{base_url}{conversation.path}/events/stream",
            headers=auth_headers | (headers or {}),
            timeout=30,
        ) as response:
            assert response.status_code == 200
            assert response.headers["content-type"].startswith("text/event-stream")
            number = None
            for line in response.iter_lines():
                if line.startswith("id: "):
                    number = int(line[4:])
                elif line.startswith("data: "):
                    events.append((number, json.loads(line[6:])))
                    if stop(events):
                        return events
        return events

    return _listen_to


def test_the_stream_replays_and_numbers_the_history(talk, listen_to):
    conversation = talk(think("hm"), finish())
    conversation.wait_finished()
    log = conversation.events()

    seen = listen_to(conversation, lambda e: len(e) == len(log), {"Last-Event-ID": "-1"})

    assert [number for number, _ in seen] == list(range(len(log)))
    assert [event for _, event in seen] == log


def test_a_lost_stream_goes_on_where_it_ended(talk, listen_to):
    conversation = talk(think("hm"), finish())
    conversation.wait_finished()
    log = conversation.events()

    seen = listen_to(conversation, lambda e: e[-1][0] == len(log) - 1, {"Last-Event-ID": "2"})

    assert [event["id"] for _, event in seen] == [event["id"] for event in log[3:]]


def test_what_happens_arrives_while_it_happens(talk, listen_to, wait_until):
    conversation = talk(think("hm", delay=0.5), finish(), run=False)
    seen = []
    reader = threading.Thread(
        target=lambda: seen.extend(listen_to(conversation, lambda e: e[-1][1].get("value") == "finished")),
        daemon=True,
    )
    reader.start()
    conversation.ok("run")
    conversation.wait_finished()

    reader.join(20)

    assert not reader.is_alive()
    numbers = [number for number, _ in seen]
    assert numbers == sorted(set(numbers))
    assert [e["kind"] for _, e in seen].count("ActionEvent") == 2


@pytest.mark.parametrize("place", ["x", "1.5"])
def test_a_place_that_is_no_number_is_refused(talk, http, place):
    answer = http.get(f"{talk().path}/events/stream", headers={"Last-Event-ID": place})

    assert answer.status_code == 422
