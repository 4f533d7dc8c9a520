"""Pages without a browser: security headers, access, escaping of names."""

import hashlib
import json
import re
import warnings
from html.parser import HTMLParser
from pathlib import Path

import pytest

from qufur.service import pages
from qufur.service.app import create_app
from qufur.service.store import Store

with warnings.catch_warnings():  # starlette 1 deprecates its test client with httpx
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

FOLDER = Path(pages.__file__).parent
VENDOR = FOLDER / "static/vendor"
HOSTILE = "<script>alert(1)</script>\"'"
PAGES = ["/", "/streams/bikes", "/streams/bikes/label"]


@pytest.fixture
def store(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/labels.db")
    yield store
    store.close()


@pytest.fixture
def app(store):
    return create_app(store)


@pytest.fixture
def client(app):
    with TestClient(app, base_url="http://localhost") as client:
        yield client


@pytest.fixture
def key(app):
    """Create a key, so that the service requires one."""
    return app.state.keys.add("ada", ["admin"])


def token(page):
    """Return the CSRF token of a page."""
    return re.search(r'name="csrf-token" content="(\w+)"', page.text)[1]


def sign_in(client, key, **fields):
    form = {"key": key, "csrf_token": token(client.get("/login")), "next": "/", **fields}
    return client.post("/login", data=form, follow_redirects=False)


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))


def test_vendored_files_match_their_published_digests():
    manifest = json.loads((VENDOR / "manifest.json").read_text())
    files = {name: digest for package in manifest for name, digest in package["files"].items()}
    there = {path.name for path in VENDOR.iterdir()} - {"manifest.json"}
    assert set(files) == there
    assert {name: hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() for name in there} == files
    assert {package["package"] for package in manifest} == {"htmx.org", "uplot"}
    assert all(any("LICENSE" in name for name in package["files"]) for package in manifest)


def test_manifest_versions_match_the_vendored_files():
    versions = {one["package"]: one["version"] for one in json.loads((VENDOR / "manifest.json").read_text())}
    assert f'version:"{versions["htmx.org"]}"' in (VENDOR / "htmx.min.js").read_text()
    assert f"(v{versions['uplot']})" in (VENDOR / "uPlot.iife.min.js").read_text()


@pytest.mark.parametrize("path", [*PAGES, "/login"])
def test_pages_load_no_external_resources_and_run_no_inline_scripts(client, path):
    page = client.get(path)
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'self'; ")
    assert "unsafe" not in policy
    elements = Elements(page.text).elements
    addresses = [attrs[name] for _, attrs in elements for name in ("src", "href", "action") if name in attrs]
    assert all(address.startswith(("/", "#")) and not address.startswith("//") for address in addresses)
    assert all("src" in attrs for tag, attrs in elements if tag == "script")
    assert "style" not in {tag for tag, _ in elements}
    assert not [name for _, attrs in elements for name in attrs if name == "style" or name.startswith("on")]
    loaded = [address for address in addresses if address.startswith("/static/")]
    assert {client.get(address).status_code for address in loaded} == {200}


@pytest.mark.parametrize("path", sorted((FOLDER / "static").glob("*.js")), ids=lambda path: path.name)
def test_scripts_build_no_html_from_text(path):
    text = path.read_text()
    assert not re.search(r"innerHTML\s*=[^=]|insertAdjacentHTML|outerHTML|document\.write|\beval\(", text)
    imported = re.findall(r'from "\./([\w.]+)"', text)
    assert all((path.parent / name).is_file() for name in imported)


@pytest.mark.parametrize("path", sorted((FOLDER / "static").glob("*.js")), ids=lambda path: path.name)
def test_scripts_refer_to_existing_element_ids(path):
    """Each id that a script looks up is in a template or created by a script."""
    html = "".join(page.read_text() for page in (FOLDER / "templates").glob("*.html"))
    scripts = "".join(script.read_text() for script in path.parent.glob("*.js"))
    there = {*re.findall(r'\bid="([\w-]+)"', html), *re.findall(r'\bid: "([\w-]+)"', scripts)}
    assert set(re.findall(r'\b(?:find|write)\("([\w-]+)"', path.read_text())) <= there


def test_favicon_is_the_icon_of_the_pages(client, key):
    answer = client.get("/favicon.ico")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert answer.content == client.get("/static/icon.svg").content


def test_external_images_are_allowed_on_the_label_page_only(client):
    policies = {path: client.get(path).headers["content-security-policy"] for path in PAGES}
    assert [path for path, policy in policies.items() if "img-src 'self' http: https:" in policy] == [
        PAGES[2]
    ]


@pytest.mark.parametrize("path", ["/", "/login"])
def test_input_fields_all_have_a_label(client, path):
    elements = Elements(client.get(path).text).elements
    labelled = {attrs["for"] for tag, attrs in elements if tag == "label" and "for" in attrs}
    fields = [attrs for tag, attrs in elements if tag in ("input", "textarea", "select")]
    named = [attrs for attrs in fields if attrs.get("type") not in ("hidden", "radio", "checkbox")]
    assert named
    assert {attrs["id"] for attrs in named} <= labelled


