"""What a server counts, and what one finds who reads every page of it."""

STATUSES = ("idle", "running", "paused", "waiting_for_confirmation", "finished", "error", "stuck", None)
SORTS = (
    {"kind": "MessageEvent"},
    {"kind": "ActionEvent"},
    {"source": "agent"},
    {"source": "user"},
    {"kind": "MessageEvent", "source": "user"},
)


def assert_counts_are_right(http):
    """Of all conversations that ``http`` may see, by status. Nothing may change meanwhile."""
    told, found = {}, {}
    for status in STATUSES:
        wanted = {} if status is None else {"status": status}
        told[status] = _json(http, "/api/conversations/count", wanted)
        found[status] = len(_all(http, "/api/conversations/search", wanted))
    assert told == found


def assert_events_are_counted(conversation):
    """Of one conversation (a ``Dialogue``), by kind and source."""
    told = [_json(conversation.http, f"{conversation.path}/events/count", sort) for sort in SORTS]
    assert told == [len(conversation.events(**sort)) for sort in SORTS]


def _all(http, path, wanted):
    items, page_id = [], ""
    while page_id is not None:
        page = _json(http, path, {"limit": 100, **wanted, "page_id": page_id})
        items += page["items"]
        page_id = page["next_page_id"]
    return items


def _json(http, path, params):
    response = http.get(path, params=params)
    assert response.status_code == 200, response.text
    return response.json()
