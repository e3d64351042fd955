"""The static site: where a name finally leads decides."""

import pytest

from agentserver.errors import Problem
from agentserver.workspace import site


@pytest.fixture
def root(tmp_path):
    for name in ("site/inner", "site-evil", "secret"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("site/index.html", "site/inner/page.txt", "site-evil/file", "secret/file"):
        (tmp_path / name).write_text(name)
    (tmp_path / "site/out").symlink_to(tmp_path / "secret/file")
    (tmp_path / "site/up").symlink_to("..")
    (tmp_path / "site/loop").symlink_to("loop")
    (tmp_path / "site/in").symlink_to("inner/page.txt")
    (tmp_path / "site/inner/index.html").symlink_to("../../secret/file")
    return tmp_path / "site"


@pytest.mark.parametrize(
    "name",
    [
        "../secret/file",
        "inner/../../secret/file",
        "../site-evil/file",
        "out",
        "up/secret/file",
        "/etc/hostname",
        "inner",  # its index page is a link outwards
        "nul\0",
        "x" * 300,
        "\ud800",
        "loop",
        "%2e%2e/secret/file",
        "..%5csecret",
        "inner/page.txt/below",
        "missing",
    ],
)
def test_nothing_but_the_site_is_opened(root, name):
    with pytest.raises(Problem) as refused:
        site.open_page(root, name)

    assert refused.value.status_code in (400, 404)
    assert "secret" not in str(refused.value.body)


@pytest.mark.parametrize(
    ("name", "content"),
    [("", "site/index.html"), ("in", "site/inner/page.txt"), ("inner/./page.txt", "site/inner/page.txt")],
)
def test_what_leads_into_the_site_is_opened(root, name, content):
    file, kind = site.open_page(root, name)

    with file:
        assert file.read().decode() == content
    assert kind.endswith("; charset=utf-8")


@pytest.mark.parametrize(("name", "kind"), [("a.tar.gz", "application/gzip"), ("a.wasm", "application/wasm")])
def test_compressed_files_are_not_shown_as_what_is_in_them(name, kind):
    assert site.content_type(name) == kind
