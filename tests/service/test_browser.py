"""Pages in a real browser: people label with keys alone, and see that it goes on."""

import re
import shutil

import httpx
import pytest

from qufur.service.app import create_app
from qufur.service.background import serving
from qufur.service.store import Store

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
FLAGS += " --disable-component-update --disable-sync"
PATIENCE = 20_000
"""Milliseconds to wait for what a busy machine does late."""
HOSTILE = "<img src=x onerror=alert(1)>"
CLASSES = ["no", "yes", f"<b>{HOSTILE}"]
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('open')}/labels.db")
    yield create_app(store)
    store.close()


@pytest.fixture(scope="module")
def address(app):
    with pytest.MonkeyPatch.context() as patch, serving(app) as address:
        patch.setattr("qufur.models.experts.experts.TREES", 3)
        yield address


@pytest.fixture(scope="module")
def api(address):
    with httpx.Client(base_url=address, timeout=PATIENCE / 1000) as client:
        yield client


@pytest.fixture(scope="module")
def browser():
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS.split())
        yield browser
        browser.close()


def is_complaint(message):
    """Whether a page did something that it may not; a request that is refused is no fault of it."""
    return message.type == "error" and "Failed to load resource" not in message.text


@pytest.fixture
def opened(browser, address):
    """Return a function that opens a page in a browser of its own; what a page may not do fails the test."""
    contexts, complaints = [], []

    def open_page(path, name="ada", base=address, **options):
        context = browser.new_context(base_url=base, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: is_complaint(message) and complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.goto(path)
        if path.endswith("/label") and page.url.endswith("/label"):
            page.fill("#own-name", name)
            page.keyboard.press("Enter")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def new_stream(api, name, rows, **settings):
    """Make a stream that asks about every row, and send some."""
    settings = {"dim": 2, "label_range": [0, 10], "model": "ridge", "budget": 500, "horizon": 500} | settings
    made = api.post("/v1/streams", json={"name": name, **settings})
    assert made.status_code == 201, made.text
    send(api, name, rows)


def send(api, name, rows):
    answers = api.post(f"/v1/streams/{name}/examples", json=rows).json()
    assert all(answer["query"] for answer in answers), answers


def vectors(first, last):
    return [{"id": f"r{n}", "x": [n / 100, 1.0]} for n in range(first, last)]


def records(count):
    return [{"id": f"r{n}", "record": {"temp": n / 10, HOSTILE: HOSTILE}} for n in range(count)]


def shown(page, *, after=None):
    """Return the id of the row that is shown; of another than `after`."""
    page.wait_for_function(
        "after => { const id = document.getElementById('row-id').textContent;"
        " return /^(Row |Nothing)/.test(id) && id !== after; }",
        arg=after,
    )
    return page.inner_text("#row-id")


def press(page, *keys):
    """Press keys that answer a row, and wait for the next."""
    before = shown(page)
    for key in keys:
        page.keyboard.press(key)
    return shown(page, after=before)


def test_a_stream_is_created_in_the_page(opened, api):
    page = opened("/")
    page.wait_for_selector("#streams[aria-busy=false]")
    page.keyboard.press("n")
    page.keyboard.type("kettles")
    page.fill("#columns", "price number\nbought in: category")
    page.check("[value=classes]")
    page.fill("#classes", "good\nbad")
    page.fill("#budget", "a lot")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#create-refused")).to_contain_text("budget")
    page.fill("#budget", "10%")
    page.keyboard.press("Enter")
    page.wait_for_url("**/streams/kettles")
    playwright.expect(page.locator("#curl")).to_contain_text("/v1/streams/kettles/examples")
    state = api.get("/v1/streams/kettles").json()
    assert state["columns"] == {"price": "number", "bought in": "category"}
    assert (state["classes"], state["budget"]) == (["good", "bad"], 0.1)


def test_twenty_rows_are_labelled_with_keys_alone_and_one_is_undone(opened, api):
    columns = {"temp": "number", HOSTILE: "category"}
    settings = {"dim": None, "columns": columns, "label_range": None, "classes": CLASSES, "model": "experts"}
    new_stream(api, "sky", records(25), **settings)
    page = opened("/streams/sky/label")
    first = shown(page)
    assert HOSTILE in page.inner_text("#content")
    assert page.inner_text("#why").startswith("asked: uncertainty")
    assert "predicts" not in page.inner_text("#prediction")
    page.keyboard.press("p")
    playwright.expect(page.locator("#prediction")).to_contain_text("predicts")
    seen = [first, *(press(page, str(1 + n % 3)) for n in range(20))]
    assert len(set(seen)) == 21
    assert api.get("/v1/streams/sky").json()["told"] == 20
    assert "predicts" not in page.inner_text("#prediction")
    assert press(page, "u") == seen[19]
    assert api.get("/v1/streams/sky").json()["told"] == 19
    assert press(page, "1") == seen[20]
    declined = seen[20]
    assert press(page, "d") != declined
    assert api.get("/v1/streams/sky").json()["outstanding"] == 4
    skipped = shown(page)
    rest = [press(page, "s"), press(page, "2"), press(page, "2")]
    assert skipped not in rest
    assert press(page, "2") == skipped
    assert press(page, "2") == "Nothing waits"
    assert api.get("/v1/streams/sky").json()["told"] == 24


def is_known(api, stream, id, label):
    """Whether a row has this label: the same once more is no news."""
    return api.put(f"/v1/streams/{stream}/examples/{id}/label", json={"label": label}).json()["new"] is False


def test_digits_are_their_own_keys_and_other_classes_are_found_by_name(opened, api):
    settings = {"label_range": None, "model": "experts"}
    new_stream(api, "digits", vectors(0, 2), classes=[*"0123456789"], **settings)
    assert press(opened("/streams/digits/label"), "0") == "Row r1"
    assert is_known(api, "digits", "r0", "0")
    new_stream(api, "names", vectors(0, 3), classes=[f"c{n}" for n in range(12)], **settings)
    page = opened("/streams/names/label")
    assert press(page, "9") == "Row r1"
    assert press(page, "/", *"C11", "Enter") == "Row r2"
    assert is_known(api, "names", "r0", "c8")
    assert is_known(api, "names", "r1", "c11")


def test_numbers_are_typed_and_those_far_away_confirmed(opened, api):
    new_stream(api, "numbers", vectors(0, 3))
    page = opened("/streams/numbers/label")
    assert press(page, *"2,5", "Enter") == "Row r1"
    page.keyboard.type("x")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#message.refused")).to_contain_text("A number is wanted")
    page.fill("#field", "9000")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#message.refused")).to_contain_text("send it once more")
    assert shown(page) == "Row r1"
    assert press(page, "Enter") == "Row r2"


def test_two_people_never_get_the_same_row(opened, api):
    new_stream(api, "shared", vectors(0, 14))
    people = [opened("/streams/shared/label", name) for name in ("ada", "bob", "ada")]
    before = [shown(page) for page in people]
    assert len(set(before)) == 3
    seen = list(before)
    for _ in range(3):
        now = [press(page, "5", "Enter") for page in people]
        assert len(set(now)) == 3
        seen += now
    assert len(set(seen)) == len(seen) == 12
    assert api.get("/v1/streams/shared/queue").json()["leased"] == 3


def test_reloading_shows_the_same_row_and_asks_for_no_name_again(opened, api):
    new_stream(api, "again", vectors(0, 3))
    page = opened("/streams/again/label")
    before = shown(page)
    page.reload()
    assert shown(page) == before
    assert page.inner_text("#person") == "ada"


def test_the_plots_move(opened, api):
    new_stream(api, "moving", vectors(0, 40))
    page = opened("/streams/moving")
    page.wait_for_selector("#spend-plot canvas")
    canvas = page.locator("#spend-plot canvas").evaluate("canvas => (canvas.kept = true, canvas.toDataURL())")
    playwright.expect(page.locator("#rows")).to_have_text("40")
    api.post("/v1/streams/moving/labels", json=[{"id": f"r{n}", "label": n / 10} for n in range(40)])
    send(api, "moving", vectors(40, 120))
    playwright.expect(page.locator("#rows")).to_have_text("120")
    kept, now = page.locator("#spend-plot canvas").evaluate("canvas => [canvas.kept, canvas.toDataURL()]")
    assert kept
    assert now != canvas
    playwright.expect(page.locator("#report")).to_contain_text("120 of 500 labels on 120 rows")
    page.wait_for_selector("#error-plot canvas")


def test_streams_are_reached_with_arrows(opened, api):
    new_stream(api, "a-first", [])
    page = opened("/")
    page.wait_for_selector("#streams table")
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**/streams/a-first")
    page.keyboard.press("l")
    page.wait_for_url("**/streams/a-first/label")


def test_questions_that_come_later_show_up_by_themselves(opened, api):
    new_stream(api, "later", [])
    page = opened("/streams/later/label")
    assert shown(page) == "Nothing waits"
    send(api, "later", vectors(0, 1))
    assert shown(page, after="Nothing waits") == "Row r0"


def test_the_annotator_of_the_demonstration_is_switched_off(opened, api):
    new_stream(api, "shown", [])
    asked = []

    def answer(route):
        asked.append(route.request.post_data_json if route.request.method == "POST" else None)
        route.fulfill(json={"stream": "shown", "data": "bicycles", "annotator": True})

    page = opened("/")
    page.route(re.compile("/demo(/annotator)?$"), answer)
    page.goto("/streams/shown")
    page.get_by_label("a simulated annotator answers").uncheck()
    playwright.expect(page.locator("#message")).to_have_text("Questions are left to you.")
    assert asked == [None, {"on": False}]


def fits(page):
    """Whether nothing is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def lightness(color):
    """Return the sum of the parts of a color."""
    return sum(map(int, re.findall(r"\d+", color)[:3]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_in_light_and_dark(opened, api, scheme, width):
    if api.get("/v1/streams/wide").status_code == 404:
        new_stream(api, "wide", vectors(0, 8))
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 844}}
    page = opened("/streams/wide/label", **options)
    for path, there in {"": "#choices button", "/streams/wide": "#report dd", "/": "#streams table"}.items():
        page.goto(path or page.url)
        page.wait_for_selector(there)
        assert fits(page), path
    style = "getComputedStyle(document.body)"
    ink, paper = page.evaluate(f"[{style}.color, {style}.backgroundColor]")
    assert (lightness(ink) > lightness(paper)) == (scheme == "dark")


def test_a_wrong_key_sees_nothing(opened, tmp_path):
    store = Store(f"sqlite:///{tmp_path}/labels.db")
    app = create_app(store)
    key = app.state.keys.add("Ada Lovelace", ["admin"])
    with serving(app) as address:
        page = opened("/streams/secret", base=address)
        for wrong in ("qf_1_wrong", key[:-1]):
            page.fill("#key", wrong)
            page.keyboard.press("Enter")
            playwright.expect(page.locator("#refused")).to_have_text("There is no such key.")
            assert "secret" not in page.inner_text("body")
        page.fill("#key", key)
        page.keyboard.press("Enter")
        page.wait_for_url("**/streams/secret")
        playwright.expect(page.locator(".who")).to_contain_text("Ada Lovelace")
        playwright.expect(page.locator("#missing")).to_contain_text("secret")
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto("/")
        page.wait_for_selector("#keys table")
        assert fits(page)
        page.close()
    store.close()
