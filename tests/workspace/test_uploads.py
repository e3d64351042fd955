"""Uploads: all or nothing, whatever the body does."""

import io
import os
import socket

import httpx
import pytest

from agentserver.errors import Invalid
from agentserver.workspace import uploads

START = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'


def test_a_body_that_breaks_off_leaves_nothing(http, agent_server, tmp_path, wait_until):
    target = tmp_path / "made" / "for" / "it.bin"
    url = httpx.URL(agent_server.url)
    request = (
        f"POST /api/file/upload?path={target} HTTP/1.1\r\nHost: {url.host}:{url.port}\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 9000000\r\n\r\n"
    ).encode()
    with socket.create_connection((url.host, url.port)) as connection:
        connection.sendall(request + START + b"x" * 2_000_000)
        wait_until(lambda: target.parent.is_dir() and list(target.parent.iterdir()), 10)

    wait_until(lambda: list(tmp_path.iterdir()) == [], 10)


def test_a_form_without_its_end_is_refused_and_keeps_the_old_file(tmp_path):
    target = tmp_path / "kept.txt"
    target.write_text("old")

    with pytest.raises(Invalid):
        uploads.receive(body=io.BytesIO(START + b"new"), boundary=b"b", target=target)

    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("kept.txt", "old")]


def test_a_chunked_upload_of_unknown_length_arrives(http, tmp_path):
    def body():
        yield START
        for _ in range(40):
            yield b"0123456789" * 10_000
        yield b"\r\n--b--\r\n"

    response = http.post(
        "/api/file/upload",
        params={"path": str(tmp_path / "big")},
        content=body(),
        headers={"Content-Type": "multipart/form-data; boundary=b"},
    )

    assert response.json() == {"success": True, "file_size": 4_000_000}
    assert (tmp_path / "big").stat().st_size == 4_000_000


def test_an_upload_keeps_the_mode_and_follows_the_link(http, tmp_path):
    (tmp_path / "script").write_text("old")
    (tmp_path / "script").chmod(0o755)
    (tmp_path / "link").symlink_to("script")

    http.post("/api/file/upload", params={"path": str(tmp_path / "link")}, files={"file": ("x", b"new")})

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "script").read_text() == "new"
    assert (tmp_path / "script").stat().st_mode & 0o777 == 0o755
    assert sorted(os.listdir(tmp_path)) == ["link", "script"]


def test_other_fields_are_passed_over(tmp_path):
    field = b'--b\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n'
    other = b'--b\r\nContent-Disposition: form-data; name="other"; filename="y"\r\n\r\nno\r\n'

    size = uploads.receive(
        body=io.BytesIO(field + other + START + b"yes\r\n--b--\r\n"), boundary=b"b", target=tmp_path / "x"
    )

    assert (size, (tmp_path / "x").read_bytes()) == (3, b"yes")
