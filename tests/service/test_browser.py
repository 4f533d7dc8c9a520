"""Pages in a real browser: labelling from the keyboard, live progress."""

import re
import shutil

import httpx
import pytest

from qufur.service.app import create_app
from qufur.service.server import serving
from qufur.service.store import Store

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
FLAGS += " --disable-component-update --disable-sync"
PATIENCE = 20_000
"""Milliseconds to wait on a busy machine."""
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
        patch.setattr("qufur.models.ensemble.experts.TREES", 3)
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
    """Return whether a console message is an error of the page; rejected requests are not."""
    return message.type == "error" and "Failed to load resource" not in message.text


@pytest.fixture
def opened(browser, address):
    """Return a function that opens a page in a new browser context. Errors of a page fail the test."""
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
            page.wait_for_function("localStorage.getItem('name')")  # before a test loads the page again
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def new_stream(api, name, rows, **settings):
    """Create a stream that queries every row, and send rows."""
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
    """Return the id of the displayed row, once it differs from `after`."""
    page.wait_for_function(
        "after => { const id = document.getElementById('row-id').textContent;"
        " return /^(Row |No rows)/.test(id) && id !== after; }",
        arg=after,
    )
    return page.inner_text("#row-id")


def press(page, *keys):
    """Press keys that answer a row. Wait for the next row and until the answer is stored."""
    before, message = shown(page), page.inner_text("#message")
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_function(
        "message => !['', message].includes(document.getElementById('message').textContent)", arg=message
    )
    return shown(page, after=before)


def test_stream_is_created_on_the_page(opened, api):
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


def test_rows_are_labelled_and_undone_with_the_keyboard_alone(opened, api):
    columns = {"temp": "number", HOSTILE: "category"}
    settings = {"dim": None, "columns": columns, "label_range": None, "classes": CLASSES, "model": "experts"}
    new_stream(api, "sky", records(25), **settings)
    page = opened("/streams/sky/label")
    first = shown(page)
    assert HOSTILE in page.inner_text("#content")
    assert page.inner_text("#why").startswith("Queried: uncertainty")
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
    assert press(page, "2") == "No rows to label"
    assert api.get("/v1/streams/sky").json()["told"] == 24


def is_known(api, stream, id, label):
    """Return whether a row has this label: sending it again is not new."""
    return api.put(f"/v1/streams/{stream}/examples/{id}/label", json={"label": label}).json()["new"] is False


def test_digit_classes_use_their_own_keys_and_others_are_chosen_by_name(opened, api):
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


def test_typed_numbers_are_stored_and_outliers_confirmed(opened, api):
    new_stream(api, "numbers", vectors(0, 3))
    page = opened("/streams/numbers/label")
    assert press(page, *"2,5", "Enter") == "Row r1"
    page.keyboard.type("x")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#message.refused")).to_contain_text("Enter a number")
    page.fill("#field", "9000")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#came-back")).to_contain_text("send it again")
    page.keyboard.press("Enter")
    assert shown(page, after="Row r2") == "Row r1"
    assert page.input_value("#field") == "9000"
    assert press(page, "Enter") == "Row r2"
    assert is_known(api, "numbers", "r1", 9000)


def test_number_with_two_readings_is_confirmed_before_it_is_stored(opened, api):
    new_stream(api, "two-readings", vectors(0, 6), label_range=[0, 5000])
    page = opened("/streams/two-readings/label")
    page.fill("#field", "1,500")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#reading")).to_contain_text("1,500 has two readings")
    assert page.locator("#reading button strong").all_inner_texts() == ["1500", "1.5"]
    page.keyboard.press("Enter")  # no default: Enter asks once more
    assert shown(page) == "Row r0"
    assert api.get("/v1/streams/two-readings").json()["told"] == 0
    assert press(page, "1") == "Row r1"
    assert is_known(api, "two-readings", "r0", 1500)
    page.fill("#field", "2.750")
    playwright.expect(page.locator("#reading")).to_contain_text("read as 2.75, with a point as decimal mark")
    page.click("#reading button")
    assert page.locator("#reading button strong").all_inner_texts() == ["2.75", "2750"]
    assert press(page, "2") == "Row r2"
    assert is_known(api, "two-readings", "r1", 2750)


