"""Tests of messages: the library names parameters, and the command line prints its own options."""

import re
from pathlib import Path

import pytest

import qufur
from qufur.cli._flags import error_with_flags, with_flags
from qufur.errors import InvalidError, invalid
from qufur.storage.lock import locked
from qufur.tables import Encoding, read
from qufur.workbook import Workbook

SOURCE = Path(qufur.__file__).parent
START = ["--budget", "50%"]


def test_library_mentions_no_options():
    commands = {"cli", "experiments/commands"}
    pip_or_whole_command = {"errors.py", "data/reviews.py"}
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        if name not in pip_or_whole_command and not any(name.startswith(f"{each}/") for each in commands):
            assert not re.search(r"""["'`\s]--[a-z][a-z-]+""", path.read_text()), name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("or give `impute=True`.", "or give --impute."),
        ("`skip=['sea level']`", "--skip 'sea level'"),
        ("leave out `add=['gate']`", "leave out --add-column gate"),
        ('`text="it\'s"`', "--text 'it'\"'\"'s'"),
        ("`port=0` picks a free port", "--port 0 picks a free port"),
        ("`separator=` and `decimal=` override this", "--sep and --decimal override this"),
        ("use `Uniform(rate)`", "use --at-random"),
        ("`skip=['a`b']` or `x=not a literal`", "`skip=['a`b']` or `x=not a literal`"),
        ("`qufur tell` and `a == b` and `x y=3`", "`qufur tell` and `a == b` and `x y=3`"),
    ],
)
def test_parameters_in_backticks_become_options(text, expected):
    assert with_flags(text) == expected


def test_error_keeps_its_parts_and_is_reworded():
    error = invalid("separator", "Source", "one character", "'`x=1`'", "Omit `separator=`.")
    assert (error.parameter, error.owner, error.remedy) == ("separator", "Source", "Omit `separator=`.")
    reworded = error_with_flags(error, "qufur ask")
    assert str(reworded) == "--sep of qufur ask must be one character, got '`x=1`'. Omit --sep."
    assert InvalidError("plain").parameter == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sep", "ab"], "--sep of qufur ask must be one character, or tab, got 'ab'."),
        (
            ["--per", "week", 5],
            "--time of qufur ask must be given unless one column of t.csv has dates",
        ),
        (
            [*START],
            "got an empty cell in row 3. Fill it, drop the row, --skip wind, or give --impute.",
        ),
    ],
)
def test_command_names_its_options(work, tmp_path, options, message):
    (tmp_path / "t.csv").write_text("wind,rain\n1,2\n3,4\n,5\n" if options == START else "wind\n1\n3\n")
    code, text = work("ask", tmp_path / "t.csv", "-o", tmp_path / "o.csv", *options)
    assert (code, message in text) == (2, True), text
    assert "`" not in text


def test_python_names_its_parameters(tmp_path):
    (tmp_path / "u.csv").write_text("wind,rain\n1,2\n,5\n")
    with pytest.raises(InvalidError, match=r"drop the row, `skip=\['wind'\]`, or give `impute=True`"):
        Encoding.of(read(tmp_path / "u.csv"))


def test_busy_state_file_is_an_error_of_the_option(work, tmp_path):
    (tmp_path / "t.csv").write_text("wind\n1\n3\n")
    assert work("ask", tmp_path / "t.csv", "-o", tmp_path / "o.csv", *START)[0] == 0
    with locked(tmp_path / "s.qufur"):
        code, text = work("tell", tmp_path / "o.csv")
    assert (code, text.startswith("qufur: --state of qufur tell must be free, got")) == (2, True), text


def test_conflicting_label_names_the_option_that_replaces_it(work, tmp_path):
    (tmp_path / "t.csv").write_text("wind\n1\n3\n")
    assert work("ask", tmp_path / "t.csv", "-o", tmp_path / "o.csv", "--budget", "100%")[0] == 0
    first = Workbook.load(tmp_path / "s.qufur").learner.outstanding[0]
    (tmp_path / "l.csv").write_text(f"row,label\n{first},5\n")
    assert work("tell", tmp_path / "l.csv")[0] == 0
    (tmp_path / "l.csv").write_text(f"row,label\n{first},6\n")
    assert work("tell", tmp_path / "l.csv")[1].endswith("which has 5. --replace replaces it.\n")
