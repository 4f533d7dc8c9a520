"""Reviews and their embeddings, by a tiny model with random weights."""

import gzip
import json
import os
import sys
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from qufur.data import reviews
from qufur.tables import text as text_features
from qufur.tables.text import TokenMeans, pieces

STAND_IN = Path(os.environ.get("QUFUR_DATA", ""), "amazon_standin/automotive.jsonl.gz")


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    return path


def review(rating, text):
    return json.dumps({"reviewerID": "A1", "overall": rating, "reviewText": text, "summary": "!"})


@pytest.fixture
def tiny(tmp_path):
    return tiny_model(tmp_path)


def tiny_model(folder):
    torch = pytest.importorskip("torch", reason="torch is not installed: qufur[text]")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: qufur[text]")
    letters = [*"abcdefghijklmnopqrstuvwxyz", "##e", "##s"]
    vocabulary = folder / "vocabulary.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=64,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=300,
    )
    return TokenMeans(transformers.BertModel(config), transformers.BertTokenizer(str(vocabulary)), batch=3)


def test_pieces_contain_the_whole_text():
    text = "".join(chr(97 + i % 26) for i in range(1300))
    assert "".join(pieces(text)) == text
    assert [len(piece) for piece in pieces(text)] == [512, 512, 276]
    assert [len(piece) for piece in pieces(text[:1024])] == [512, 512]


def test_embedding_is_a_mean_over_tokens_then_pieces(tiny):
    import torch

    texts = ["a b c", "", "d e " * 300, "f " * 2000]
    for text, vector in zip(texts, tiny.embed(texts), strict=True):
        means = []
        for start in range(0, max(1, len(text)), 512):
            tokens = tiny.tokenizer(text[start : start + 512], return_tensors="pt")
            assert tokens["input_ids"][0, 0] == tiny.tokenizer.cls_token_id
            with torch.no_grad():
                means.append(tiny.model(**tokens).last_hidden_state[0].mean(dim=0).numpy())
        np.testing.assert_allclose(vector, np.mean(means, axis=0), rtol=1e-4, atol=1e-6)
        assert (vector.shape, vector.dtype) == ((16,), np.float64)


def test_piece_with_too_many_tokens_is_truncated(tiny):
    tiny.model.config.max_position_embeddings = 10
    long, short = tiny.embed(["a b c d e f g h i j k l", "a b c d e f g h"])
    np.testing.assert_allclose(long, short, rtol=1e-5)


def test_embedding_depends_on_the_batch_size_only_by_rounding(tiny):
    text = "a b c d " * 1000
    (three,) = tiny.embed([text])
    (one,) = TokenMeans(tiny.model, tiny.tokenizer, batch=1).embed([text])
    np.testing.assert_allclose(three, one, rtol=1e-5, atol=1e-6)


def test_reviews_are_embedded_into_a_stream(tiny, tmp_path, monkeypatch):
    pytest.importorskip("pooch")
    from qufur.streams import AmazonReviews

    monkeypatch.setenv("QUFUR_DATA", str(tmp_path))
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache")
    for file, count in reviews.TOPICS.values():
        letter = file.name[15].lower()
        write(tmp_path / file.name, *(review(1 + i % 5, f"{letter} " * i) for i in range(count + 7)))
    reviews.embed_reviews(tiny)
    stream = AmazonReviews.main()
    assert (stream.durations, stream.dim, stream.stand_in) == ((300, 600, 1200), 16, False)
    assert stream.topics == ("automotive", "grocery", "games")
    assert stream.provenance.startswith("Amazon reviews, original reviews, BERT-base embeddings: amazon/bert")
    # The row of a review, identified by its vector, has its rating.
    (vector,) = tiny.embed(["a " * 41])
    row = np.argmin(np.linalg.norm(stream.X[:300] - vector, axis=1))
    assert stream.y[row] == 1 + 41 % 5


def test_read_reviews_yields_ratings_and_texts(tmp_path):
    path = write(tmp_path / "r.json.gz", review(5.0, "good, “really”"), review(1, ""))
    assert list(reviews.read_reviews(path)) == [(5.0, "good, “really”"), (1.0, "")]


BAD = ["{'overall': 5}", '{"overall": 5}', "[]", '{"overall": "?", "reviewText": ""}']


@pytest.mark.parametrize("line", BAD)
def test_invalid_review_error_names_its_line(tmp_path, line):
    path = write(tmp_path / "r.json.gz", review(5.0, "good"), line)
    with pytest.raises(ValueError, match=r"line 2 of .*r\.json\.gz must be a JSON object with overall and"):
        list(reviews.read_reviews(path))


@pytest.mark.skipif(not STAND_IN.is_file(), reason=f"not in QUFUR_DATA: {STAND_IN.name}")
def test_stand_in_reviews_are_read():
    rated = list(reviews.read_reviews(STAND_IN))
    assert len(rated) == 2000
    assert {rating for rating, _ in rated} == {1, 2, 3, 4, 5}
    assert max(len(text) for _, text in rated) > text_features.CHARACTERS


@pytest.mark.skipif(not STAND_IN.is_file(), reason=f"not in QUFUR_DATA: {STAND_IN.name}")
def test_stand_in_reviews_are_embedded(tiny):
    texts = [text for _, text in islice(reviews.read_reviews(STAND_IN), 50)]
    X = np.array(list(tiny.embed(texts)))
    assert X.shape == (50, 16)
    assert np.isfinite(X).all()


def test_missing_transformers_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"embedding texts needs transformers and torch.*\[text\]"):
        TokenMeans.pretrained()


@pytest.mark.parametrize("fetch", [True, False])
def test_text_model_is_downloaded_only_if_allowed(monkeypatch, fetch):
    calls = []

    class Auto:
        @classmethod
        def from_pretrained(cls, name, **options):
            calls.append((name, options))
            return SimpleNamespace(eval=lambda: None)

    bars = SimpleNamespace(is_progress_bar_enabled=lambda: False, disable_progress_bar=lambda: None)
    utils = SimpleNamespace(logging=bars)
    transformers = SimpleNamespace(AutoModel=Auto, AutoTokenizer=Auto, utils=utils)
    for name, module in {"torch": None, "transformers": transformers, "transformers.utils": utils}.items():
        monkeypatch.setitem(sys.modules, name, module or SimpleNamespace())
    TokenMeans.pretrained("a/b", fetch=fetch)
    assert calls == [("a/b", {"local_files_only": not fetch})] * 2
