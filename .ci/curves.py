"""Growth curves as SVG, without a plotting library: lines over logarithmic or plain axes."""

import math
from html import escape
from pathlib import Path

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 340, 64, 190, 44, 40
COLOURS = ("#3f51b5", "#c2410c", "#15803d", "#a21caf", "#0e7490", "#737373")
Points = list[tuple[float, float]]


def draw(path: Path, title: str, lines: dict[str, Points], x: str, y: str, *, linear: bool = False) -> None:
    """Write a chart of ``lines``: name -> (x, y) points. ``linear``: both axes plain, from zero."""
    across, upright = _Axis(lines, 0, linear), _Axis(lines, 1, linear)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
        f'<text x="{LEFT}" y="36" fill="#555">{escape(y)}, over {escape(x)}</text>',
    ]
    for value in across.ticks():
        place = _right(across.share(value))
        parts.append(f'<line x1="{place}" x2="{place}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#e5e5e5"/>')
        parts.append(
            f'<text x="{place}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{_short(value)}</text>'
        )
    for value in upright.ticks():
        place = _down(upright.share(value))
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{place}" y2="{place}" stroke="#e5e5e5"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{place + 4}" text-anchor="end">{_short(value)}</text>')
    parts += _lines(lines, across, upright)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")


def _lines(lines: dict[str, Points], across: "_Axis", upright: "_Axis") -> list[str]:
    parts, labels = [], []
    for (name, points), colour in zip(lines.items(), COLOURS * 2, strict=False):
        places = [(_right(across.share(a)), _down(upright.share(b))) for a, b in points]
        drawn = " ".join(f"{a},{b}" for a, b in places)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if len(places) < 30:
            parts += [f'<circle cx="{a}" cy="{b}" r="3" fill="{colour}"/>' for a, b in places]
        labels.append((places[-1][1], name, colour))
    low = float(TOP)
    for wanted, name, colour in sorted(labels):
        low = max(wanted + 4, low + 15)  # no label over another
        parts.append(f'<text x="{WIDTH - RIGHT + 10}" y="{low:.0f}" fill="{colour}">{escape(name)}</text>')
    return parts


class _Axis:
    """Where a value lies between the ends of an axis: whole powers of ten, or zero and a round number."""

    def __init__(self, lines: dict[str, Points], index: int, linear: bool) -> None:
        values = [point[index] for points in lines.values() for point in points]
        self.linear = linear
        if linear:
            self.step = _round_step(max(values))
            self.low, self.high = 0.0, self.step * math.ceil(max(values) / self.step)
        else:
            self.low = math.floor(math.log10(min(values)))
            self.high = max(math.ceil(math.log10(max(values))), self.low + 1)

    def share(self, value: float) -> float:
        place = value if self.linear else math.log10(value)
        return (place - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        if self.linear:
            return [self.step * n for n in range(round(self.high / self.step) + 1)]
        return [10.0**n for n in range(int(self.low), int(self.high) + 1)]


def _round_step(highest: float) -> float:
    rough = highest / 5
    power = 10 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def _right(share: float) -> float:
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _down(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
