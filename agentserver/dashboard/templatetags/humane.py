"""Numbers and times as people read them."""

from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone

register = template.Library()
_AGES = ((86_400, "d"), (3600, "h"), (60, "min"))


@register.filter
def whole(number: Any) -> str:
    """1234567 as 1 234 567, with narrow spaces."""
    return f"{int(number or 0):,}".replace(",", "\u202f")


@register.filter
def short(number: Any) -> str:
    """1234567 as 1.2 M."""
    value = float(number or 0)
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.1f}\u202f{unit}"
    return f"{value:.0f}"


@register.filter
def size(number: Any) -> str:
    """Bytes, in binary units."""
    value = float(number or 0)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f}\u202f{unit}" if unit == "B" else f"{value:.1f}\u202f{unit}"
        value /= 1024
    return f"{value:.1f}\u202fTiB"


@register.filter
def dollars(number: Any) -> str:
    value = float(number or 0)
    if value == 0:
        return "$0"
    return f"${value:.4f}" if value < 0.1 else f"${value:.2f}"


@register.filter
def age(moment: datetime | None) -> str:
    """How long ago: 4 min."""
    if moment is None:
        return "–"
    return duration((timezone.now() - moment).total_seconds())


@register.filter
def duration(seconds: Any) -> str:
    value = max(float(seconds or 0), 0)
    for limit, unit in _AGES:
        if value >= limit:
            return f"{value // limit:.0f}\u202f{unit}"
    return f"{value:.0f}\u202fs"
