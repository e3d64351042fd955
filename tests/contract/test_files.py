"""Files: ``/api/file``, the files of one conversation, its static workspace and its archive."""

import hashlib
import http.client
import io
import json
import os
import random
import tarfile
import urllib.parse
import zipfile

import pytest

from tests.contract.conftest import plan, wait_until
from tests.contract.kit import Repo, has_detail

ODD_NAMES = [
    "with space.txt",
    "ünïcödé 文件 🎉.txt",
    "100%.txt",
    "a+b&c=d.txt",
    "quote'\".txt",
    "semi;colon.txt",
    "#hash?.txt",
    ".hidden",
    "new\nline.txt",
]


@pytest.fixture
def upload(http):
    def _upload(path, content=b"content", prefix="/api/file"):
        return http.post(
            f"{prefix}/upload", params={"path": str(path)}, files={"file": ("anything.bin", content)}
        )

    return _upload


@pytest.fixture
def download(http):
    def _download(path, prefix="/api/file", **kwargs):
        return http.get(f"{prefix}/download", params={"path": str(path)}, **kwargs)

    return _download


@pytest.fixture
def subdirs(http):
    def _subdirs(path, **params):
        return http.get("/api/file/search_subdirs", params={"path": str(path), **params})

    return _subdirs


# --- upload and download ---------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 8191, 8192, 8193, 1024 * 1024, 12 * 1024 * 1024 + 7])
def test_bytes_come_back_as_they_went_in(upload, download, tmp_path, size):
    content = random.Random(size).randbytes(size)
    target = tmp_path / "data.bin"
    response = upload(target, content)
    assert (response.status_code, response.json()) == (200, {"success": True, "file_size": size})
    assert target.read_bytes() == content
    response = download(target)
    assert response.status_code == 200
    assert hashlib.sha256(response.content).digest() == hashlib.sha256(content).digest()


def test_a_download_is_an_attachment_of_known_length(download, tmp_path):
    (tmp_path / "report.html").write_bytes(b"<p>hello</p>")
    headers = download(tmp_path / "report.html").headers
    assert headers["content-type"] == "application/octet-stream"
    assert headers["content-length"] == "12"
    assert headers["content-disposition"] == 'attachment; filename="report.html"'


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_file_name_works(upload, download, tmp_path, name):
    assert upload(tmp_path / name, name.encode()).status_code == 200
    assert (tmp_path / name).read_bytes() == name.encode()
    response = download(tmp_path / name)
    assert (response.status_code, response.content) == (200, name.encode())


def test_the_name_of_a_download_survives_non_ascii(download, tmp_path):
    (tmp_path / "grüße 1.txt").write_text("x")
    disposition = download(tmp_path / "grüße 1.txt").headers["content-disposition"]
    assert disposition.lower() == "attachment; filename*=utf-8''gr%c3%bc%c3%9fe%201.txt"


def test_upload_takes_the_name_from_the_path_not_from_the_form(http, tmp_path):
    http.post(
        "/api/file/upload",
        params={"path": str(tmp_path / "wanted.txt")},
        files={"file": ("../../evil.txt", b"x")},
    )
    assert [path.name for path in tmp_path.iterdir()] == ["wanted.txt"]


def test_upload_creates_missing_directories(upload, tmp_path):
    assert upload(tmp_path / "a" / "b" / "c.txt", b"deep").status_code == 200
    assert (tmp_path / "a" / "b" / "c.txt").read_bytes() == b"deep"


def test_upload_replaces_a_longer_file_completely(upload, tmp_path):
    target = tmp_path / "file.txt"
    target.write_bytes(b"x" * 10000)
    assert upload(target, b"short").status_code == 200
    assert target.read_bytes() == b"short"


def test_upload_resolves_dots_in_an_absolute_path(upload, tmp_path):
    (tmp_path / "inner").mkdir()
    assert upload(f"{tmp_path}/inner/../up.txt", b"1").status_code == 200
    assert (tmp_path / "up.txt").read_bytes() == b"1"


