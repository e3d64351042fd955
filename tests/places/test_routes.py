import uuid

import pytest

from agentserver.places.routes import Disk, disk_of

ONE = uuid.UUID("12345678-1234-4234-8234-123456789abc")


@pytest.mark.parametrize(
    "path",
    [
        f"/api/conversations/{ONE}/file/download",
        f"/api/conversations/{ONE.hex}/file/upload",
        f"/api/conversations/{ONE}/git/changes",
        f"/api/conversations/{ONE}/git/commits/abc/changes",
        f"/api/conversations/{ONE}/bash/execute_bash_command",
        f"/api/conversations/{ONE}/workspace",
        f"/api/conversations/{ONE}/workspace/index.html",
        f"/api/conversations/{ONE}/workspace/a\nb",
    ],
)
def test_files_git_and_bash_of_a_conversation_are_about_its_disk(path):
    assert disk_of("GET", path) == Disk(ONE)


def test_a_new_conversation_gets_a_disk_and_a_deleted_one_leaves_it():
    assert disk_of("POST", "/api/conversations") == Disk(new=True)
    assert disk_of("DELETE", f"/api/conversations/{ONE}/") == Disk(ONE)


def test_the_machines_own_routes_are_about_a_disk():
    for path in ("/api/file/upload", "/api/git/changes", "/api/bash/start_bash_command"):
        assert disk_of("POST", path) == Disk()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/conversations"),
        ("GET", f"/api/conversations/{ONE}"),
        ("POST", f"/api/conversations/{ONE}/events"),
        ("POST", f"/api/conversations/{ONE}/interrupt"),
        ("GET", f"/api/file/download-trajectory/{ONE}"),
        ("GET", f"/api/conversations/{ONE}/file/download-trajectory/{ONE}"),
        ("GET", "/api/git/repositories/search"),
        ("GET", f"/api/conversations/{ONE}/workspaces"),
        ("GET", "/dashboard/"),
    ],
)
def test_what_is_made_of_rows_is_about_none(method, path):
    assert disk_of(method, path) is None
