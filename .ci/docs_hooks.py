"""For mkdocs: documents of the repository's root become pages; the page of decisions lists them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDED = re.compile(r'^--8<-- "(\w+\.md)"$', re.MULTILINE)
PAGES = {"SECURITY.md": "security-model.md", "ARCHITECTURE.md": "architecture.md"}
"""Documents that are pages beside each other, in docs/explanation/."""


def on_page_markdown(markdown: str, *, page, **_) -> str:
    """Put the document in place of its name, with its links as they are on the site."""
    if page.file.src_uri == "decisions/README.md":
        return f"{markdown}\n{_decisions()}"
    return INCLUDED.sub(lambda found: _relocated((ROOT / found[1]).read_text()), markdown)


def _decisions() -> str:
    """A line for each, with its title and its link."""
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    titles = [(path, path.read_text().partition("\n")[0].removeprefix("# ")) for path in pages]
    return "".join(f"- [{title.replace('. ', ': ', 1)}]({path.name})\n" for path, title in titles)


def _relocated(text: str) -> str:
    text = text.replace("](docs/decisions/)", "](../decisions/README.md)").replace("](docs/", "](../")
    for document, page in PAGES.items():
        text = text.replace(f"]({document})", f"]({page})")
    return text