def test_a_download_reads_the_file_as_it_is_now(download, tmp_path):
    target = tmp_path / "live.txt"
    for content in (b"first", b"second version"):
        target.write_bytes(content)
        assert download(target).content == content


@pytest.mark.parametrize(
    "given, status, expected",
    [
        ("bytes=2-4", 206, b"234"),
        ("bytes=7-", 206, b"789"),
        ("bytes=-2", 206, b"89"),
        ("bytes=20-30", 416, None),
    ],
)
def test_part_of_a_file_can_be_downloaded(download, tmp_path, given, status, expected):
    (tmp_path / "digits").write_bytes(b"0123456789")
    response = download(tmp_path / "digits", headers={"Range": given})
    assert response.status_code == status
    assert expected is None or response.content == expected


@pytest.mark.parametrize("path", ["relative.txt", "./relative.txt", "../up.txt", "", "~/x"])
def test_a_relative_path_is_refused(upload, download, path):
    has_detail(upload(path), 400)
    has_detail(download(path), 400)


def test_a_missing_file_is_not_found(download, tmp_path):
    has_detail(download(tmp_path / "missing.txt"), 404)
    (tmp_path / "file").write_text("x")
    has_detail(download(tmp_path / "file" / "below"), 404)


def test_a_directory_is_no_file(upload, download, tmp_path):
    has_detail(download(tmp_path), 400)
    has_detail(upload(tmp_path), 400)


def test_a_file_cannot_be_uploaded_below_a_file(upload, tmp_path):
    (tmp_path / "file").write_text("kept")
    has_detail(upload(tmp_path / "file" / "below.txt"), 400)
    has_detail(upload(tmp_path / "file" / "further" / "below.txt"), 400)
    assert (tmp_path / "file").read_text() == "kept"


def test_incomplete_requests_are_refused(http, tmp_path):
    has_detail(http.get("/api/file/download"), 422)
    has_detail(http.post("/api/file/upload", files={"file": ("x", b"1")}), 422)
    has_detail(http.post("/api/file/upload", params={"path": str(tmp_path / "x")}), 422)
    assert not (tmp_path / "x").exists()


@pytest.mark.beyond
@pytest.mark.parametrize("name", ["nul\0byte", "x" * 300], ids=["nul", "too long"])
def test_an_impossible_file_name_is_the_fault_of_the_client(upload, download, http, tmp_path, name):
    """The reference answers 500."""
    path = f"{tmp_path}/{name}"
    has_detail(upload(path), 400)
    assert download(path).status_code in (400, 404)
    has_detail(http.post("/api/file/create_directory", params={"path": path}), 400)


# --- directories -----------------------------------------------------------------------------


def test_create_directory_makes_it_with_its_parents_and_may_be_repeated(http, tmp_path):
    target = tmp_path / "one" / "two"
    for _ in range(2):
        response = http.post("/api/file/create_directory", params={"path": str(target)})
        assert (response.status_code, response.json()) == (200, {"success": True})
        (target / "kept.txt").write_text("kept")
    assert (target / "kept.txt").read_text() == "kept"


def test_create_directory_refuses_what_cannot_be_one(http, tmp_path):
    (tmp_path / "file").write_text("kept")
    for path in (tmp_path / "file", tmp_path / "file" / "below", "relative/path"):
        has_detail(http.post("/api/file/create_directory", params={"path": str(path)}), 400)
    has_detail(http.post("/api/file/create_directory"), 422)
    assert (tmp_path / "file").read_text() == "kept"


def test_home_tells_where_the_user_can_start_browsing(http):
    home = http.get("/api/file/home").json()
    assert set(home) == {"home", "favorites", "locations"}
    assert os.path.isabs(home["home"])
    assert home["locations"] == [{"label": "/", "path": "/"}]
    for entry in home["favorites"]:
        assert entry == {"label": entry["label"], "path": f"{home['home']}/{entry['label']}"}
        assert not entry["label"].startswith(".")


