"""Output: what a program wrote comes out as it went in, however it was cut on the way."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bashevents import output
from bashevents.output import Chunker


def pieces(data, cuts):
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


@given(st.binary(max_size=200), st.lists(st.integers(0, 10_000), max_size=20))
def test_the_way_bytes_are_cut_does_not_change_the_text(data, cuts):
    chunker = Chunker()

    for piece in pieces(data, cuts):
        chunker.stdout.feed(piece)

    assert "".join(chunk.stdout for chunk in chunker.last(0)) == data.decode("utf-8", "replace")


@given(st.text("é€🎉x", max_size=60), st.lists(st.integers(0, 10_000), max_size=20))
def test_no_character_is_lost_by_looking_while_it_arrives(text, cuts):
    chunker, chunks = Chunker(), []

    for piece in pieces(text.encode(), cuts):
        chunker.stdout.feed(piece)
        chunks += chunker.rest()
    chunks += chunker.last(0)

    assert "".join(chunk.stdout for chunk in chunks) == text


def test_chunks_are_numbered_over_both_streams_and_only_the_last_has_an_exit_code(monkeypatch):
    monkeypatch.setattr(output, "CHUNK", 10)
    chunker = Chunker()

    chunker.stdout.feed(b"o" * 25)
    chunker.stderr.feed(b"e" * 8)
    chunks = list(chunker.last(3))

    assert [chunk.order for chunk in chunks] == [0, 1, 2, 3]
    assert [chunk.exit_code for chunk in chunks] == [None, None, None, 3]
    assert all(len(chunk.stdout) + len(chunk.stderr) <= 10 for chunk in chunks)
    assert "".join(chunk.stdout for chunk in chunks) == "o" * 25
    assert "".join(chunk.stderr for chunk in chunks) == "e" * 8


@pytest.mark.parametrize("size", [0, 9, 10, 11, 20])
def test_there_is_always_exactly_one_last_chunk(monkeypatch, size):
    monkeypatch.setattr(output, "CHUNK", 10)
    chunker = Chunker()

    chunker.stdout.feed(b"x" * size)
    chunks = [*chunker.full(), *chunker.last(0)]

    assert [chunk.exit_code for chunk in chunks][-1] == 0
    assert "".join(chunk.stdout for chunk in chunks) == "x" * size
    assert len(chunks) == max(1, -(-size // 10))
