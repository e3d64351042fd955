"""The last hour of this process, sampled from its metrics, so that a chart has a past when it is opened."""

import asyncio
import collections
import time
from typing import Any

from prometheus_client import Histogram

from agentserver import lifespan
from agentserver.observability import metrics

EVERY_SECONDS = 5.0
KEPT = 720
"""Samples: an hour."""

Sample = dict[str, float | None]
_samples: collections.deque[Sample] = collections.deque(maxlen=KEPT)


def register() -> None:
    lifespan.on_start("dashboard", start)


async def start() -> None:
    lifespan.watch(asyncio.create_task(_keep_sampling(), name="dashboard-samples"))


async def _keep_sampling() -> None:
    before = _counts()
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        counts = _counts()
        _samples.append(_between(before, counts))
        before = counts


def since(moment: float) -> list[Sample]:
    """The samples taken after ``moment`` (Unix seconds), oldest first."""
    return [sample for sample in list(_samples) if (sample["time"] or 0) > moment]


def total(metric: Any, suffix: str = "_total") -> float:
    """The sum over all labels of a metric's samples with that suffix; of a gauge with none."""
    return sum(
        sample.value
        for family in metric.collect()
        for sample in family.samples
        if sample.name == family.name + suffix
    )


def _counts() -> dict[str, float]:
    return {
        "time": time.time(),
        "events": total(metrics.EVENT_APPEND, "_count"),
        "asked": total(metrics.LLM_SECONDS, "_count"),
        "seconds": total(metrics.LLM_SECONDS, "_sum"),
        "errors": total(metrics.LLM_ERRORS),
        "requests": total(metrics.HTTP_SECONDS, "_count"),
    }


def _between(before: dict[str, float], after: dict[str, float]) -> Sample:
    """Rates a second; the mean time of the model's answers that came meanwhile, None without any."""
    span = max(after["time"] - before["time"], 0.001)
    change = {name: after[name] - before[name] for name in after}
    return {
        "time": round(after["time"], 1),
        "running": total(metrics.RUNS_RUNNING, ""),
        "events": change["events"] / span,
        "requests": change["requests"] / span,
        "llm_seconds": change["seconds"] / change["asked"] if change["asked"] else None,
        "llm_errors": change["errors"],
    }


def quantile(histogram: Histogram, share: float) -> float | None:
    """Seconds within which ``share`` of what a histogram counted lay; None if it counted nothing.

    Between two bounds by proportion, as PromQL's ``histogram_quantile``; beyond the last one, that bound.
    """
    buckets: dict[float, float] = collections.defaultdict(float)
    for family in histogram.collect():
        for sample in family.samples:
            if sample.name.endswith("_bucket"):
                buckets[float(sample.labels["le"])] += sample.value
    bounds = sorted(buckets)
    if not bounds or not buckets[bounds[-1]]:
        return None
    rank, low, below = share * buckets[bounds[-1]], 0.0, 0.0
    for bound in bounds:
        if buckets[bound] >= rank:
            if bound == float("inf"):
                return low
            return low + (bound - low) * (rank - below) / max(buckets[bound] - below, 1e-9)
        low, below = bound, buckets[bound]
    return low