def test_home_lists_the_directories_of_the_home(secured_server):
    root = secured_server.root / "home"
    for name in ("Projects", "archive", ".cache-dir"):
        (root / name).mkdir(exist_ok=True)
    (root / "file").write_text("x")
    http = secured_server.http
    home = http.get("/api/file/home").json()
    assert home["home"] == str(root)
    assert [entry["label"] for entry in home["favorites"]] == ["archive", "Projects"]
    everything = http.get("/api/file/home", params={"include_hidden": True}).json()["favorites"]
    assert ".cache-dir" in [entry["label"] for entry in everything]


@pytest.fixture
def tree(tmp_path):
    for name in ("beta", "Alpha", "alpha", "Gamma", ".secret"):
        (tmp_path / "tree" / name).mkdir(parents=True)
    (tmp_path / "tree" / "file.txt").write_text("x")
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "tree" / "beta")
    (tmp_path / "tree" / "beta" / "below").mkdir()
    return tmp_path / "tree"


VISIBLE = ["Alpha", "alpha", "beta", "Gamma"]


def test_subdirectories_are_listed_by_name_without_files_links_and_hidden_ones(subdirs, tree):
    response = subdirs(tree)
    assert response.status_code == 200
    assert response.json() == {
        "next_page_id": None,
        "items": [{"name": name, "path": str(tree / name)} for name in VISIBLE],
    }


def test_hidden_subdirectories_are_listed_on_demand(subdirs, tree):
    items = subdirs(tree, include_hidden=True).json()["items"]
    assert [item["name"] for item in items] == [".secret", *VISIBLE]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_subdirectories_come_in_pages(subdirs, tree, limit):
    """Names that differ only in case must not confuse the cursor."""
    names, page_id = [], None
    for _ in range(6):
        page = subdirs(tree, limit=limit, **({"page_id": page_id} if page_id else {})).json()
        assert len(page["items"]) <= limit
        names += [item["name"] for item in page["items"]]
        page_id = page["next_page_id"]
        if not page_id:
            break
    assert names == VISIBLE


def test_subdirectories_of_an_empty_directory(subdirs, tmp_path):
    assert subdirs(tmp_path).json() == {"items": [], "next_page_id": None}


def test_subdirectories_of_what_is_no_directory(subdirs, tree):
    has_detail(subdirs(tree / "missing"), 404)
    has_detail(subdirs(tree / "file.txt"), 400)
    has_detail(subdirs("relative"), 400)


@pytest.mark.parametrize("limit", [0, -1, 101, "x"])
def test_subdirectory_pages_have_bounds(subdirs, tree, limit):
    has_detail(subdirs(tree, limit=limit), 422)


# --- archives --------------------------------------------------------------------------------


def tar_of(response):
    assert response.status_code == 200, response.text
    return tarfile.open(fileobj=io.BytesIO(response.content), mode="r:gz")


@pytest.fixture
def archive(http):
    def _archive(path, **params):
        return http.get("/api/file/archive", params={"path": str(path), **params})

    return _archive


