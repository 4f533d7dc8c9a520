"""Later tables add to an encoding at its end: what was encoded before stays as it was."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refusal
from tests.tables.test_tables import TABLES, fuzzed, write

from qufur.tables import Batch, Encoding, Growth, read
from qufur.tables.amounts import Amount
from qufur.tables.categories import Categorical
from qufur.tables.columns import Missing, Numeric

PRICE = Amount("price", (3.0,), (0.0,), unit="€", example="€ 3")
FIRST = Batch({"wind": [1, 3], "sky": ["fog", "storm"], "height": [7, 7]}, 1, "first.csv")


def grown(encoding, *batches, **options):
    """Return the pass over a table, at its end."""
    growth = Growth(encoding, **options)
    for batch in batches:
        growth.add(batch)
    return growth


def later(rows=2, **columns):
    """Return a table in which some columns are as given, and the others are as in the first one."""
    kept = {name: [column[1]] * rows for name, column in FIRST.columns.items()}
    return Batch({name: cells for name, cells in (kept | columns).items() if cells is not None}, 1, "t.csv")


CASES = {
    "nothing": (later(), {}, []),
    "a category": (later(sky=["hail", "fog"]), {}, [Categorical("sky", ("hail",))]),
    "categories": (later(3, sky=["rain", "hail", "rain"]), {}, [Categorical("sky", ("hail", "rain"))]),
    "an empty number": (later(wind=[None, 2]), {"impute": True}, [Missing("wind", numeric=True)]),
    "an empty category": (later(sky=["fog", None]), {"impute": True}, [Missing("sky", numeric=False)]),
    "no number": (later(wind=["n/a", "2"]), {"impute": True}, [Missing("wind", numeric=True)]),
    "a column less": (later(wind=None), {"impute": True}, [Missing("wind", numeric=True)]),
    "a column": (
        later(gate=[2, 4]),
        {"add": ["gate"]},
        [Numeric("gate", (3.0,), (1.0,), scaled=True, added=True)],
    ),
    "a column with empty cells": (
        later(3, gate=[2, None, 4]),
        {"add": ["gate"], "impute": True},
        [Numeric("gate", (3.0,), (1.0,), scaled=True, added=True)],
    ),
    "a column of codes": (
        later(gate=[2, 4]),
        {"add": ["gate", "gate"], "categorical": ["gate"]},
        [Categorical("gate", ("2", "4"))],
    ),
    "a list": (
        later(radar=["[1, 2]", "[1, 4]"]),
        {"add": ["radar"], "embedding": "radar"},
        [Numeric("radar", (1.0, 3.0), (0.0, 1.0), vector=True, added=True)],
    ),
    "begins to vary": (later(height=[7, 10]), {}, [Numeric("height", (7.0,), (4.5**0.5,))]),
    "is another constant": (later(height=[9, 9]), {}, [Numeric("height", (7.0,), (2.0,))]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("scale", [True, False], ids=["scaled", "raw"])
def test_what_a_table_adds_is_at_the_end_and_rows_of_before_are_constant_there(case, scale):
    table, options, expected = CASES[case]
    expected = [entry for entry in expected if scale or "height" not in entry.name]
    for j, entry in enumerate(expected):
        if isinstance(entry, Numeric) and not scale:
            expected[j] = dataclasses.replace(entry, scaled=False)
    encoding = Encoding.of([FIRST], scale=scale)
    growth = grown(encoding, table, scale=scale, **options)
    new = growth.grown
    assert list(new.columns[:3]) == list(encoding.columns)
    assert list(new.columns[3:]) == expected
    assert new.encode(table).shape == (len(table), new.dim)
    # What is not there yet is like an empty cell.
    known = Encoding(new.columns, impute=True).encode(FIRST)
    np.testing.assert_array_equal(known[:, : encoding.dim], encoding.encode(FIRST))
    np.testing.assert_array_equal(known[:, encoding.dim :], np.tile(growth.before, (2, 1)))
    assert Encoding.from_state(json.loads(json.dumps(new.state()))) == new


def test_a_second_time_nothing_is_new():
    encoding = Encoding.of([FIRST])
    for table, options, _ in CASES.values():
        encoding = grown(encoding, table, **options).grown
    # From the first empty cell on they are allowed.
    for table, options, _ in CASES.values():
        again = grown(encoding, table, **options)
        assert (again.grown, again.before, again.added, again.offered) == (encoding, [], [], [])


def test_rows_of_a_grown_encoding():
    table = later(3, wind=["n/a", None, "5"], sky=["fog", "hail", None], gate=[2, 4, None])
    growth = grown(Encoding.of([FIRST], scale=False), table, add=["gate"], impute=True, scale=False)
    assert growth.grown.names[4:] == ["wind missing", "sky missing", "sky=hail", "gate", "gate known"]
    np.testing.assert_array_equal(
        growth.grown.encode(table),
        [
            [2, 1, 0, 7, 1, 0, 0, 2, 1],
            [2, 0, 0, 7, 1, 0, 1, 4, 1],
            [5, 0, 0, 7, 0, 1, 0, 3, 0],
        ],
    )
    assert growth.before == [0, 0, 0, 3, 0]


def test_what_is_new_is_there_to_be_said():
    batches = later(wind=["n/a", "1"], gate=[1, 2]), later(wind=["1", "inf"], gate=[3, 4])
    growth = grown(Encoding.of([FIRST], skip=["height"]), *batches, impute=True, aside=["gate"])
    wind, sky = growth.columns
    assert (wind.odd, wind.first_missing, sky.first_missing) == ((1, "n/a", 2), True, False)
    assert growth.offered == []
    assert grown(Encoding.of([FIRST], skip=["height"]), *batches).offered == ["gate"]
    assert grown(Encoding.of([FIRST], skip=["height"]), later(), add=["height"]).grown.names[3:] == [
        "height",
        "height known",
    ]


def test_files_of_before_do_not_know_what_was_left_out_so_nothing_is_offered():
    state = Encoding.of([FIRST]).state()
    del state["aside"]
    assert grown(Encoding.from_state(state), later(gate=[1, 2])).offered == []


def test_a_hundred_categories_are_enough_for_all_tables():
    encoding = Encoding.of([Batch({"a": [f"n{j}" for j in range(98)]})])
    growth = grown(encoding, Batch({"a": ["z", "n3", "y"]}), Batch({"a": ["x", "w", "z"]}))
    assert growth.columns[0].categories == {"z", "y"}  # in the order in which they came
    assert growth.columns[0].too_many
    assert growth.grown.names[98:] == ["a=y", "a=z"]
    full = grown(growth.grown, Batch({"a": ["w"]}))
    assert (full.columns[0].too_many, full.before) == (True, [])


def test_what_began_far_from_where_it_varies_is_not_dead():
    encoding = Encoding.of([FIRST])
    table = later(height=[300, 302])
    new = grown(encoding, table).grown
    assert new.columns[4] == Numeric("height", (301.0,), (1.0,))
    np.testing.assert_allclose(new.encode(table)[:, 4:], [[293 / 294, -1], [295 / 294, 1]], rtol=1e-4)
    # One table brings it to another place, and it varies in the next.
    still = grown(encoding, later(height=[300, 300])).grown
    assert still.encode(later(height=[300, 300]))[:, 4:].tolist() == [[1], [1]]
    assert grown(still, table).grown.columns[4] == Numeric("height", (301.0,), (1.0,))
    assert encoding.constant == ["height"]
    assert still.constant == []


def test_numbers_in_lists_begin_to_vary():
    first = Batch({"X": np.array([[1.0, 5.0, 0.0], [2.0, 5.0, 0.0]])})
    encoding = Encoding.of([first])
    table = Batch({"X": np.array([[1.0, 5.0, 0.0], [2.0, 8.0, 0.0]])})
    growth = grown(encoding, table)
    new = growth.grown
    assert new.names == ["X[0]", "X[1]", "X[2]", "X[1]"]
    np.testing.assert_allclose(new.encode(table)[:, 3], [0, 2**0.5])
    np.testing.assert_array_equal(new.encode(first)[:, 3:], [growth.before] * 2)
    assert Encoding.from_state(json.loads(json.dumps(new.state()))) == new
    assert grown(new, table).before == []
    assert grown(new, Batch({"X": [[1, 5, 2], None]}), impute=True).grown.names[4:] == ["X missing", "X[2]"]
    assert grown(Encoding.of([first], scale=False), table, scale=False).before == []
    assert "lists of 3 finite numbers" in refusal(lambda: new.columns[1].encode(Batch({"X": [[1]]}), True))


def test_texts_and_arrays_give_the_same(tmp_path):
    first = "a,b\n" + "".join(f"{j},5\n" for j in range(9))
    table = "a,b\n" + "".join(f"{j},{j * j}\n" for j in range(99))
    encoding = Encoding.of(read(write(tmp_path, first)))
    texts = list(read(write(tmp_path, table), 10))
    lists = [Batch(dict(batch.columns), batch.first, batch.file) for batch in texts]
    arrays = [Batch({k: np.array(v, float) for k, v in batch.columns.items()}) for batch in lists]
    for impute in (True, False):
        one, *others = (grown(encoding, *batches, impute=impute).grown for batches in (texts, lists, arrays))
        assert others == [one, one]
        assert one.dim == 3


REFUSED = [
    (
        later(wind=None),
        {},
        "column 'wind' of t.csv must be one of 'sky', 'height', got no such column. "
        "--impute takes a column that is lacking as empty cells.",
    ),
    (
        later(wind=None, widn=[1, 2]),
        {},
        "column 'wind' of t.csv must be one of 'sky', 'height', 'widn', got no such column. "
        "Did you mean 'widn'? --impute takes a column that is lacking as empty cells.",
    ),
    (
        later(),
        {"add": ["gaet"]},
        "column 'gaet' of t.csv must be one of 'wind', 'sky', 'height', got no such column.",
    ),
    (
        later(gate=[None, 1]),
        {"add": ["gate"]},
        "column 'gate' of t.csv must be without missing cells, got an empty cell in row 1. "
        "Fill it, drop the row, leave out --add-column gate, or give --impute.",
    ),
    (
        later(gate=[None, None]),
        {"add": ["gate"], "impute": True},
        "column 'gate' of t.csv must be of some value, got missing cells only. "
        "It is no input yet: leave out --add-column gate.",
    ),
    (
        later(gate=[1, 2]),
        {"add": ["gate"], "aside": ["gate"]},
        "column to add of Growth must be neither of ids nor of labels, got 'gate'.",
    ),
]


@pytest.mark.parametrize(("table", "options", "message"), REFUSED)
def test_what_is_refused_has_a_remedy(table, options, message):
    assert refusal(lambda: grown(Encoding.of([FIRST]), table, **options).grown) == message


@settings(max_examples=60, derandomize=True, deadline=None)
@given(tables=st.lists(TABLES, min_size=2, max_size=4), impute=st.booleans(), scale=st.booleans())
def test_whatever_the_tables_are_the_old_inputs_stay(tmp_path_factory, tables, impute, scale):
    folder = tmp_path_factory.mktemp("fuzz")
    paths = [
        fuzzed(folder / f"{j}.csv", [f"c{k}" for k in range(len(rows[0]))], rows)
        for j, rows in enumerate(tables)
    ]
    try:
        encoding = Encoding.of(read(paths[0], 3), impute=impute, scale=scale)
        done = []
        for path in paths:
            growth = grown(encoding, *read(path, 3), add=["c1"] if len(done) > 2 else [], scale=scale)
            new = growth.grown
            assert new.columns[: len(encoding.columns)] == encoding.columns
            assert len(growth.before) == new.dim - encoding.dim
            assert scale <= (not any(growth.before))
            for batch, X in done:
                np.testing.assert_array_equal(new.encode(batch)[:, : X.shape[1]], X)
            done += [(batch, new.encode(batch)) for batch in read(path, 3)]
            assert all(np.isfinite(X).all() for _, X in done)
            encoding = new
    except ValueError as error:
        assert "\n" not in str(error)
        assert " must be " in str(error)


@pytest.mark.parametrize(
    ("cells", "impute", "expected"),
    [
        (["€ 3", "€ 3"], False, []),
        (["€ 5", "1"], False, [("price", (3.0,), (2.0,))]),
        (["€ 5", "€ 5", None], True, [Missing("price", numeric=False), ("price", (3.0,), (2.0,))]),
        (["€ 9,000", "€ 9,001"], False, [("price", (3.0,), None), ("price", (9000.5,), (0.5,))]),
    ],
)
def test_an_amount_that_was_the_same_in_all_rows_begins_to_vary(cells, impute, expected):
    encoding = Encoding.of([Batch({"price": ["€ 3", "€ 3"]})])
    assert (encoding.columns, encoding.constant) == ((PRICE,), ["price"])
    table = Batch({"price": cells})
    new = grown(encoding, table, impute=impute).grown
    found = new.columns[1:]
    assert [entry if isinstance(entry, Missing) else (entry.name, entry.mean) for entry in found] == [
        entry if isinstance(entry, Missing) else entry[:2] for entry in expected
    ]
    for entry, wanted in zip(found, expected, strict=True):
        if isinstance(entry, Amount) and wanted[2]:
            assert entry.deviation == wanted[2]
    assert Encoding.from_state(json.loads(json.dumps(new.state()))) == new
    X = new.encode(table)
    assert X.shape == (len(cells), 1 + len(expected))
    assert (np.abs(X) < 100).all()
    assert np.isfinite(X).all()


def test_an_erased_category_keeps_its_input_and_counts_towards_the_limit():
    names = [f"n{place:02}" for place in range(99)]
    full = Encoding.of([Batch({"name": names})])
    erased = dataclasses.replace(full, columns=(full.columns[0].only([place > 0 for place in range(99)]),))
    assert Encoding.from_state(erased.state()) == erased
    assert erased.names[:2] == ["name (erased)", "name=n01"]
    assert erased.encode(Batch({"name": ["n00", "n01"]})).nonzero()[1].tolist() == [1]
    more = grown(erased, Batch({"name": ["n00", "n99"]}))
    assert more.grown.names[99:] == ["name=n00"]
