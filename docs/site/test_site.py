"""The built site in a headless browser: `make docs` builds it, `make docs-check` runs this."""

from __future__ import annotations

import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest
from browser import PROGRAM, browser

SITE = Path(__file__).resolve().parents[2] / "build/site/html"
PAGES = sorted(path.name for path in SITE.glob("*.html") if path.name not in ("search.html", "genindex.html"))
LARGEST = ("api.html", "algorithms.html", "commands.html")  # of the same elements as smaller pages
AXE = "_static/axe.min.js"


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    assert PROGRAM, "there is no Chromium; install one (apt-get install chromium)"
    assert PAGES, "there is no site; build it (make docs)"
    shutil.copy(Path(find_spec("axe_core_python").origin).with_name("axe.min.js"), SITE / AXE)
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def fresh(tab):
    tab.events.clear()
    tab.ask("Emulation.clearDeviceMetricsOverride")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_complains_of_nothing_and_fetches_nothing_from_elsewhere(tab, page):
    tab.open(SITE / page)
    assert tab.complaints == []
    assert [url for url in tab.fetched if not url.startswith(("file:", "data:", "about:", "blob:"))] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_inside_the_site_lead_somewhere(tab, page):
    tab.open(SITE / page)
    links = tab.see("[...document.querySelectorAll('article a[href]')].map(a => a.href)")
    for link in {link for link in links if link.startswith("file:")}:
        found = urlsplit(link)
        target = Path(unquote(found.path))
        assert target.exists(), link
        if found.fragment and target.suffix == ".html":
            assert f'id="{unquote(found.fragment)}"' in target.read_text("utf-8"), link


@pytest.mark.parametrize("page", PAGES)
def test_a_phone_need_not_scroll_sideways(tab, page):
    tab.ask("Emulation.setDeviceMetricsOverride", width=375, height=740, deviceScaleFactor=1, mobile=True)
    tab.open(SITE / page)
    assert tab.see("document.scrollingElement.scrollWidth") <= 375


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def address():
    """The site from a server of this machine: a search reads pages, which a browser refuses to files."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("words", ["ramp loss", "rerank", "InputError"])
def test_search_finds(tab, address, words):
    tab.ask("Page.navigate", url=f"{address}/search.html?q={words.replace(' ', '+')}")
    tab.wait("document.querySelectorAll('#search-results li').length > 0")
    assert tab.complaints == []


def test_the_formulas_are_drawn(tab):
    tab.open(SITE / "mathematics.html")
    tab.wait("document.querySelectorAll('mjx-container').length > 10")
    assert tab.complaints == []


@pytest.mark.parametrize("page", PAGES)
def test_contrast_names_and_keyboard_by_axe(tab, page):
    tab.open(SITE / page)
    loading = f"new Promise(done => {{ const s = document.createElement('script'); s.src = '{AXE}'; s.onload = done;"
    tab.see(f"{loading} document.head.append(s) }}).then(() => true)")
    for scheme in ("light",) if page in LARGEST else ("light", "dark"):
        tab.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        found = tab.see(
            "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa']}).then("
            "result => result.violations.map(one => one.id + ': ' + one.nodes[0].html.slice(0, 200)))"
        )
        assert found == [], scheme
