"""Downloads: parts, conditions, and what is no file."""

import os
import socket

import pytest

from agentserver.workspace import serving
from agentserver.workspace.paths import Outside


@pytest.fixture
def download(http):
    """Callable: download a path with any headers."""
    return lambda path, method="GET", **headers: http.request(
        method, "/api/file/download", params={"path": str(path)}, headers=headers
    )


@pytest.fixture
def digits(tmp_path):
    path = tmp_path / "digits"
    path.write_bytes(b"0123456789")
    return path


@pytest.mark.parametrize(
    ("wanted", "status", "body"),
    [
        ("bytes=0-0", 206, b"0"),
        ("bytes=5-99", 206, b"56789"),
        ("bytes=-99", 206, b"0123456789"),
        ("bytes=10-", 416, b""),
        ("bytes=-0", 416, b""),
        ("bytes=6-2", 200, b"0123456789"),
        ("bytes=0-1,4-5", 200, b"0123456789"),
        ("bytes=x", 200, b"0123456789"),
        ("lines=1-2", 200, b"0123456789"),
    ],
)
def test_a_range_is_served_refused_or_ignored(download, digits, wanted, status, body):
    response = download(digits, Range=wanted)

    assert (response.status_code, response.content) == (status, body)
    if status == 206:
        assert response.headers["content-length"] == str(len(body))
    if status == 416:
        assert response.headers["content-range"] == "bytes */10"


def test_an_unchanged_file_is_not_sent_again(download, digits):
    etag = download(digits).headers["etag"]

    again = download(digits, **{"If-None-Match": f'"other", {etag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    digits.write_bytes(b"new content")
    assert download(digits, **{"If-None-Match": etag}).content == b"new content"


def test_a_range_of_a_changed_file_is_the_whole_file(download, digits):
    etag = download(digits).headers["etag"]
    digits.write_bytes(b"abcdefghijk")

    response = download(digits, **{"Range": "bytes=2-3", "If-Range": etag})

    assert (response.status_code, response.content) == (200, b"abcdefghijk")


def test_head_tells_the_length_of_a_large_file_without_sending_it(download, tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(5 * 1024**3)

    response = download(path, method="HEAD")

    assert (response.status_code, response.headers["content-length"]) == (200, str(5 * 1024**3))


def test_what_is_no_regular_file_is_refused_at_once(download, http, tmp_path):
    fifo, listener = tmp_path / "fifo", socket.socket(socket.AF_UNIX)
    os.mkfifo(fifo)
    listener.bind(str(tmp_path / "socket"))

    for path in (fifo, tmp_path / "socket", "/dev/null"):
        assert download(path).status_code == 400
        refused = http.post("/api/file/upload", params={"path": str(path)}, files={"file": ("x", b"1")})
        assert refused.status_code == 400
    listener.close()


def test_a_directory_that_became_a_link_outwards_is_not_followed(tmp_path):
    """The path was resolved while it was a directory; somebody swapped it before it was opened."""
    root, secret = tmp_path / "root", tmp_path / "secret"
    for directory in (root, secret):
        directory.mkdir()
        (directory / "file").write_text(directory.name)
    (root / "swapped").symlink_to(secret)

    with pytest.raises(Outside):
        serving.open_file(root / "swapped" / "file", root)


@pytest.mark.parametrize("name", ["a b.txt", 'quo"te', "back\\slash", "new\nline", "naïve", "100%"])
def test_the_name_of_a_download_never_breaks_its_header(name):
    [value] = serving.attachment(name).values()

    assert value.isascii()
    assert value.isprintable()
