"""Downloads of dataset files from a local server: partial files are never used."""

import gzip
import hashlib
import logging
import re
import sys
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from qufur.data import Copy, Dataset, Edition, File, MissingDataError, fetch, files, find

pytest.importorskip("pooch")

CONTENT = bytes(range(256)) * 1024
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Server:
    """HTTP server of one file that records requests and can be made to fail."""

    def __init__(self):
        self.content, self.cut, self.status, self.tag = CONTENT, None, None, '"1"'
        self.ranges, self.after_cut, self.redirect = True, None, None
        self.requests = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/digits.bin"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def answer(self, request):
        byte_range = request.headers.get("Range")
        self.requests.append(byte_range)
        if self.status:
            request.send_error(self.status)
            return
        if self.redirect and self.redirect.split("/")[2] != request.headers["Host"]:
            request.send_response(302)
            request.send_header("Location", self.redirect)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        start = 0
        if byte_range and self.ranges and request.headers["If-Range"] == self.tag:
            start = int(re.fullmatch(r"bytes=(\d+)-", byte_range)[1])
        if start >= len(self.content):
            request.send_error(416)
            return
        body = self.content[start:]
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(body)))
        if start:
            end = len(self.content) - 1
            request.send_header("Content-Range", f"bytes {start}-{end}/{len(self.content)}")
        if self.tag:
            request.send_header("ETag", self.tag)
        request.end_headers()
        sent, self.cut = body[: self.cut], None
        if len(sent) < len(body):
            self.status = self.after_cut
            request.close_connection = True
        request.wfile.write(sent)

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("QUFUR_DATA", raising=False)
    folder = tmp_path / "cache"
    monkeypatch.setattr("pooch.os_cache", lambda name: folder)
    return folder


def file_at(server, **options):
    return File("toy/digits.bin", (server.url,), **options)


