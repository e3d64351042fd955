"""The remembered workspaces, and the editor, as a user interface sees them."""

import pytest


@pytest.fixture
def workspaces(http):
    """Callable: a request to the list of workspaces; what it adds is removed again."""
    added = []

    def _workspaces(method, json=None):
        added.extend(one["path"] for one in (json or {}).get("workspaces", []))
        return http.request(method, "/api/workspaces", json=json)

    yield _workspaces
    for path in added:
        http.delete("/api/workspaces", params={"path": path})


def item(path, name="name", **more):
    return {"id": path, "name": name, "path": path, **more}


def test_a_workspace_is_remembered_once_in_order_of_arrival(workspaces):
    workspaces("POST", json={"workspaces": [item("/srv/b")]})
    answer = workspaces(
        "POST", json={"workspaces": [item("/srv/a", parentPath="/srv"), item("/srv/b", "new")]}
    )

    assert answer.json()["workspaces"] == [item("/srv/b"), item("/srv/a", parentPath="/srv")]
    assert workspaces("GET").json() == answer.json()
    assert workspaces("DELETE").status_code == 422


def test_parents_are_a_list_of_their_own(http, workspaces):
    answer = http.post("/api/workspaces/parents", json={"parents": [item("/srv")]})

    assert answer.json()["workspaceParents"] == [item("/srv")]
    assert http.delete("/api/workspaces", params={"path": "/srv"}).status_code == 404
    assert http.delete("/api/workspaces/parents", params={"path": "/srv"}).json() == {"deleted": True}
    assert http.delete("/api/workspaces/parents", params={"path": "/srv"}).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"workspaces": "x"},
        {"workspaces": [{"id": "", "name": "n", "path": "/p"}]},
        {"workspaces": [item("/p" * 3000)]},
        {"workspaces": [item("/nul\0")]},
        {"workspaces": [item("/p")] * 1001},
    ],
    ids=["nothing", "no list", "empty id", "long path", "nul", "too many"],
)
def test_what_is_no_workspace_is_refused(http, body):
    assert http.post("/api/workspaces", json=body).status_code == 422


def test_a_long_path_is_remembered(http, workspaces):
    path = "/" + "/".join(f"{n:0100d}" for n in range(40))
    workspaces("POST", json={"workspaces": [item(path)]})

    assert item(path) in workspaces("GET").json()["workspaces"]
    assert http.delete("/api/workspaces", params={"path": path}).json() == {"deleted": True}


def test_the_editor_is_off_and_the_desktop_absent(http):
    """The shared server runs with OH_ENABLE_VSCODE=false."""
    assert http.get("/api/vscode/status").json()["enabled"] is False
    assert http.get("/api/vscode/url").status_code == 503
    assert http.get("/api/desktop/url").status_code == 404
