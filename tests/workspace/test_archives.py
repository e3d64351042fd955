"""Archives and generated answers: bounded, complete, without traces."""

import asyncio
import gzip
import io
import tarfile
import threading

import pytest

from agentserver.workspace import excludes, patches, steps, tars


def unpacked(pieces):
    tar = tarfile.open(fileobj=io.BytesIO(gzip.decompress(b"".join(pieces))))  # noqa: SIM115
    return {member.name: member for member in tar.getmembers()}, tar


def test_a_tar_is_made_in_small_pieces(tmp_path):
    (tmp_path / "root").mkdir()
    with (tmp_path / "root/large").open("wb") as file:
        file.truncate(50_000_000)

    pieces = list(tars.tar_gz(tmp_path / "root", []))

    assert max(map(len, pieces)) <= tars.PIECE
    members, _ = unpacked(pieces)
    assert members["root/large"].size == 50_000_000


@pytest.mark.parametrize("length", [0, 3, 2_000_000])
def test_a_file_that_changes_its_length_meanwhile_keeps_the_tar_readable(tmp_path, length):
    root = tmp_path / "root"
    root.mkdir()
    for name in ("a", "z"):
        (root / name).write_bytes(b"x" * 1_000_000)
    pieces = []
    for piece in tars.tar_gz(root, []):
        pieces.append(piece)
        (root / "a").write_bytes(b"y" * length)

    members, tar = unpacked(pieces)

    assert tar.extractfile(members["root/z"]).read() == b"x" * 1_000_000


def test_links_stay_links_and_never_lead_out(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "file").write_text("x")
    (root / "in").symlink_to("file")
    (root / "absolute").symlink_to(root / "file")
    (root / "out").symlink_to("../outside")

    members, _ = unpacked(tars.tar_gz(root, []))

    assert members["root/in"].linkname == "file"
    assert not {"root/out", "root/absolute"} & set(members)


@pytest.mark.parametrize(
    ("pattern", "path", "is_directory", "left_out"),
    [
        ("dist/", "a/dist", True, True),
        ("dist/", "a/dist", False, False),
        ("*.pyc", "a/b.pyc", False, True),
        ("a/b", "a/b", True, True),
        ("a/b", "x/a/b", True, False),
        ("name", "deep/name", False, True),
    ],
)
def test_patterns(pattern, path, is_directory, left_out):
    assert excludes.matches([pattern], path, is_directory=is_directory) is left_out


def test_a_patch_carries_binary_files_and_leaves_the_repository_alone(make_repository):
    repository, replay = make_repository(), make_repository("replay")
    for each in (repository, replay):
        each.commit({"a.txt": "a\n"})
    repository.write("b.bin", bytes(range(256)))
    repository.write("node_modules/x.js", "x")
    make_repository("repository/nested")  # without a commit, git could not add it
    before = repository.git("count-objects")

    base = patches.base_of(repository.path, "HEAD")
    with patches.patch(repository.path, base, excludes.DEFAULT) as patch:
        (replay.path.parent / "patch").write_bytes(patch.read())

    replay.git("apply", str(replay.path.parent / "patch"))
    assert (replay.path / "b.bin").read_bytes() == bytes(range(256))
    assert not (replay.path / "node_modules").exists()
    assert repository.git("count-objects") == before
    assert repository.git("status", "--porcelain", "--", "b.bin") == "?? b.bin"


def test_headers_tell_no_credentials(make_repository):
    repository = make_repository()
    repository.commit({"a": "a"})
    repository.git("remote", "add", "origin", "https://user:hide-me@example.org/x.git?token=hide-me")

    headers = patches.headers(repository.path, None)

    assert headers["X-Archive-Repo-Remote"] == "https%3A%2F%2F%2A%2A%2A%2A%40example.org%2Fx.git"
    assert "hide-me" not in str(headers)


async def test_closing_waits_for_the_step_that_runs():
    entered, leave, ended = threading.Event(), threading.Event(), threading.Event()

    def pieces():
        try:
            entered.set()
            leave.wait(10)
            yield b"piece"
        finally:
            ended.set()

    made = steps.Steps(pieces())
    reading = asyncio.create_task(anext(aiter(made)))
    await asyncio.to_thread(entered.wait, 10)
    reading.cancel()
    closing = asyncio.create_task(asyncio.to_thread(made.close))
    leave.set()
    await closing

    assert ended.is_set()