def names(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_fetch_downloads_once_and_then_uses_the_cache(server, cache, caplog, capfd):
    file = file_at(server, sha256=DIGEST)
    assert find(file) is None
    copy = fetch(file)
    assert (copy.path, copy.sha256, copy.place) == (cache / "toy/digits.bin", DIGEST, "cache")
    assert copy.path.read_bytes() == CONTENT
    assert fetch(file) == find(file) == copy
    assert server.requests == [None]
    assert names(cache) == ["digits.bin"]
    # Without a terminal there is neither a progress bar nor output of pooch.
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_progress_bar_appears_on_a_terminal(server, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    fetch(file_at(server, sha256=DIGEST))
    assert "Downloading digits.bin" in capsys.readouterr().err


@pytest.mark.parametrize(
    "damaged", [CONTENT[:1000], b"", CONTENT[:-1] + b"x"], ids=["cut", "empty", "flipped"]
)
def test_damaged_cache_file_is_logged_and_downloaded_again(server, cache, caplog, damaged):
    file = file_at(server, sha256=DIGEST)
    path = fetch(file).path
    path.write_bytes(damaged)
    assert find(file) is None
    with caplog.at_level(logging.WARNING, "qufur"):
        assert fetch(file).path.read_bytes() == CONTENT
    expected = f"{path} is damaged: its sha256 is {hashlib.sha256(damaged).hexdigest()}, not {DIGEST}. "
    assert caplog.messages == [expected + "It is downloaded again."]
    assert server.requests == [None, None]


def test_interrupted_transfer_resumes_immediately(server, cache):
    server.cut = 100_000
    assert fetch(file_at(server, sha256=DIGEST)).path.read_bytes() == CONTENT
    first, second = server.requests
    assert first is None
    assert second == "bytes=100000-"
    assert names(cache) == ["digits.bin"]


def test_interrupted_transfer_resumes_in_a_later_call(server, cache):
    file = file_at(server, sha256=DIGEST)
    server.cut, server.after_cut = 100_000, 503
    with pytest.raises(MissingDataError, match=r"digits\.bin \(503 Service Unavailable\)"):
        fetch(file)
    # The received bytes are stored under another name, so the partial file is never used.
    assert find(file) is None
    assert [re.sub(r"\.[0-9a-f]{8}\.", ".*.", name) for name in names(cache)] == [
        "digits.bin.*.part",
        "digits.bin.*.part.version",
    ]
    server.status = None
    assert fetch(file).path.read_bytes() == CONTENT
    assert server.requests[-1] == "bytes=100000-"
    assert names(cache) == ["digits.bin"]


@pytest.mark.parametrize("change", ["content", "no ranges", "no version", "shorter"])
def test_partial_download_restarts_when_the_source_changed(server, cache, change):
    file = file_at(server)
    if change == "no version":
        server.tag = ""
    server.cut, server.after_cut = 100_000, 503
    with pytest.raises(MissingDataError):
        fetch(file)
    server.status = None
    if change == "content":
        server.content, server.tag = CONTENT[::-1], '"2"'
    if change == "no ranges":
        server.ranges = False
    if change == "shorter":
        server.content = CONTENT[:50_000]
    assert fetch(file).path.read_bytes() == server.content


def test_modification_date_replaces_a_weak_etag():
    from qufur.data.fetch import _strong_version

    date = formatdate(0, usegmt=True)
    assert _strong_version({"ETag": 'W/"1"', "Last-Modified": date}) == date
    assert _strong_version({"ETag": '"1"', "Last-Modified": date}) == '"1"'
    assert _strong_version({}) == ""


def test_checksum_mismatch_raises_and_stores_nothing(server, cache):
    server.content = CONTENT[:-1] + b"x"
    file = file_at(server, sha256=DIGEST)
    with pytest.raises(ValueError) as caught:
        fetch(file)
    got = hashlib.sha256(server.content).hexdigest()
    expected = f"toy/digits.bin from {server.url} was discarded: its sha256 is {got}, not {DIGEST}."
    assert str(caught.value) == expected
    assert not names(cache)


def test_fetch_without_network_names_file_folders_and_remedy(server, cache, monkeypatch, tmp_path):
    server.stop()
    file = file_at(server, sha256=DIGEST)
    with pytest.raises(MissingDataError) as caught:
        fetch(file)
    assert str(caught.value) == (
        f"toy/digits.bin is missing: not in QUFUR_DATA (not set) and the cache ({cache}); download failed "
        f"from {server.url} (no connection). Download it on a machine with network access. "
        "Set QUFUR_DATA to the folder that contains toy/digits.bin."
    )
    monkeypatch.setenv("QUFUR_DATA", str(tmp_path / "mine"))
    with pytest.raises(MissingDataError, match=re.escape(f"not in QUFUR_DATA ({tmp_path / 'mine'})")):
        fetch(file)


def test_next_url_is_tried_after_a_failure(server):
    unreachable = f"{server.url.rpartition(':')[0]}:1/digits.bin"
    assert fetch(File("digits.bin", (unreachable, server.url), DIGEST)).sha256 == DIGEST
    server.status = 404
    with pytest.raises(MissingDataError, match=r"\(no connection\) and http.*\(404 Not Found\)"):
        fetch(File("other.bin", (unreachable, server.url), DIGEST))


def test_user_folder_is_searched_first_and_never_written(server, monkeypatch, tmp_path):
    folder = tmp_path / "mine"
    (folder / "toy").mkdir(parents=True)
    (folder / "toy/digits.bin").write_bytes(CONTENT)
    monkeypatch.setenv("QUFUR_DATA", str(folder))
    file = file_at(server, sha256=DIGEST)
    assert fetch(file).place == "QUFUR_DATA"
    (folder / "toy/digits.bin").write_bytes(CONTENT[:-1])
    with pytest.raises(ValueError, match=r"digits\.bin is damaged: its sha256 is .* Replace it by"):
        fetch(file)
    assert not server.requests
    assert names(folder) == ["digits.bin"]


def test_unknown_digest_is_recorded_and_verified_later(server, cache, caplog):
    file = file_at(server)
    path = fetch(file).path
    assert names(cache) == ["digits.bin", "digits.bin.sha256"]
    path.write_bytes(CONTENT[:10])
    assert find(file) is None
    with caplog.at_level(logging.WARNING, "qufur"):
        assert fetch(file).sha256 == DIGEST
    assert "is damaged" in caplog.text
    path.write_bytes(b"")
    server.content = b"something else"
    with pytest.raises(ValueError, match=r"was discarded: .* If the source has changed, delete .*\.sha256\."):
        fetch(file)


@pytest.mark.parametrize("address", ["http://example.org/a", "ftp://example.org/a", "http://127.0.0.1.org/a"])
def test_unverified_file_is_not_downloaded_without_https(address):
    with pytest.raises(ValueError, match=r"urls of File a must be https, or with a sha256 to verify, got '"):
        File("a", ("https://example.org/a", address))
    File("a", (address,), DIGEST)


def test_unverified_file_is_not_downloaded_through_a_redirect_without_https(server, cache):
    server.redirect = server.url.replace("127.0.0.1", "0.0.0.0")
    with pytest.raises(
        MissingDataError, match=r"redirected to http://0\.0\.0\.0:\d+/digits\.bin, which is not https"
    ):
        fetch(file_at(server))
    assert not names(cache)
    assert fetch(file_at(server, sha256=DIGEST)).path.read_bytes() == CONTENT


def test_compressed_files_are_verified_by_their_content(server, cache):
    file = File("digits.gz", (server.url,), DIGEST)
    server.content = gzip.compress(CONTENT, 1)
    path = fetch(file).path
    path.write_bytes(gzip.compress(CONTENT, 9))
    assert find(file).sha256 == DIGEST
    path.write_bytes(path.read_bytes()[:-9])
    assert files.look(file).damage == "it cannot be decompressed completely"
    assert find(file) is None
    server.content = b"<html>Please log in</html>"
    with pytest.raises(ValueError, match="was discarded: it cannot be decompressed completely"):
        fetch(file)


def test_file_of_an_installed_package_is_used(tmp_path, monkeypatch):
    package = tmp_path / "site" / "carrier"
    package.mkdir(parents=True)
    (package / "digits.bin").write_bytes(CONTENT)
    file = File("digits.bin", sha256=DIGEST, package="carrier")
    assert find(file) is None
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert find(file).place == "package carrier"
    # Another version of the package may contain another file.
    (package / "digits.bin").write_bytes(b"other digits")
    assert find(file) is None


def test_dataset_prefers_the_first_available_edition(server, cache):
    whole = Edition((file_at(server, sha256=DIGEST),))
    other = Edition((File("other.bin", remedy="Ask a friend."),), "stand-in: drawn by hand", stand_in=True)
    dataset = Dataset("toy", "Toy digits", "a server", (whole, other))
    assert dataset.here() is None
    cache.mkdir()
    (cache / "other.bin").write_bytes(b"7")
    assert dataset.get().edition.stand_in
    assert dataset.download().provenance == f"Toy digits, original: toy/digits.bin (sha256 {DIGEST})"
    copy = dataset.get()
    assert isinstance(copy, Copy)
    assert copy.edition is whole
    assert copy.paths == [cache / "toy/digits.bin"]
    with pytest.raises(MissingDataError, match=r"other\.bin is missing: .*\. Ask a friend\. Set QUFUR_DATA"):
        dataset.download([other])


def test_missing_pooch_error_names_the_extra(monkeypatch):
    monkeypatch.undo()
    monkeypatch.delenv("QUFUR_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"downloading datasets needs pooch.*\[data\]"):
        fetch(File("x"))