@pytest.mark.parametrize(
    ("text", "label"),
    [("1,234", 1234), ("1.500,25", 1500.25), ("1 500", 1500), ("1e2", 100), ("12 %", 0.12), ("−5", -5)],
)
def test_page_shows_the_number_it_read(opened, api, text, label):
    name = f"read-{label}".replace(".", "-")
    new_stream(api, name, vectors(0, 1), label_range=[-10, 5000])
    page = opened(f"/streams/{name}/label")
    shown(page)
    page.evaluate("name => sessionStorage.setItem(`decimal mark ${name}`, '.')", name)
    page.keyboard.type(text)
    playwright.expect(page.locator("#reading strong")).to_have_text(str(label))
    assert press(page, "Enter") == "No rows to label"
    assert is_known(api, name, "r0", label)


@pytest.mark.parametrize("text", ["0x10", "Infinity", "1_000", "x", "1 50"])
def test_text_without_a_number_is_not_stored(opened, api, text):
    if api.get("/v1/streams/no-number").status_code == 404:
        new_stream(api, "no-number", vectors(0, 9))
    page = opened("/streams/no-number/label")
    before = shown(page)
    page.fill("#field", text)
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#message.refused")).to_contain_text(
        f"Enter a number, such as 1500 or 3.2; got {text}."
    )
    assert shown(page) == before
    assert api.get("/v1/streams/no-number").json()["told"] == 0


def test_numbers_on_the_page_are_read_back_as_the_same_numbers(opened, api):
    new_stream(api, "written", vectors(0, 1))
    page = opened("/streams/written/label")
    shown(page)
    values = [1500, -1500, 0.5, 12345.5, 1234567, 1.5e-7, -2.5e12, 999_999_999]
    script = (
        "async values => { const { number } = await import('/static/dom.js'); return values.map(number); }"
    )
    for value, text in zip(values, page.evaluate(script, values), strict=True):
        parsed = api.post("/v1/streams/written/labels/parse", json={"text": text}).json()["readings"]
        assert [reading["label"] for reading in parsed] == [pytest.approx(value, rel=1e-3)], text


@pytest.mark.parametrize("id", [".", "..", "a/../b", "%2e%2e", "x?y#z"])
def test_rows_with_any_id_are_labelled_declined_and_undone(opened, api, id):
    name = f"id-{id.encode().hex()}"
    new_stream(api, name, [{"id": id, "x": [0.5, 1.0]}, {"id": "last", "x": [0.6, 1.0]}])
    page = opened(f"/streams/{name}/label")
    first = shown(page)
    assert first == f"Row {id}"
    assert press(page, "3", "Enter") == "Row last"
    assert press(page, "u") == first
    assert api.get(f"/v1/streams/{name}").json()["told"] == 0
    assert press(page, "d") == "Row last"
    assert api.get(f"/v1/streams/{name}").json()["outstanding"] == 1


def held_back(page, url):
    """Delay requests of a page until the returned function is called, which may respond to them itself."""
    held, is_open = [], []
    page.route(url, lambda route: route.continue_() if is_open else held.append(route))

    def let_go(**answer):
        is_open.append(True)
        for route in held:
            if answer:
                route.fulfill(**answer)
            else:
                route.continue_()
        return len(held)

    return let_go


