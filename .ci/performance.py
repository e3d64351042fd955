"""Write the figures of docs/performance.md: tables between its marks, and curves in docs/images/performance/.

    .venv/bin/python .ci/performance.py                       # from docs/performance/*.json
    .venv/bin/python .ci/performance.py compare RESULTS...    # first take over side-by-side results

own.json and load.json are written by the benchmarks (make bench); compared.json is the medians of result
files that the side-by-side harness wrote. The machine and the load of the moment are in each of them.
"""

import json
import re
import statistics
import sys
from pathlib import Path

from curves import Points, draw

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
DATA = ROOT / "docs" / "performance"
IMAGES = ROOT / "docs" / "images" / "performance"
REFERENCES, QUIET, OURS = ("ref158", "ref123"), "quiet158", "ours"
STEPS = "CPU of a step"
MORE_IS_BETTER = (" rps", " per_s", "_share", "share_returned")


def take_over(paths: list[str]) -> None:
    """Add the medians of result files to compared.json: {scenario: {case: {metric: {server: median}}}}."""
    kept = _load("compared.json") or {"runs": [], "medians": {}}
    for path in paths:
        document = json.loads(Path(path).read_text())
        found: dict[tuple[str, str, str, str], list[float]] = {}
        for result in document["results"]:
            for metric, value in result["metrics"].items():
                key = (result["scenario"], result["case"], metric, result["server"])
                found.setdefault(key, []).append(value)
        for (scenario, case, metric, server), values in found.items():
            cell = kept["medians"].setdefault(scenario, {}).setdefault(case, {}).setdefault(metric, {})
            cell[server] = statistics.median(values)
        noise = [r["noise"]["foreign_cores"] for r in document["results"] if r.get("noise")]
        names = sorted({result["scenario"] for result in document["results"]})
        kept["runs"].append({
            "scenarios": names, "servers": document["servers"], "day": document["meta"]["time"][:10],
            "cores": document["meta"]["cores"],
            "foreign_cores": round(statistics.median(noise), 2) if noise else None,
        })  # fmt: skip
    (DATA / "compared.json").write_text(json.dumps(kept, indent=1) + "\n")


def ratio(metric: str, ours: float, other: float) -> float:
    """How many times better ours is."""
    return ours / other if metric.endswith(MORE_IS_BETTER) else other / ours


def compared_table(compared: dict) -> str:
    """Ours beside the references, a row for each target that was measured."""
    rows = [
        "| What | ours | 1.58.2 | 1.58.2, quiet log | 1.23.1 | times better | wanted |",
        "|---|---|---|---|---|---|---|",
    ]
    for what, scenario, case, metric, wanted in json.loads((DATA / "targets.json").read_text()):
        cell = compared["medians"].get(scenario, {}).get(case, {}).get(metric, {})
        if not cell.get(OURS):
            continue
        others = [cell[name] for name in REFERENCES if cell.get(name)]
        ratios = [ratio(metric, cell[OURS], other) for other in others]
        better = f"{min(ratios):.2f}" if ratios else "-"
        if cell.get(QUIET):
            better += f" ({ratio(metric, cell[OURS], cell[QUIET]):.2f})"
        unit = metric.rpartition(" ")[2].replace("_", " ")
        cells = [_figure(cell.get(name)) for name in (OURS, "ref158", QUIET, "ref123")]
        rows.append(f"| {what} ({unit}) | {' | '.join(cells)} | {better} | {wanted} |")
    return "\n".join(rows)


def own_table(own: dict) -> str:
    rows = ["| What | Measured | Wanted |", "|---|---|---|"]
    single = {what: cells for what, cells in own["single"].items() if not what.startswith("load:")}
    rows += [f"| {what} | {value} | {_cell(wanted)} |" for what, (value, wanted) in single.items()]
    return "\n".join(rows)


def load_table(own: dict) -> str:
    rows = ["| What | Measured | Wanted |", "|---|---|---|"]
    loads = {what: cells for what, cells in own["single"].items() if what.startswith("load:")}
    rows += [
        f"| {what.removeprefix('load: ')} | {value} | {_cell(wanted)} |"
        for what, (value, wanted) in loads.items()
    ]
    return "\n".join(rows)


def growth_table(own: dict, *, steps: bool = False) -> str:
    """What grows with the rows stored, or with ``steps`` what grows with a conversation's history."""
    chosen = {what: values for what, values in own["growing"].items() if what.startswith(STEPS) == steps}
    sizes = sorted({int(size) for values in chosen.values() for size in values})
    rows = [
        f"| Milliseconds, median | {' | '.join(f'{size:,}' for size in sizes)} |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for what, values in chosen.items():
        cells = [f"{values[str(size)]:.2f}" if str(size) in values else "-" for size in sizes]
        rows.append(f"| {what} | {' | '.join(cells)} |")
    return "\n".join(rows)


def machine(own: dict) -> str:
    m = own["machine"]
    return (
        f"{m['day']}: {m['cores']} cores, {m['memory']}, {m['system']}, Python {m['python']}, "
        f"Django {m['django']}, openhands-sdk {m['sdk']}; load average at the end {m['load']}."
    )


def curves(own: dict, load: list | None) -> None:
    growing = own["growing"]
    for name, title, chosen in (
        ("conversations", "Reading, as conversations grow", ("GET a", "list of", "count")),
        ("events", "Reading, as events grow", ("events:",)),
    ):
        lines: dict[str, Points] = {
            what: [(float(size), ms) for size, ms in values.items()]
            for what, values in growing.items()
            if what.startswith(chosen)
        }
        if lines:
            draw(IMAGES / f"{name}.svg", title, lines, "rows stored", "milliseconds, median")
    steps = {what: values for what, values in growing.items() if what.startswith(STEPS)}
    if steps:
        lines = {w.partition(", ")[2]: [(float(s), ms) for s, ms in v.items()] for w, v in steps.items()}
        draw(
            IMAGES / "steps.svg",
            "CPU of one step of an agent",
            lines,
            "events before it",
            "milliseconds",
            linear=True,
        )
    if load:
        lines = {
            "memory, MiB": [(row[0], row[1]) for row in load],
            "sockets": [(row[0], row[3]) for row in load],
        }
        draw(IMAGES / "load.svg", "Load test", lines, "seconds", "MiB and sockets", linear=True)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _cell(wanted: object) -> str:
    return str(wanted).replace("<", "&lt;")


def _load(name: str):
    path = DATA / name
    return json.loads(path.read_text()) if path.exists() else None


def put(page: str, mark: str, text: str) -> str:
    """``page`` with what stands between the two comments of ``mark`` replaced."""
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"docs/performance.md has no marks for {mark}")
    return pattern.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page)


def main() -> None:
    if sys.argv[1:2] == ["compare"]:
        take_over(sys.argv[2:])
    own, compared, load = _load("own.json"), _load("compared.json"), _load("load.json")
    page = PAGE.read_text()
    if own:
        for mark, text in (
            ("machine", machine(own)), ("own", own_table(own)),
            ("growth", growth_table(own)), ("load", load_table(own)),
            ("steps", growth_table(own, steps=True)),
        ):  # fmt: skip
            page = put(page, mark, text)
        curves(own, load)
    if compared:
        page = put(page, "compared", compared_table(compared))
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
