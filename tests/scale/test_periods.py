"""How often the engine keeps house. Its cron expressions have seconds as their last field."""

import os
import subprocess
import sys

import pytest

from tests.engines.test_other_engines import ROOT

CODE = """
from procrastinate.contrib.django import app
for (name, _), periodic in sorted(app.periodic_registry.periodic_tasks.items()):
    times = [periodic.croniter.get_next(float, start_time=61.0)]  # in an odd minute
    times += [periodic.croniter.get_next(float) for _ in range(200)]
    gaps = {later - earlier for earlier, later in zip(times, times[1:])}
    print(name, *sorted(gaps))
"""


@pytest.mark.slow
def test_stalled_runners_are_looked_for_every_other_second_of_every_minute(tmp_path):
    inherited = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    given = {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none", "REDIS_URL": "redis://127.0.0.1:1"}
    run = subprocess.run(
        [sys.executable, ROOT / "manage.py", "shell", "-v", "0", "-c", CODE],
        env={**inherited, **given, "OH_PERSISTENCE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert run.stdout.split("\n")[:-1] == ["look-around 5.0", "prune-bash-events 60.0", "rescue 2.0"]