def test_next_row_is_shown_while_a_label_is_sent(opened, api):
    new_stream(api, "ahead", vectors(0, 8))
    page = opened("/streams/ahead/label")
    assert shown(page) == "Row r0"
    page.wait_for_timeout(500)  # the next row is leased ahead
    let_go = held_back(page, "**/labels")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    assert shown(page, after="Row r0") == "Row r1"
    page.keyboard.type("4")
    page.keyboard.press("Enter")
    assert shown(page, after="Row r1") == "Row r2"
    assert api.get("/v1/streams/ahead").json()["told"] == 0
    assert let_go() == 1  # the second label waits for the first
    playwright.expect(page.locator("#message")).to_have_text("r1: 4")
    assert is_known(api, "ahead", "r0", 3)
    assert is_known(api, "ahead", "r1", 4)


def test_row_is_shown_again_when_its_label_was_not_stored(opened, api):
    new_stream(api, "refused", vectors(0, 8))
    page = opened("/streams/refused/label")
    assert shown(page) == "Row r0"
    page.wait_for_timeout(500)
    let_go = held_back(page, "**/labels")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    assert shown(page, after="Row r0") == "Row r1"
    page.keyboard.type("4")
    let_go(status=503, json={"error": "The store cannot be written."})
    playwright.expect(page.locator("#came-back")).to_contain_text("Row r0 was not saved")
    page.keyboard.type("5")  # meant for r1, which the dialog covers
    page.keyboard.press("Enter")
    assert shown(page, after="Row r1") == "Row r0"
    assert page.input_value("#field") == "3"
    assert press(page, "Enter") == "Row r1"
    assert page.input_value("#field") == "4"
    assert press(page, "Enter") == "Row r2"
    assert is_known(api, "refused", "r0", 3)
    assert is_known(api, "refused", "r1", 4)


def test_keys_pressed_before_the_next_row_is_shown_are_reported_and_label_nothing(opened, api):
    settings = {"label_range": None, "classes": ["no", "yes"], "model": "experts"}
    new_stream(api, "late", vectors(0, 2), **settings)
    page = opened("/streams/late/label")
    assert shown(page) == "Row r0"
    let_go = held_back(page, "**/queue/lease")
    page.keyboard.press("1")
    playwright.expect(page.locator("#row-id")).to_have_text("Loading the next row …")
    page.keyboard.press("2")
    playwright.expect(page.locator("#message.refused")).to_contain_text("was ignored.")
    let_go()
    assert shown(page) == "Row r1"
    assert api.get("/v1/streams/late").json()["told"] == 1


def test_annotators_never_get_the_same_row(opened, api):
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
    assert api.get("/v1/streams/shared/queue").json()["leased"] == 5  # three shown, two leased ahead


def test_reload_shows_the_same_row_and_keeps_the_name(opened, api):
    new_stream(api, "again", vectors(0, 3))
    page = opened("/streams/again/label")
    before = shown(page)
    page.reload()
    assert shown(page) == before
    assert page.inner_text("#person") == "ada"


def test_plots_are_updated_as_labels_arrive(opened, api):
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


def test_streams_are_selected_with_arrow_keys(opened, api):
    new_stream(api, "a-first", [])
    page = opened("/")
    page.wait_for_selector("#streams table")
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**/streams/a-first")
    page.keyboard.press("l")
    page.wait_for_url("**/streams/a-first/label")


def test_new_queries_appear_without_reload(opened, api):
    new_stream(api, "later", [])
    page = opened("/streams/later/label")
    assert shown(page) == "No rows to label"
    send(api, "later", vectors(0, 1))
    assert shown(page, after="No rows to label") == "Row r0"


def test_demo_annotator_can_be_switched_off(opened, api):
    new_stream(api, "shown", [])
    asked = []

    def answer(route):
        asked.append(route.request.post_data_json if route.request.method == "POST" else None)
        route.fulfill(json={"stream": "shown", "data": "bicycles", "annotator": True})

    page = opened("/")
    page.route(re.compile("/demo(/annotator)?$"), answer)
    page.goto("/streams/shown")
    page.get_by_label("simulated annotator labels the rows").uncheck()
    playwright.expect(page.locator("#message")).to_have_text(
        "The simulated annotator is off: label the rows yourself."
    )
    assert asked == [None, {"on": False}]


