"""The page in a real browser, and what is watched while somebody uses it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"
# Milliseconds; a machine may be busy with much else.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)
needs_browser = pytest.mark.skipif(not shutil.which(CHROMIUM), reason=f"{CHROMIUM} is not installed")
DESKTOP, PHONE = {"width": 1360, "height": 1000}, {"width": 390, "height": 844}


@dataclass
class Watched:
    """A page, what its console complained of, and the hosts it asked."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def clean(self) -> bool:
        """Whether nothing went wrong and nothing was asked of another machine."""
        assert self.complaints == []
        assert self.hosts <= {"127.0.0.1"}
        return True


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def watching(browser: Browser, size: dict[str, int] = DESKTOP, **settings: object) -> Iterator[Watched]:
    """An empty page in a profile of its own."""
    context = browser.new_context(viewport=size, accept_downloads=True, locale="en-GB", **settings)
    context.set_default_timeout(PATIENCE)
    watched = Watched(context.new_page())
    page = watched.page
    page.on("console", lambda told: watched.complaints.append(told.text) if told.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    page.on("request", lambda asked: watched.hosts.add(urlsplit(asked.url).hostname or ""))
    try:
        yield watched
    finally:
        context.close()


def explored(page: Page) -> None:
    """Waits until the explorer shows the map of what stands there now."""
    page.wait_for_selector(".explored:not([hidden]):not(.stale) .queries .word")
    page.wait_for_selector(".explorer:not([aria-busy])")


def state(page: Page) -> str:
    """The address once the page has written it."""
    page.wait_for_timeout(200)
    return urlsplit(page.url).fragment
