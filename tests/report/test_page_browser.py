"""The page in a headless browser: it complains of nothing, fetches nothing, and obeys the keyboard.

Runs where a Chromium is found (RAMPION_BROWSER names one). .ci/run sets RAMPION_NEEDS_BROWSER, and then it must be.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import struct
from time import monotonic, sleep
from xml.etree import ElementTree

import pytest
from browser import PROGRAM, browser
from command import good, write_task

from rampion.report.markup import section
from rampion.report.markup import table as markup_table
from rampion.report.page import Page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PROGRAM and "RAMPION_NEEDS_BROWSER" not in os.environ, reason="there is no Chromium"),
]

READY = "document.querySelector('.explorer') && !document.querySelector('.explorer').ariaBusy"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    write_task(folder)
    good("tune", folder / "dev.jsonl", "--recipe", "rampion", "--set", "rate=0.01", "--out", folder / "run",
         "--keep-rounds")  # fmt: skip
    good("report", folder / "run")
    return folder / "run" / "report.html"


@pytest.fixture(scope="module")
def demonstrated(tmp_path_factory):
    out = tmp_path_factory.mktemp("demonstrated") / "it"
    good("demo", "--out", out, "--pairs", 400, "--held-out", 20)
    return out / "report.html"


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    assert PROGRAM, "RAMPION_NEEDS_BROWSER is set, and there is no Chromium; install one (apt-get install chromium)"
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def tab(opened, page):
    opened.events.clear()
    opened.open(page, READY)
    yield opened
    assert opened.complaints == []
    assert [url for url in opened.fetched if not url.startswith("file:")] == []


def focused(tab):
    return tab.see("document.activeElement.id || document.activeElement.tagName")


def test_it_loads_and_shows_a_segment(tab):
    assert tab.see("document.querySelectorAll('#list li').length") == 24
    assert tab.see("document.querySelectorAll('#plane .point').length") == 8
    assert tab.see("document.querySelector('#texts h3').textContent").startswith("Segment ")
    assert tab.see("document.querySelectorAll('#moved tbody tr').length") > 1
    assert "prediction" in tab.see("document.querySelector('#said').textContent")


def test_tab_goes_from_control_to_control_and_shows_where(tab):
    tab.see("document.querySelector('#explorer').scrollIntoView(), document.querySelector('#find').focus()")
    order = [focused(tab)]
    for _ in range(4):
        tab.press("Tab")
        order.append(focused(tab))
        assert tab.see("getComputedStyle(document.activeElement).outlineStyle") != "none", order
    assert order == ["find", "sort", "list", "round", "svg"]


def test_arrows_choose_segments(tab):
    tab.see("document.querySelector('#list').focus()")
    heading = "document.querySelector('#texts h3').textContent"
    chosen = "document.querySelector('#list [aria-selected=true]').textContent"
    seen = [(tab.see(heading), tab.see(chosen))]
    for key in ("ArrowDown", "End", "Home"):
        tab.press(key)
        seen.append((tab.see(heading), tab.see(chosen)))
    assert seen[0] == seen[3]
    assert len(set(seen)) == 3
    active = tab.see("document.querySelector('#list').getAttribute('aria-activedescendant')")
    assert tab.see(f"document.getElementById('{active}').ariaSelected") == "true"
    regrets = tab.see("[...document.querySelectorAll('#list .cost')].map(cell => Number(cell.textContent))")
    assert regrets == sorted(regrets, reverse=True)


def test_the_slider_steps_through_the_rounds_and_candidates_move(tab):
    tab.see("document.querySelector('#round').focus()")
    place = "[...document.querySelectorAll('#plane .point')].map(point => point.style.transform).join()"
    shown = "document.querySelector('#shown').textContent"
    assert tab.see(shown) == "chosen: round 10"
    last = tab.see(place)
    tab.press("Home")
    assert tab.see(shown) == "start"
    first = tab.see(place)
    tab.press("ArrowRight")
    assert tab.see(shown) == "round 1"
    assert len({first, tab.see(place), last}) == 3


def test_arrows_and_letters_go_through_candidates(tab):
    tab.see("document.querySelector('#plane svg').focus()")
    said = "document.querySelector('#said').textContent"
    told = {}
    for key in "phof":
        tab.press(key)
        told[key] = tab.see(said)
    names = {"p": "prediction", "h": "hope", "f": "fear", "o": "oracle"}
    assert all(names[key] in words.split(":")[0] for key, words in told.items())
    costs = []
    for _ in range(8):
        tab.press("ArrowDown")
        costs.append(float(tab.see(said).split()[-1]))
    assert costs == sorted(costs, reverse=True)
    assert "oracle" in tab.see(said) or costs[-1] == float(told["o"].split()[-1])


def test_search_and_sort(tab):
    tab.see("document.querySelector('#find').focus()")
    word = tab.see("document.querySelector('#texts .reference td:last-child').textContent.split(' ')[0]")
    tab.press(*word)
    found = tab.see("document.querySelectorAll('#list li').length")
    assert 0 < found <= 24
    assert tab.see("document.querySelector('#found').textContent") == f"{found} of 24 segments"
    tab.press(*"qqqq")
    assert tab.see("document.querySelectorAll('#list li').length") == 0
    tab.see("document.querySelector('#find').value = ''; document.querySelector('#sort').focus()")
    tab.press("ArrowDown", "ArrowDown")
    order = "[...document.querySelectorAll('#list .id')].map(cell => cell.textContent).join()"
    assert tab.see(order) == ",".join(str(n) for n in range(24))


def test_what_moved_a_candidate_adds_up(tab):
    cells = tab.see("[...document.querySelectorAll('#moved tbody td:nth-child(5)')].map(cell => cell.textContent)")
    amounts = [float(cell.replace("−", "-")) for cell in cells]
    total = tab.see("document.querySelector('#moved p').textContent.match(/: ([+−]?[0-9.]+) since/)[1]")
    assert sum(amounts) == pytest.approx(float(total.replace("−", "-")), abs=1e-3)
    assert tab.see("document.querySelectorAll('#moved select').length") == 2


def test_hostile_texts_are_shown_as_they_are(opened, tmp_path):
    text = "</script><script>document.title = 'taken'</script><b onclick=x>&amp; שלום"
    record = {"refs": [text], "hyps": [{"text": text, "feats": {text.split()[0]: 1.0}}, {"text": "a", "feats": {}}]}
    lines = (json.dumps({"id": f"{n}<i>", **record}) + "\n" for n in range(3))
    (tmp_path / "lists.jsonl").write_text("".join(lines))
    good("tune", tmp_path / "lists.jsonl", "--out", tmp_path / "run", "--set", "rounds=1")
    good("report", tmp_path / "run")
    opened.events.clear()
    opened.open(tmp_path / "run" / "report.html", READY)
    shown = opened.see("document.querySelector('#texts .reference td:last-child').textContent")
    assert (opened.see("document.title"), shown) == ("run – Rampion", text)
    assert opened.see("document.querySelectorAll('main b, main i').length") == 0
    assert opened.complaints == []


def test_what_the_console_says_and_what_is_fetched_is_noticed(opened, tmp_path):
    (tmp_path / "bad.html").write_text("<script>console.error('no'); fetch('http://127.0.0.1:1/'); none()</script>")
    opened.events.clear()
    opened.open(tmp_path / "bad.html")
    opened.wait("new Promise(done => setTimeout(() => done(true), 200))")
    assert len(opened.complaints) >= 2
    assert "http://127.0.0.1:1/" in opened.fetched


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("shown", ["page", "demonstrated"])
def test_nothing_is_wider_than_the_screen_and_nothing_jumps(opened, request, shown, scheme, width):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    opened.ask("Emulation.setEmulatedMedia", features=features)
    opened.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
    opened.open(request.getfixturevalue(shown), READY)
    assert opened.see("document.documentElement.scrollWidth") <= width
    assert opened.see(f"({SHIFT})()") < 0.1
    assert opened.see(f"({CONTRAST})()") == []
    opened.ask("Emulation.clearDeviceMetricsOverride")
    opened.ask("Emulation.setEmulatedMedia", features=[])


def test_the_page_of_the_demo_works(opened, demonstrated):
    opened.events.clear()
    opened.open(demonstrated, READY)
    assert opened.see("document.querySelectorAll('#list li').length") == 20
    opened.see("document.querySelector('#round').focus()")
    place = "[...document.querySelectorAll('#plane .point')].map(point => point.style.transform).join()"
    last = opened.see(place)
    opened.press("Home")
    assert opened.see("document.querySelector('#shown').textContent") == "start"
    assert opened.see(place) != last
    opened.see("document.querySelectorAll('#sentences summary').forEach(one => one.parentElement.open || one.click())")
    pictures = "[...document.querySelectorAll('#sentences img')].map(one => one.decode().then(() => one.naturalWidth))"
    assert min(opened.see(f"Promise.all({pictures})")) > 100
    assert opened.see("document.querySelectorAll('#sentences ins, #sentences del').length") > 0
    assert opened.complaints == []
    assert [url for url in opened.fetched if not url.startswith(("file:", "data:"))] == []


def test_charts_and_tables_can_be_downloaded(opened, page, tmp_path):
    opened.events.clear()
    opened.open(page, READY)
    opened.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))

    def saved(label, name):
        opened.see(f"document.querySelector('button[aria-label=\"Download {label}\"]').click()")
        until = monotonic() + 30
        while not (tmp_path / name).exists() and monotonic() < until:
            sleep(0.05)
        return (tmp_path / name).read_bytes()

    labels = opened.see("[...document.querySelectorAll('.downloads button')].map(one => one.ariaLabel)")
    assert len(labels) == len(set(labels)) > 10
    figure = "document.querySelector('#curves figure')"
    title = opened.see(f"{figure}.querySelector('figcaption').textContent")
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60]
    cells = "[...row.cells].map(one => one.textContent)"
    table = opened.see(f"[...{figure}.querySelector('table').rows].map(row => {cells})")
    found = list(csv.reader(saved(f"{title} as CSV", f"{name}.csv").decode().splitlines()))
    assert found == [[told.replace("−", "-").replace(",", "") for told in row] for row in table]
    picture = ElementTree.fromstring(saved(f"{title} as SVG", f"{name}.svg"))  # noqa: S314 - ours
    assert title in picture.itertext()
    assert not [one for one in picture.iter() if one.get("class") or "var(" in (one.get("fill") or "")]
    painted = saved(f"{title} as PNG", f"{name}.png")
    assert painted[:4] == b"\x89PNG"
    assert struct.unpack(">2I", painted[16:24]) == tuple(3 * int(picture.get(side)) for side in ("width", "height"))
    assert saved("Score and cost as PNG", "score-and-cost.png")[:4] == b"\x89PNG"
    assert ElementTree.fromstring(saved("Score and cost as SVG", "score-and-cost.svg")).tag.endswith("svg")  # noqa: S314
    assert b"score,cost,listed,text" in saved("Texts as CSV", "texts.csv")
    assert opened.complaints == []
    assert [url for url in opened.fetched if not url.startswith(("file:", "data:", "blob:"))] == []


def test_a_downloaded_text_is_no_formula(opened, tmp_path):
    told = ["=1+1", "@x", "−2.50", "+3", "1,000", 'a "b", c', "-x"]
    cells = [[told_, "1"] for told_ in told]
    page = Page("t", "about", [], [section("s", "S", markup_table("Cells", ["a", "b"], cells))]).html()
    (tmp_path / "page.html").write_text(page)
    opened.open(tmp_path / "page.html")
    opened.see("URL.createObjectURL = blob => { window.saved = blob; return 'about:blank' }, 0")
    opened.see("HTMLAnchorElement.prototype.click = () => {}, 0")
    opened.see("document.querySelector('.downloads button').click()")
    rows = list(csv.reader(opened.see("saved.text()").splitlines()))
    assert [row[0] for row in rows] == ["a", "'=1+1", "'@x", "-2.50", "3", "1000", 'a "b", c', "'-x"]


# How far things have moved by themselves since the page began to load.
SHIFT = """() => new Promise(done => {
  new PerformanceObserver(list => done(list.getEntries().reduce((sum, entry) => sum + entry.value, 0)))
    .observe({type: 'layout-shift', buffered: true});
  setTimeout(() => done(0), 300);
})"""

# Texts whose colour has less contrast with the page than WCAG's 4.5.
CONTRAST = """() => {
  const light = (colour) => colour.match(/[0-9.]+/g).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const poor = (element) => {
    const style = getComputedStyle(element), ink = light(element.closest('svg') ? style.fill : style.color);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05) < 4.5;
  };
  const told = [...document.querySelectorAll('p, td, th, dt, dd, a, h2, label, svg text, ins, del, .verdict')];
  return told.filter(poor).map(element => element.outerHTML.slice(0, 80));
}"""


def test_without_scripts_the_rest_stands(opened, page):
    opened.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        opened.open(page)
        shown = "document.querySelector('.explorer').getBoundingClientRect().height"
        assert opened.see(shown) == 0
        assert opened.see("document.querySelectorAll('#curves svg').length") >= 3
        assert "needs JavaScript" in opened.see("document.querySelector('#explorer noscript').textContent")
    finally:
        opened.ask("Emulation.setScriptExecutionDisabled", value=False)


def test_it_prints(opened, page):
    opened.open(page, READY)
    paper = opened.ask("Page.printToPDF", printBackground=False)
    assert len(paper["data"]) > 10_000
    opened.ask("Emulation.setEmulatedMedia", media="print")
    assert opened.see("getComputedStyle(document.querySelector('.finder')).display") == "none"
    opened.ask("Emulation.setEmulatedMedia", media="")


# What strangers write into texts, names and files

MARK = "window.ran=(window.ran||0)+1,document.title='ran'"
STRINGS = [
    f"<script>{MARK}</script>",
    f"</script><script>{MARK}</script>",
    f"</title></style></textarea><script>{MARK}</script>",
    f"<img src=nothing onerror=\"{MARK}\">",
    f"\"><img src=nothing onerror='{MARK}'>",
    f"' autofocus onfocus='{MARK}' x='",
    f"\" onmouseover=\"{MARK}\" style=\"position:fixed;inset:0\" x=\"",
    f"<svg/onload=\"{MARK}\">",
    f"<svg><script>{MARK}</script></svg>",
    "<iframe srcdoc=\"<script>parent.ran=1</script>\"></iframe>",
    f"<a href=\"javascript:{MARK}\">x</a>",
    f"javascript:{MARK}",
    f"<details open ontoggle=\"{MARK}\">",
    "<style>@import 'http://127.0.0.1:9/x';</style>",
    "<link rel=stylesheet href=http://127.0.0.1:9/y><base href=http://127.0.0.1:9/>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/z'>",
    f"<!--</script>--><script>{MARK}</script>",
    f"\\u003cscript\\u003e{MARK}\\u003c/script\\u003e",
    f"&lt;script&gt;{MARK}&lt;/script&gt;",
    f"]]></script><script>{MARK}//",
    f"${{{MARK}}}",
    f"`;{MARK};//",
    f"';{MARK};//\u2028{MARK}//",
    f"<math><mtext><table><mglyph><style><img src=x onerror=\"{MARK}\">",
]  # fmt: skip


def everywhere(value, number=0):
    """The value with something strange behind every text in it."""
    if isinstance(value, dict):
        return {name: everywhere(one, number + n) for n, (name, one) in enumerate(value.items())}
    if isinstance(value, list):
        return [everywhere(one, number + n) for n, one in enumerate(value)]
    return value + STRINGS[number % len(STRINGS)] if isinstance(value, str) else value


def hostile_lists(folder):
    """Lists with the strings as ids, texts, notes and names of features, in a file that is called so."""
    folder.mkdir()
    rows = [
        {
            "id": f"{n} {one}",
            "refs": [one],
            "source": one,
            "hyps": [
                {"text": text, "note": one, "feats": {"LM": float(k), one: float(n % 2), f"x{k}": 1.0}, "score": -k}
                for k, text in enumerate((one, f"{one} {one}", STRINGS[n - 1]))
            ],
        }
        for n, one in enumerate(STRINGS)
    ]
    lists = folder / "<img src=x onerror=window.ran=1>.jsonl"
    lists.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return lists


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, demonstrated):
    """Pages that are full of them: of a run, of two runs, of a sweep, of a demo with learning, and of an experiment."""
    folder = tmp_path_factory.mktemp("hostile")
    lists = hostile_lists(folder / "lists")
    for name, seed in (("<svg onload=window.ran=1>", 1), ("\"onclick='window.ran=1'", 2)):
        good("tune", lists, "--recipe", "rampion", "--set", f"seed={seed}", "--set", "rounds=2", "--keep-rounds",
             "--folds", 2, "--out", folder / name)  # fmt: skip
    runs = [folder / "<svg onload=window.ran=1>", folder / "\"onclick='window.ran=1'"]
    good("report", runs[0], "--out", folder / "run.html")
    good("report", runs[0], "--compare", runs[1], "--out", folder / "two.html")
    good("tune", lists, "--recipe", "rampion,mira", "--set", "rounds=2", "--folds", 2, "--out", folder / "<b>sweep")
    good("report", folder / "<b>sweep", "--out", folder / "sweep.html")
    shutil.copytree(demonstrated.parent, folder / "demo")
    found = json.loads((folder / "demo" / "demo.json").read_text())
    (folder / "demo" / "demo.json").write_text(json.dumps(everywhere(found)))
    good("report", folder / "demo", "--out", folder / "demo.html")
    good("reproduce", "gimpel-smith/family", "--out", folder / "paper")
    (made,) = (folder / "paper").glob("*.json")
    found = json.loads(made.read_text())
    made.write_text(json.dumps(found | everywhere({name: found[name] for name in ("title", "note", "corpus")})))
    good("report", made, "--out", folder / "paper.html")
    return {path.stem: path for path in sorted(folder.glob("*.html"))}


@pytest.mark.parametrize("barred", [True, False], ids=["with its policy", "without"])
@pytest.mark.parametrize("name", ["run", "two", "sweep", "demo", "paper"])
def test_no_string_of_a_stranger_runs(opened, hostile, tmp_path, name, barred):
    """Neither when the page opens, nor when everything in it is pointed at; with and without the policy of the page."""
    content = hostile[name].read_text("utf-8")
    policy = re.compile(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>")
    assert len(policy.findall(content)) == 1
    assert content.index("Content-Security-Policy") < content.index("<script") if "<script" in content else True
    (tmp_path / "page.html").write_text(content if barred else policy.sub("", content, count=1), "utf-8")
    opened.events.clear()
    opened.open(tmp_path / "page.html")
    sleep(0.3)
    for kind in ("mouseover", "focus", "toggle", "click"):
        every = "[...document.querySelectorAll('*')].filter(one => one.tagName !== 'A')"
        opened.see(f"{every}.forEach(one => one.dispatchEvent(new Event('{kind}')))")
    assert opened.see("window.ran === undefined && document.title !== 'ran'")
    assert opened.see("document.querySelectorAll('iframe, base, link, math, a[href^=\"javascript\"]').length") == 0
    assert opened.see("[...document.images].filter(one => !one.src.startsWith('data:')).length") == 0
    assert opened.see("[...document.querySelectorAll('*')].every(one => "
                      "[...one.attributes].every(at => !at.name.startsWith('on')))")  # fmt: skip
    assert [url for url in opened.fetched if not url.startswith(("file:", "data:", "blob:"))] == []
    assert not [event for event in opened.events if event["method"] == "Page.javascriptDialogOpening"]
    assert opened.see("document.body.textContent.includes('window.ran')")  # it is there, as text