def fits(page):
    """Return whether no element is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def lightness(color):
    """Return the sum of the color components."""
    return sum(map(int, re.findall(r"\d+", color)[:3]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_the_screen_in_light_and_dark_mode(opened, api, scheme, width):
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


def test_invalid_key_cannot_sign_in(opened, tmp_path):
    store = Store(f"sqlite:///{tmp_path}/labels.db")
    app = create_app(store)
    key = app.state.keys.add("Ada Lovelace", ["admin"])
    with serving(app) as address:
        page = opened("/streams/secret", base=address)
        for wrong in ("qf_1_wrong", key[:-1]):
            page.fill("#key", wrong)
            page.keyboard.press("Enter")
            playwright.expect(page.locator("#refused")).to_have_text("This key is invalid or revoked.")
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


def test_stream_is_deleted_once_its_name_is_typed(opened, api):
    new_stream(api, "doomed", vectors(0, 3))
    page = opened("/streams/doomed")
    playwright.expect(page.locator("#rows")).to_have_text("3")
    page.click("#delete")
    playwright.expect(page.locator("#deletion-words")).to_contain_text("3 rows, 0 labels and the model")
    page.fill("#confirmed", "doome")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#delete-now")).to_be_disabled()
    assert api.get("/v1/streams/doomed").status_code == 200
    page.fill("#confirmed", "doomed")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r":\d+/$"))
    page.wait_for_selector("#streams[aria-busy=false]")
    assert "doomed" not in page.inner_text("#streams")
    assert api.get("/v1/streams/doomed").status_code == 404


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """Service with keys and two streams."""
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('locked')}/labels.db")
    app = create_app(store)
    with serving(app) as address, httpx.Client(base_url=address, timeout=PATIENCE / 1000) as api:
        new_stream(api, "bikes", vectors(0, 3))
        new_stream(api, "cars", vectors(0, 1))
        yield address, app.state.keys
    store.close()


def signed_in(opened, locked, name, *scopes, stream=None):
    address, keys = locked
    page = opened("/login", base=address)
    if not keys.needed:
        keys.add("root", ["admin"])
    page.fill("#key", keys.add(name, scopes, stream))
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/login" not in url)
    return page


def test_label_key_for_one_stream_lands_on_its_rows(opened, locked):
    page = signed_in(opened, locked, "ann", "label", stream="cars")
    assert page.url.endswith("/streams/cars/label")
    assert shown(page) == "Row r0"
    assert "Progress" not in page.inner_text("nav")
    assert press(page, "3", "Enter") == "No rows to label"


def test_label_key_for_all_streams_lands_on_streams_to_label(opened, locked):
    page = signed_in(opened, locked, "bob", "label")
    page.wait_for_selector("#streams table")
    assert "Your key allows labelling rows" in page.inner_text("main")
    assert page.locator("#streams thead th").all_inner_texts() == ["stream", "pending"]
    assert page.locator("button", has_text="New stream").count() == 0
    page.click("text=label 3")
    assert shown(page) == "Row r0"
    page.goto("/streams/bikes")
    assert page.url.endswith("/streams/bikes/label")


def test_read_key_sees_no_way_to_label(opened, locked):
    page = signed_in(opened, locked, "eve", "read")
    page.wait_for_selector("#streams table")
    assert page.locator("#streams a.button").count() == 0
    page.goto("/streams/bikes")
    playwright.expect(page.locator("#rows")).to_have_text("3")
    assert page.locator("#to-label, #delete").count() == 0
    page.goto("/streams/bikes/label")
    assert "allows viewing progress." in page.inner_text("main")


def test_ingest_key_sees_its_permissions(opened, locked):
    page = signed_in(opened, locked, "app", "ingest", stream="bikes")
    assert "allows sending examples from a program, on the stream bikes." in page.inner_text("main")
    page.click("text=HTTP API")
    page.wait_for_url("**/docs")
