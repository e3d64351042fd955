"""The directory of the agents' terminals, in a place where everybody may write."""

import os

import pytest

from conversations import tmux


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setattr(tmux, "home", lambda: home)
    monkeypatch.setenv("TMUX_TMPDIR", "before")
    return home


def test_it_is_for_this_user_only_and_goes_in_the_end(home):
    tmux.use_private_directory()

    mine = home / str(os.getpid())
    assert os.environ["TMUX_TMPDIR"] == str(mine)
    assert [path.stat().st_mode & 0o777 for path in (home, mine)] == [0o700, 0o700]
    tmux.clean_up()
    assert not home.exists()


def test_it_stays_where_another_process_has_terminals(home):
    (home / "1").mkdir(parents=True)
    tmux.use_private_directory()

    tmux.clean_up()

    assert [path.name for path in home.iterdir()] == ["1"]


def test_one_that_somebody_else_put_there_is_refused(home, tmp_path):
    (tmp_path / "theirs").mkdir()
    home.symlink_to(tmp_path / "theirs")

    with pytest.raises(PermissionError, match="belongs to somebody else"):
        tmux.use_private_directory()

    assert os.environ["TMUX_TMPDIR"] == "before"
    assert not list((tmp_path / "theirs").iterdir())


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a directory away")
def test_one_of_another_user_is_refused(home):
    home.mkdir()
    os.chown(home, 12345, -1)

    with pytest.raises(PermissionError, match="belongs to somebody else"):
        tmux.use_private_directory()
