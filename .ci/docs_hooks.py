"""For mkdocs: documents of the root become pages; decisions and the paths of the API are listed on theirs."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDED = re.compile(r'^--8<-- "(\w+\.md)"$', re.MULTILINE)
METHODS = ("get", "put", "post", "delete", "patch")
PAGES = {"SECURITY.md": "security-model.md", "ARCHITECTURE.md": "architecture.md"}
"""Documents that are pages beside each other, in docs/explanation/."""


def on_page_markdown(markdown: str, *, page, **_) -> str:
    """Put the document in place of its name, with its links as they are on the site."""
    if page.file.src_uri == "decisions/README.md":
        return f"{markdown}\n{_decisions()}"
    if page.file.src_uri == "reference/rest.md":
        return f"{markdown}\n{_paths()}"
    return INCLUDED.sub(lambda found: _relocated((ROOT / found[1]).read_text()), markdown)


def _decisions() -> str:
    """A line for each, with its title and its link."""
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    titles = [(path, path.read_text().partition("\n")[0].removeprefix("# ")) for path in pages]
    return "".join(f"- [{title.replace('. ', ': ', 1)}]({path.name})\n" for path, title in titles)


def _paths() -> str:
    """A table for each part of the API, from its OpenAPI document: paths, methods, the first sentence."""
    parts: dict[str, list[str]] = {}
    for path, item in json.loads((ROOT / "docs" / "openapi.json").read_text())["paths"].items():
        operations = {method: told for method, told in item.items() if method in METHODS}
        first = next(iter(operations.values()))
        methods = " ".join(method.upper() for method in operations)
        says = first.get("description", "").partition("\n")[0].replace("|", "\\|").replace("<", "&lt;")
        parts.setdefault(first["tags"][0], []).append(f"| `{path}` | {methods} | {says} |\n")
    head = "| Path | Methods | |\n| --- | --- | --- |\n"
    return "## Paths\n\n" + "\n".join(f"### {tag}\n\n{head}{''.join(rows)}" for tag, rows in parts.items())


def _relocated(text: str) -> str:
    text = text.replace("](docs/decisions/)", "](../decisions/README.md)").replace("](docs/", "](../")
    for document, page in PAGES.items():
        text = text.replace(f"]({document})", f"]({page})")
    return text
