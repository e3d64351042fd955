"""The operations page: what runs, how fast it stops, how big it is."""

import httpx
import pytest
from playwright.sync_api import expect

from agentserver.dashboard import samples
from tests.contract.dialogue import think


def test_numbers_follow_what_happens(open_page, talk):
    talked = talk(think("late", delay=30))
    talked.wait_llm_call()
    page = open_page("/dashboard/operations")
    running = page.locator("[data-number=running]")
    expect(running).to_have_text("1")
    expect(page.locator("canvas")).to_have_count(4)
    page.locator("#running").get_by_role("link").click()

    page.get_by_role("button", name="Interrupt").click()
    expect(page.locator("#status")).to_have_text("Paused")
    page.go_back()

    expect(running).to_have_text("0")
    expect(page.locator("[data-number=interrupt]")).to_contain_text("s")
    expect(page.locator("[data-number=database]")).to_contain_text("iB")
    expect(page.locator("[data-number=webhooks-more]")).to_have_text("none configured")


@pytest.mark.parametrize("since", ["", "x", "1e999", "nan"])
def test_a_time_that_is_none_is_refused_or_finds_nothing(base_url, since):
    answer = httpx.get(f"{base_url}/dashboard/operations/numbers", params={"since": since})

    assert answer.status_code == 422 or answer.json()["samples"] == []


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([], 0.5, None), ([0.5] * 4, 0.5, 0.5), ([0.5, 1.5], 0.5, 1.0), ([100.0], 0.95, 2.0)],
)
def test_a_quantile_lies_within_its_bucket(values, share, expected):
    from prometheus_client import CollectorRegistry, Histogram

    histogram = Histogram("seconds", "Made here.", buckets=(1, 2), registry=CollectorRegistry())
    for value in values:
        histogram.observe(value)

    assert samples.quantile(histogram, share) == expected
