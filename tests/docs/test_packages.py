"""The table of packages is complete: whatever the project names, it names with a purpose and a licence."""

import json
import re
import tomllib

from tests.docs.blocks import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PAGE = (ROOT / "docs" / "reference" / "packages.md").read_text()
ROWS = re.findall(r"^\| ([a-z][\w.-]+) \| .*\w.* \| .*\w.* \|$", PAGE, re.MULTILINE)


def test_every_package_has_its_row():
    project = PROJECT["project"]
    asked = [*project["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    asked += [line for lines in project["optional-dependencies"].values() for line in lines]
    vendored = json.loads((ROOT / "agentserver" / "dashboard" / "vendored.json").read_text())
    browser = [one["package"] for one in vendored["agentserver/dashboard/static/dashboard/vendor"]]

    assert sorted(ROWS) == sorted({*(re.match(r"[\w-]+", line)[0] for line in asked), *browser})