def test_a_directory_can_be_fetched_as_tar(archive, tmp_path):
    root = tmp_path / "project"
    for name in ("src/main.py", "node_modules/big.js", "a.pyc", "notes.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "empty").mkdir()
    (tmp_path / "outside.txt").write_text("outside")
    (root / "link").symlink_to(tmp_path / "outside.txt")
    response = archive(root, format="tar.gz")
    assert response.headers["content-type"] == "application/gzip"
    assert 'filename="project.tar.gz"' in response.headers["content-disposition"]
    tar = tar_of(response)
    files = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
    manifest = json.loads(files.pop("project/archive_manifest.json"))
    assert files == {"project/src/main.py": b"src/main.py", "project/notes.txt": b"notes.txt"}
    assert (manifest["file_count"], manifest["total_bytes"]) == (2, 20)
    assert "project/empty" in tar.getnames()
    wait_until(
        lambda: sorted(p.name for p in tmp_path.iterdir()) == ["outside.txt", "project"],
        5,
        message="nothing left behind next to the directory",
    )


def test_the_exclusions_of_a_tar_can_be_chosen(archive, tmp_path):
    root = tmp_path / "project"
    for name in ("node_modules/x.js", "keep.txt", "drop.log", "secrets/prod/key"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")

    def names(**params):
        tar = tar_of(archive(root, format="tar.gz", **params))
        return {m.name.removeprefix("project/") for m in tar.getmembers() if m.isfile()} - {
            "archive_manifest.json"
        }

    assert names(exclude=["*.log", "secrets/prod"]) == {"keep.txt"}
    assert names(use_default_excludes=False) == {
        "node_modules/x.js",
        "keep.txt",
        "drop.log",
        "secrets/prod/key",
    }


def test_the_work_in_a_repository_can_be_fetched_as_a_patch(archive, tmp_path):
    repo = Repo(tmp_path / "repo")
    base = repo.commit(**{"old.txt": "old\n", "gone.txt": "gone\n"})
    repo.write("old.txt", "changed\n")
    repo.write("new.txt", "new\n")
    (repo.path / "gone.txt").unlink()
    response = archive(repo.path, base_ref=base)
    assert response.headers["content-type"].startswith("text/x-patch")
    assert response.headers["x-archive-base-commit"] == base
    assert response.headers["x-archive-head-commit"] == base
    other = Repo(tmp_path / "replay")
    other.commit(**{"old.txt": "old\n", "gone.txt": "gone\n"})
    (tmp_path / "work.patch").write_bytes(response.content)
    other.git("apply", str(tmp_path / "work.patch"))
    assert sorted(p.name for p in other.path.iterdir()) == [".git", "new.txt", "old.txt"]
    assert (other.path / "old.txt").read_text() == "changed\n"
    assert repo.git("status", "--porcelain").splitlines() == [" D gone.txt", " M old.txt", "?? new.txt"], (
        "index untouched"
    )


def test_an_archive_never_holds_the_credentials_of_git(archive, tmp_path):
    repo = Repo(tmp_path / "repo")
    repo.commit(**{"a.txt": "a\n"})
    repo.git("remote", "add", "origin", "https://user:token-to-hide@example.org/x.git")
    response = archive(repo.path, format="tar.gz", use_default_excludes=False)
    assert "repo/.git/HEAD" in tar_of(response).getnames()
    assert "repo/.git/config" not in tar_of(response).getnames()
    assert b"token-to-hide" not in b"".join(
        tar_of(response).extractfile(m).read() for m in tar_of(response).getmembers() if m.isfile()
    )
    assert "token-to-hide" not in str(response.headers)


def test_bad_archive_requests(archive, tmp_path):
    (tmp_path / "file").write_text("x")
    has_detail(archive(tmp_path / "missing"), 404)
    has_detail(archive(tmp_path / "file"), 400)
    has_detail(archive("relative"), 400)
    has_detail(archive(tmp_path), 400)  # a patch needs a repository
    has_detail(archive(tmp_path, format="zip"), 422)
    repo = Repo(tmp_path / "repo")
    repo.commit(**{"a.txt": "a\n"})
    has_detail(archive(repo.path, base_ref="no-such-ref"), 400)
    has_detail(archive(repo.path, base_ref="--output=/tmp/x"), 400)


# --- the trajectory of a conversation --------------------------------------------------------


def test_the_trajectory_of_a_conversation_is_a_zip_of_its_state_and_events(start, http):
    conversation = start(plan({"tool": "finish", "args": {"message": "all done"}}))
    conversation.wait_status("finished", timeout=60)
    response = http.get(f"/api/file/download-trajectory/{conversation.id}")
    assert response.status_code == 200
    hex_id = conversation.id.replace("-", "")
    assert f'filename="{hex_id}.zip"' in response.headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        assert archive.testzip() is None
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    assert {f"{hex_id}/base_state.json", f"{hex_id}/meta.json"} <= set(files)
    events = [
        json.loads(content)
        for name, content in sorted(files.items())
        if name.startswith(f"{hex_id}/events/event-")
    ]
    listed = [event["id"] for event in conversation.events()]
    assert [event["id"] for event in events] == [i for i in listed if i in {event["id"] for event in events}]
    assert {"MessageEvent", "ActionEvent", "ObservationEvent"} <= {e["kind"] for e in events}


def test_a_trajectory_holds_no_api_key(start, http, llm_config):
    conversation = start()
    content = http.get(f"/api/file/download-trajectory/{conversation.id}").content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    assert llm_config["model"].encode() in everything
    assert llm_config["api_key"].encode() not in everything


@pytest.mark.parametrize("conversation_id, status", [("0" * 32, 404), ("nonsense", 422)])
def test_the_trajectory_of_an_unknown_conversation(http, conversation_id, status):
    has_detail(http.get(f"/api/file/download-trajectory/{conversation_id}"), status)


# --- the files of one conversation -----------------------------------------------------------


def test_a_conversation_serves_the_files_of_its_workspace(start, upload, download, workspace, http):
    files = f"{start().path}/file"
    assert upload(workspace / "in.txt", b"inside", files).json() == {"success": True, "file_size": 6}
    assert download(workspace / "in.txt", files).content == b"inside"
    made = http.post(f"{files}/create_directory", params={"path": str(workspace / "made")})
    assert made.status_code == 200 and (workspace / "made").is_dir()


def test_a_conversation_keeps_to_its_workspace(start, upload, download, workspace, tmp_path, http):
    files = f"{start().path}/file"
    (tmp_path / "outside.txt").write_text("outside")
    (workspace / "link.txt").symlink_to(tmp_path / "outside.txt")
    for path in (
        tmp_path / "outside.txt",
        workspace / ".." / "outside.txt",
        "relative.txt",
        workspace / "link.txt",
    ):
        has_detail(download(path, files), 422)
        has_detail(upload(path, b"overwritten", files), 422)
    has_detail(http.post(f"{files}/create_directory", params={"path": str(tmp_path / "x")}), 422)
    has_detail(http.get(f"{files}/archive", params={"path": str(tmp_path), "format": "tar.gz"}), 422)
    assert (tmp_path / "outside.txt").read_text() == "outside"


# --- the static workspace --------------------------------------------------------------------


class Site:
    """GETs below a conversation's workspace with the path exactly as written."""

    def __init__(self, base_url, headers, path):
        self.url, self.headers = urllib.parse.urlsplit(base_url), headers
        self.prefix = f"{path}/workspace"

    def get(self, path="", **headers):
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=20)
        connection.request("GET", self.prefix + path, headers={**self.headers, **headers})
        response = connection.getresponse()
        response.body = response.read()
        connection.close()
        return response


@pytest.fixture
def site(start, workspace, base_url, auth_headers):
    (workspace / "index.html").write_text("<h1>home</h1>")
    (workspace / "docs").mkdir()
    (workspace / "docs" / "index.html").write_text("<h1>docs</h1>")
    (workspace / "bare").mkdir()
    (workspace / "bare" / "file.txt").write_text("grüße")
    return Site(base_url, auth_headers, start().path)


@pytest.mark.parametrize(
    "path, body",
    [
        ("", b"<h1>home</h1>"),
        ("/", b"<h1>home</h1>"),
        ("/index.html", b"<h1>home</h1>"),
        ("/docs", b"<h1>docs</h1>"),
        ("/docs/", b"<h1>docs</h1>"),
        ("/docs/index.html", b"<h1>docs</h1>"),
        ("/docs/../index.html", b"<h1>home</h1>"),
        ("/bare/file.txt", "grüße".encode()),
        ("/bare/file.txt?v=1", "grüße".encode()),
    ],
)
def test_the_workspace_is_a_static_site(site, path, body):
    response = site.get(path)
    assert (response.status, response.body) == (200, body)


@pytest.mark.parametrize(
    "name, content_type",
    [
        ("page.html", "text/html; charset=utf-8"),
        ("style.css", "text/css; charset=utf-8"),
        ("code.js", "text/javascript; charset=utf-8"),
        ("data.json", "application/json"),
        ("image.png", "image/png"),
        ("drawing.svg", "image/svg+xml"),
        ("paper.pdf", "application/pdf"),
        ("text.txt", "text/plain; charset=utf-8"),
        ("unknown", "application/octet-stream"),
    ],
)
def test_a_static_file_has_the_type_of_its_name(site, workspace, name, content_type):
    (workspace / name).write_bytes(b"\x00\x01")
    response = site.get(f"/{name}")
    assert response.status == 200 and response.body == b"\x00\x01"
    assert response.getheader("content-type") == content_type
    assert response.getheader("content-disposition") is None, "shown, not downloaded"


@pytest.mark.parametrize("path", ["/bare", "/bare/", "/missing", "/missing/file.txt", "/index.html/below"])
def test_what_the_workspace_does_not_have_is_not_found(site, path):
    response = site.get(path)
    assert response.status == 404 and "detail" in json.loads(response.body)


@pytest.mark.parametrize(
    "path",
    [
        "/../outside.txt",
        "/%2e%2e/outside.txt",
        "/..%2foutside.txt",
        "/%2e%2e%2foutside.txt",
        "/docs/../../outside.txt",
        "/%2Fetc/passwd",
        "//etc/passwd",
        "/link.txt",
        "/up/outside.txt",
    ],
)
def test_nothing_outside_the_workspace_is_served(site, workspace, path):
    (workspace.parent / "outside.txt").write_text("outside")
    (workspace / "link.txt").symlink_to(workspace.parent / "outside.txt")
    (workspace / "up").symlink_to(workspace.parent)
    response = site.get(path)
    assert response.status in (400, 404) and "detail" in json.loads(response.body)


def test_a_link_inside_the_workspace_is_followed(site, workspace):
    (workspace / "alias.txt").symlink_to("bare/file.txt")
    assert site.get("/alias.txt").body == "grüße".encode()


def test_a_static_file_with_an_odd_name_is_served(site, workspace):
    for name in ODD_NAMES[:-1]:  # line breaks in a URL are nobody's contract
        (workspace / name).write_bytes(name.encode())
        assert site.get("/" + urllib.parse.quote(name)).body == name.encode(), name


def test_part_of_a_static_file_can_be_fetched(site, workspace):
    (workspace / "video.mp4").write_bytes(b"0123456789")
    response = site.get("/video.mp4", Range="bytes=3-5")
    assert (response.status, response.body) == (206, b"345")


@pytest.mark.beyond
def test_files_answer_to_head(site, http, workspace):
    """A browser and most download tools ask first; the reference answers 405."""
    response = http.head(f"{site.prefix}/index.html")
    assert (response.status_code, response.headers["content-length"]) == (200, "13")
    response = http.head("/api/file/download", params={"path": str(workspace / "index.html")})
    assert (response.status_code, response.headers["content-length"]) == (200, "13")


def test_the_static_workspace_of_an_unknown_conversation(base_url, auth_headers):
    for conversation_id, status in (("0" * 32, 404), ("nonsense", 422)):
        unknown = Site(base_url, auth_headers, f"/api/conversations/{conversation_id}")
        assert unknown.get("/index.html").status == status
        assert unknown.get().status == status


def test_the_static_workspace_is_read_only(site, http):
    for method in ("POST", "PUT", "DELETE"):
        assert http.request(method, f"{site.prefix}/index.html").status_code == 405
    assert site.get("/index.html").status == 200


def test_a_workspace_that_has_been_deleted_is_not_found(site, workspace):
    workspace.rename(workspace.parent / "moved")
    assert site.get("/index.html").status == 404
