"""Columns of text: vectors of a text model, scaled like any embedding. The model here counts letters."""

import json
import sys

import numpy as np
import pytest
from tests.letters import let_letters_be_counted
from tests.refusals import refusal

from qufur.tables import Batch, Encoding, text
from qufur.tables.text import LOADED, TokenMeans, Vectors

TEXTS = ["a cab", "bad", "abba", "a cab", "dada"]
FIRST = Batch({"note": TEXTS, "wind": [1, 2, 3, 4, 5], "sky": ["x", "y", "x", "y", "y"]})


@pytest.fixture
def letters(monkeypatch):
    return let_letters_be_counted(monkeypatch)


def of(batch=FIRST, **options):
    return Encoding.of([batch], **{"text": "note", "text_model": "letters-abc", **options})


def test_text_is_encoded_like_its_embedding(letters):
    counts = [[text.count(letter) for letter in "abc"] for text in TEXTS]
    table = {"note": counts, "wind": FIRST.columns["wind"], "sky": FIRST.columns["sky"]}
    same = Encoding.of([Batch(table)])
    encoding = of()
    assert encoding.names == same.names
    assert encoding.names == ["note[0]", "note[1]", "note[2]", "wind", "sky=x", "sky=y"]
    np.testing.assert_array_equal(encoding.encode(FIRST), same.encode(Batch(table)))


def test_text_encoding_does_not_depend_on_batches(letters):
    parts = [
        Batch({name: column[i : i + 2] for name, column in FIRST.columns.items()}, i + 1) for i in (0, 2, 4)
    ]
    encoding = Encoding.of(parts, text="note", text_model="letters-abc")
    np.testing.assert_allclose(
        np.concatenate([encoding.encode(part) for part in parts]), of().encode(FIRST), atol=1e-12
    )


def test_text_column_state_has_model_and_length(letters):
    encoding = of()
    state = json.loads(json.dumps(encoding.state()))
    text = state["columns"][0]
    assert (text["kind"], text["model"], len(text["mean"])) == ("text", "letters-abc", 3)
    again = Encoding.from_state(state)
    assert again == encoding
    np.testing.assert_array_equal(again.encode(FIRST), encoding.encode(FIRST))


def test_text_model_is_loaded_once_and_each_text_embedded_once(letters, monkeypatch):
    of().encode(FIRST)
    assert [model.calls for model in letters] == [4]  # one text occurs twice
    monkeypatch.setattr(text, "MAX_CACHED_NUMBERS", 5)
    LOADED.clear()
    X = of().encode(FIRST)
    assert letters[1].calls > 4
    np.testing.assert_array_equal(X[0], of().encode(FIRST)[0])


class Model:
    """Model that stores its device."""

    device = "cpu"

    def to(self, device):
        self.device = device


class Lengths(TokenMeans):
    """Embedder of length and letter count that records the size of each batch of pieces."""

    def __init__(self):
        self.model, self.batch, self.batch_sizes = Model(), 3, []

    def _means(self, parts):
        self.batch_sizes.append(len(parts))
        return np.array([[float(len(part)), part.count("a")] for part in parts])


def test_texts_are_embedded_in_batches_on_a_gpu():
    texts = ["a cab", "", "ab " * 800, "dada"]
    vectors = Vectors(Lengths())
    one_by_one = vectors.of(texts)
    moved = Vectors(Lengths())
    moved.move("cuda")
    np.testing.assert_array_equal(moved.of(texts), one_by_one)
    assert moved._embedder.batch_sizes == [3, 3, 2]  # of 8 pieces
    assert moved._embedder.model.device == "cuda"
    assert len(moved.of([])) == 0


def test_missing_text_raises_or_is_imputed(letters):
    blank = Batch({"note": ["ab", None, "b"]})
    assert "got an empty cell in row 2. Fill it" in refusal(lambda: of(blank))
    encoding = of(blank, impute=True)
    assert encoding.names == ["note[0]", "note[1]", "note[2]", "note missing"]
    np.testing.assert_array_equal(encoding.encode(blank)[1], [0, 0, 0, 1])
    np.testing.assert_array_equal(encoding.encode(Batch({"note": [None]})), [[0, 0, 0, 1]])
    assert "must be text, got an empty cell in row 1" in refusal(
        lambda: of().encode(Batch({**FIRST.columns, "note": [None] * 5}))
    )


def test_non_text_cells_raise(letters):
    lists = Batch({"note": ["ab", [1, 2]]}, 1, "t.jsonl")
    message = "column 'note' of t.jsonl must be text, got [1, 2] in row 2."
    assert refusal(lambda: of(lists)).startswith(message)
    encoding = of(Batch({"note": ["a", "b"]}))
    assert "must be text, got [1, 2] in row 2" in refusal(lambda: encoding.encode(lists))
    # A number in a column of text is text, in every format.
    cells = [Batch({"note": column}) for column in (["12", "ab"], [12, "ab"], [12.0, "ab"])]
    first, *others = [encoding.encode(batch).tolist() for batch in cells]
    assert others == [first, first]


def test_missing_or_different_text_model_raises(letters):
    assert refusal(lambda: of(text_model="no/such")) == (
        "text_model of Encoding must be a model that transformers can load, or a folder of one, "
        "got 'no/such' (no/such is not a local folder)."
    )
    state = of().state()
    state["columns"][0]["model"] = "letters-ab"
    other = Encoding.from_state(state)
    assert refusal(lambda: other.encode(FIRST)) == (
        "text_model of Encoding must be a model with vectors of 3 numbers, got 'letters-ab', which gives 2. "
        "Use the model of the first table."
    )


def test_column_types_are_exclusive(letters):
    for option in ({"embedding": "note"}, {"categorical": ["note"]}, {"skip": ["note"]}):
        assert "more than one of these" in refusal(lambda option=option: of(**option))
    assert "no such column" in refusal(lambda: of(text="notes"))


@pytest.mark.parametrize("package", ["transformers", "torch"])
def test_missing_package_error_names_the_extra(monkeypatch, package):
    LOADED.clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"embedding texts needs transformers and torch.*\[text\]"):
        of()