@pytest.mark.parametrize("path", PAGES)
def test_pages_redirect_to_sign_in_without_a_key(client, key, path):
    answer = client.get(path, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/login?next={path}")
    assert answer.text == ""


@pytest.mark.parametrize("wrong", ["", "qf_1_nothing", "x", "é\N{SNOWMAN}", "qf_" + "a" * 5000])
def test_invalid_key_cannot_sign_in(client, key, wrong):
    answer = sign_in(client, wrong)
    assert answer.status_code == 403
    assert "This key is invalid or revoked." in answer.text
    assert "qufur_key" not in client.cookies
    assert client.get("/", follow_redirects=False).status_code == 303
    assert client.get("/keys").status_code == 403


def test_valid_key_grants_access_to_pages_and_api(client, key):
    answer = sign_in(client, f" {key} ", next="/streams/bikes")
    assert (answer.status_code, answer.headers["location"]) == (303, "/streams/bikes")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "ada" in client.get("/").text
    assert client.get("/v1/streams").status_code == 200


def test_signing_out_deletes_the_session_cookie(client, key):
    sign_in(client, key)
    page = client.get("/")
    client.post("/logout", data={"csrf_token": "of another site"}, follow_redirects=False)
    assert "qufur_key" in client.cookies
    client.post("/logout", data={"csrf_token": token(page)}, follow_redirects=False)
    assert "qufur_key" not in client.cookies
    assert client.get("/", follow_redirects=False).status_code == 303


def test_sign_in_form_of_another_site_is_rejected(client, key):
    assert sign_in(client, key, csrf_token="guessed").status_code == 403
    assert "qufur_key" not in client.cookies


@pytest.mark.parametrize("away", ["//elsewhere.org", "https://elsewhere.org", "/\\elsewhere.org", "away"])
def test_sign_in_redirects_to_local_paths_only(client, key, away):
    assert sign_in(client, key, next=away).headers["location"] == "/"


def new_stream(client, headers):
    body = {"name": "bikes", "dim": 2, "label_range": [0, 1]}
    return client.post("/v1/streams", json=body, headers=headers).status_code


@pytest.mark.parametrize("signed_in", [False, True])
def test_calls_from_another_site_are_rejected(client, app, signed_in):
    if signed_in:
        sign_in(client, app.state.keys.add("ada", ["admin"]))
    page = client.get("/")
    assert new_stream(client, {"Origin": "https://elsewhere.org"}) == 403
    assert new_stream(client, {"Origin": "null"}) == 403
    assert new_stream(client, {"Origin": "https://elsewhere.org", "X-CSRF-Token": "guessed"}) == 403
    assert client.get("/v1/streams").json() == {"streams": []}
    assert new_stream(client, {"X-CSRF-Token": token(page)}) == 201


def test_programs_with_a_key_need_no_csrf_token(client, app):
    assert new_stream(client, {}) == 201
    key = app.state.keys.add("ada", ["admin"])
    assert new_stream(client, {"Authorization": f"Bearer {key}"}) == 200


def test_cookie_without_csrf_token_changes_nothing(client, key):
    sign_in(client, key)
    assert new_stream(client, {}) == 403


@pytest.mark.parametrize("path", ["/streams/{}", "/streams/{}/label"])
def test_hostile_name_is_escaped(client, path):
    page = client.get(path.format("%3Cscript%3Ealert(1)%22'"))
    assert page.status_code == 200
    assert "alert(1)" in page.text
    assert "<script>alert" not in page.text
    assert [
        attrs for tag, attrs in Elements(page.text).elements if tag == "script" and "src" not in attrs
    ] == []


def add_key(client, **fields):
    headers = {"X-CSRF-Token": token(client.get("/"))}
    return client.post("/keys", data={"name": "bob", "scopes": "read", **fields}, headers=headers)


def test_keys_are_created_shown_once_and_revoked(client, app, key):
    sign_in(client, key)
    part = add_key(client, name=HOSTILE, scopes=["read", "label"], stream="bikes")
    assert "<script>alert" not in part.text
    secret = re.search(r"qf_\w+", part.text)[0]
    assert app.state.keys.find(secret).stream == "bikes"
    listed = client.get("/keys").text
    assert secret not in listed
    assert "view, label" in listed or "label, view" in listed
    id = secret.split("_")[1]
    headers = {"X-CSRF-Token": token(client.get("/"))}
    assert id not in client.delete(f"/keys/{id}", headers=headers).text
    assert "must be" in client.delete(f"/keys/{id}", headers=headers).text


def test_key_without_scopes_is_rejected_with_a_message(client, key):
    sign_in(client, key)
    assert "at least one of" in add_key(client, scopes=[]).text


def test_first_key_is_an_admin_key_and_signs_its_creator_in(client, app):
    assert "The first key needs the scope admin" in add_key(client).text
    assert not app.state.keys.needed
    part = add_key(client, scopes="admin")
    assert app.state.keys.needed
    assert client.cookies["qufur_key"] in part.text
    assert client.get("/", follow_redirects=False).status_code == 200


@pytest.mark.parametrize("scopes", [["read"], ["label", "ingest"]])
def test_keys_are_visible_to_administrators_only(client, app, key, scopes):
    sign_in(client, app.state.keys.add("bob", scopes))
    assert 'hx-get="/keys"' not in client.get("/").text
    assert client.get("/keys").status_code == 403
    assert add_key(client).status_code == 403
    headers = {"X-CSRF-Token": token(client.get("/"))}
    assert client.delete(f"/keys/{key.split('_')[1]}", headers=headers).status_code == 403
    assert {one.name: one.revoked for one in app.state.keys.listed()} == {"ada": None, "bob": None}


def test_keys_are_created_from_pages_of_this_service_only(client, app, key):
    sign_in(client, key)
    assert client.post("/keys", data={"name": "eve", "scopes": "admin"}).status_code == 403
    assert client.delete(f"/keys/{key.split('_')[1]}").status_code == 403
    assert len(app.state.keys.listed()) == 1


def test_api_page_lists_operations_without_external_scripts(client):
    page = client.get("/docs")
    assert "POST /v1/streams/{stream}/examples" in page.text
    assert "http://" not in page.text.replace("http://localhost", "")
    assert "https://" not in page.text
