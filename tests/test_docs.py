"""The documentation is correct: its code runs, its output is real, and it covers every public name.

`python -m tests.test_docs [PAGE…]` writes the real output and help texts into the pages.
A page whose data are not installed is skipped, and its name is printed.
"""

import contextlib
import csv
import importlib.metadata
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from unittest import mock

import polars as pl
import pytest
from studies.real import curves
from tests.served import Served
from typer.main import get_command
from typer.testing import CliRunner

import qufur
from qufur.__main__ import main
from qufur.cli import app
from qufur.data import MissingDataError
from qufur.experiments import PARTS as PAPER
from studies import STUDIES as OWN_STUDIES

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
STUDIES = DOCS / "studies"
COMMAND_LINE = DOCS / "reference" / "command-line.md"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
FENCE = re.compile(r"(?P<comment><!--[^\n]*-->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
HELP = re.compile(r"<!-- help: (?P<command>[\w -]+) -->\n```text\n(?P<text>.*?)^```$", re.M | re.S)
CLAIMS = re.compile(
    r"<!-- (?P<which>claims|open claims|ratio claims): (?P<names>[^\n]*) -->\n(?P<text>(?:\|[^\n]*\n)*)"
)
RATIO_CLAIM = re.compile(r"(?P<what>.*) is (?P<order>lower|higher) than with (?P<rival>\w+) queries")
SHARES = ("5%", "20%", "50%")  # three of the five shares in the claims: more columns would not fit
RATIO = re.compile(r"(?P<ratio>[\d.]+) ± (?P<error>[\d.]+) at (?P<share>\d+%)")
LISTING = re.compile(r"<!-- listing: (?P<name>[\w-]+) (?P<place>\d) -->\n(?P<text>(?:\|[^\n]*\n)*)")
MADE_WITH = re.compile(r"typer (?P<version>\d+(\.\d+)*)")
COMMAND = re.compile(r"^\$ (?:.*\\\n)*.*\n", re.M)  # a backslash continues the command on the next line
TIME = re.compile(r"` of [-0-9 ]*[0-9]{2}:[0-9]{2}:")  # time of a command in the output of `undo`
MEASURED = re.compile(r"\d+\.\d+|\d{4,}")  # numbers that depend on rounding
COPIED = re.compile(r"<!-- copied from (?P<page>[^\n]*) -->")
COMMANDS = (
    "qufur",
    *(
        f"{name} {below}".strip()
        for name, command in get_command(app).commands.items()
        for below in ("", *getattr(command, "commands", ()))
    ),
)
MODULES = [name for name in qufur.__all__ if inspect.ismodule(getattr(qufur, name))]


@dataclass(frozen=True)
class Output:
    """Output of a page: its position, the text that the page shows, and the real output."""

    start: int
    end: int
    shown: str
    real: str


def outputs(page: Path) -> Iterator[Output]:
    """Run the page's blocks in order, in one namespace and in the current directory."""
    served = Served()
    try:
        yield from _outputs(page, served)
    finally:
        served.end()


def _outputs(page: Path, served: Served) -> Iterator[Output]:
    source = page.read_text()
    # Dataclasses look up their module by name, so the code needs a registered module.
    module = sys.modules["documentation"] = types.ModuleType("documentation")
    blocks = list(FENCE.finditer(source))
    for block, after in zip_longest(blocks, blocks[1:]):
        if "not run:" in (block["comment"] or ""):
            continue
        if copied := COPIED.match(block["comment"] or ""):
            yield Output(*block.span("text"), block["text"], _copied(block["text"], ROOT / copied["page"]))
            continue
        if block["language"] == "python":
            line = source.count("\n", 0, block.start("text"))
            real = _executed(served.called(block["text"]), f"{page.name}, line {line}", module.__dict__)
            if after and after["language"] == "text" and not source[block.end() : after.start()].strip():
                yield Output(*after.span("text"), after["text"], real)
        if block["language"] == "console" and re.search(r"^\$ (qufur|curl) ", block["text"], re.M):
            commands = COMMAND.findall(block["text"])
            real = "".join(f"{command}{_answer(command, served)}" for command in commands)
            if block["text"] != "".join(commands):
                yield Output(*block.span("text"), block["text"], real)


def _copied(text: str, page: Path) -> str:
    """Return the commands of a block with the output on another page, which runs them."""
    shown: dict[str, str] = {}
    for block in FENCE.finditer(page.read_text()):
        commands = COMMAND.findall(block["text"])
        answers = COMMAND.split(block["text"])[1:]
        shown = dict(zip(commands, answers, strict=True)) | shown  # of a repeated command, the first output
    return "".join(f"{command}{shown[command]}" for command in COMMAND.findall(text))


def _executed(code: str, name: str, namespace: dict) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), namespace)
    return printed.getvalue()


def _answer(command: str, served: Served) -> str:
    called = command.removeprefix("$ ").replace("\\\n", "")
    program, *arguments = shlex.split(called)
    if program == "curl":
        return served.curl(called)
    if arguments[:1] == ["serve"] and arguments[-1:] == ["&"]:
        return served.start(arguments[1:-1])
    if program != "qufur":
        return ""
    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        contextlib.suppress(SystemExit),
        mock.patch.dict(os.environ, COLUMNS="110"),
        mock.patch.object(sys, "argv", ["qufur", *arguments]),
    ):
        main()
    shown = TIME.sub("` of 12:30:", printed.getvalue())
    return "".join(f"{line.rstrip()}\n" for line in shown.splitlines())


def help_text(command: str) -> str:
    """Return the output of `--help`, independent of the terminal and of how the program was started."""
    arguments = [] if command == "qufur" else command.split()
    result = CliRunner().invoke(
        app, [*arguments, "--help"], prog_name="qufur", env={"COLUMNS": "80"}, terminal_width=80
    )
    return "".join(f"{line.rstrip()}\n" for line in result.stdout.strip().splitlines())


def claims_table(which: str, names: str) -> str:
    """Return a table of the claims of some experiments, with the verdicts of the last full run.

    Of "open claims" only those that do not hold or are undecided are listed, and the others counted. "Ratio
    claims" compare losses at equal numbers of labels, which become columns.
    """
    with (STUDIES / "claims.csv").open(newline="", encoding="utf-8") as file:
        found = [row for row in csv.DictReader(file) if row["experiment"] in names.split()]
    for row in found:
        row["verdict"] = row["verdict"] if row["verdict"] == "holds" else f"**{row['verdict']}**"
    if which == "ratio claims":
        return _table([_ratios(row) for row in found])
    if which == "claims":
        return _table([_cells(row) for row in found])
    still_open = [_cells(row) for row in found if row["verdict"] != "holds"]
    return _table([*still_open, {"statement": f"{len(found) - len(still_open)} more", "verdict": "hold"}])


def _cells(row: dict[str, str]) -> dict[str, str]:
    columns = ("paper", "statement", "measured", "verdict")
    return {name: row[name].replace("*", r"\*") if name != "verdict" else row[name] for name in columns}


def _ratios(row: dict[str, str]) -> dict[str, str]:
    claim = RATIO_CLAIM.match(row["statement"])
    exception = "" if claim["order"] == "lower" else f" ({claim['order']})"
    claimed = {"loss": claim["what"], "lower than": claim["rival"] + exception}
    ratios = {one["share"]: f"{one['ratio']} ±{one['error']}" for one in RATIO.finditer(row["measured"])}
    return claimed | {share: ratios.get(share, "") for share in SHARES} | {"verdict": row["verdict"]}


def _table(rows: list[dict[str, str]]) -> str:
    lines = [
        list(rows[0]),
        ["---"] * len(rows[0]),
        *([row.get(name, "") for name in rows[0]] for row in rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def listing_table(name: str, place: str) -> str:
    """Return a table of an experiment, computed from the recorded runs in docs/studies."""
    experiment = next(part for parts in (PAPER | OWN_STUDIES).values() for part in parts if part.name == name)
    listing = experiment.listings(pl.read_csv(STUDIES / f"{name}.csv"))[int(place)]
    lines = [listing.header, ["---"] * len(listing.header), *listing.rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace(" ± ", " ±")  # so that columns fit


def test_listings_match_the_recorded_runs():
    tables = [table for page in PAGES for table in LISTING.finditer(page.read_text())]
    assert tables
    for table in tables:
        assert table["text"] == listing_table(table["name"], table["place"])


@pytest.mark.parametrize("study", ["real-numbers", "real-classes"])
def test_advice_matches_the_numbers_of_the_studies(study):
    *_, mean = listing_table(study, "0").splitlines()
    assert mean.split(" | ")[2] in (DOCS / "how-to" / "choose-a-model.md").read_text()


def test_claims_match_the_last_full_run():
    tables = [table for page in PAGES for table in CLAIMS.finditer(page.read_text())]
    named = {name for table in tables for name in table["names"].split()}
    claiming = {experiment.name for part in (PAPER | OWN_STUDIES).values() for experiment in part}
    assert named == claiming - {"fig2", "real-curves"}  # these are figures without claims
    for table in tables:
        assert table["text"] == claims_table(table["which"], table["names"])


def test_open_claims_are_the_claims_that_do_not_hold():
    everything, still_open = (
        claims_table(which, "fig1 kernel").splitlines() for which in ("claims", "open claims")
    )
    kept = [row for row in everything if not row.endswith("| holds |")]
    assert still_open == [*kept, f"|  | {len(everything) - len(kept)} more |  | hold |"]


def test_ratio_claims_match_numbers_and_verdicts():
    claims, ratios = (claims_table(which, "fig4").splitlines() for which in ("claims", "ratio claims"))
    assert ratios[0] == "| loss | lower than | 5% | 20% | 50% | verdict |"
    assert [row.split(" | ")[-1] for row in ratios] == [row.split(" | ")[-1] for row in claims]
    for claim, row in zip(claims[2:], ratios[2:], strict=True):
        numbers = [number.replace("±", "± ") for number in re.findall(r"[\d.]+ ±[\d.]+", row)]
        assert all(f"{number} at {share}" in claim for number, share in zip(numbers, SHARES, strict=True))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_short(page):
    """At most 900 words; code, output, tables and marks do not count."""
    prose = re.sub(r"^\|.*$|<!--.*?-->", "", FENCE.sub("", page.read_text()), flags=re.M)
    assert len(prose.split()) <= 900


def check_output(real, shown):
    """Compare the output of a page with the real output.

    Numbers with decimals or at least four digits may differ by 1 %, or by one in the last digit: BLAS kernels
    round differently on different CPUs, and the trees of `Experts` split accordingly.
    """
    assert MEASURED.sub("#", real) == MEASURED.sub("#", shown)
    for mine, theirs in zip(MEASURED.findall(real), MEASURED.findall(shown), strict=True):
        digit = 10.0 ** -len(theirs.partition(".")[2])
        assert float(mine) == pytest.approx(float(theirs), rel=0.01, abs=1.01 * digit), (real, shown)


@pytest.mark.parametrize(
    ("real", "agrees"),
    [
        ("3 of 2870, 5.36", True),
        ("3 of 2873, 5.42", False),
        ("3 of 2930, 5.35", False),
        ("4 of 2873, 5.35", False),
        ("3 of 2873, 5.35 left", False),
    ],
)
def test_output_comparison_tolerates_rounding_only(real, agrees):
    with contextlib.nullcontext() if agrees else pytest.raises(AssertionError):
        check_output(real, "3 of 2873, 5.35")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_examples_print_the_documented_output(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "qufur.adapters.river" in page.read_text():
        pytest.importorskip("river")
    try:
        for output in outputs(page):
            check_output(output.real, output.shown)
    except MissingDataError as missing:
        pytest.skip(f"{page.name}: {missing}")


def test_readme_is_short_and_links_to_the_manual():
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 600
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_readme_figure_matches_the_recorded_runs():
    table = pl.read_csv(STUDIES / "real-curves.csv")
    assert table.group_by("stream", "share", "method").len()["len"].unique().to_list() == [8]
    assert [panel.get_title().split(",")[0] for panel in curves.draw(table).axes] == list(curves.STUDIES)


def test_wrong_documented_output_is_detected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint(1)\n```\n\n```text\n2\n```\n\n```console\n$ qufur run x.csv\nfine\n```\n"
    )
    printed, answered = outputs(page)
    assert (printed.shown, printed.real) == ("2\n", "1\n")
    assert answered.real.startswith("$ qufur run x.csv\nqufur: --target of qufur run must be")


def test_documented_command_continues_after_a_backslash(tmp_path):
    source, page = tmp_path / "source.md", tmp_path / "page.md"
    first, again = "$ qufur run \\\n    x.csv\nfine\n$ qufur plan\ngood\n", "$ qufur plan\nbad\n"
    source.write_text(f"```console\n{first}```\n\n```console\n{again}```\n")
    page.write_text(
        f"<!-- copied from {source} -->\n```console\n$ qufur plan\n?\n$ qufur run \\\n    x.csv\n```\n"
    )
    (copied,) = outputs(page)
    assert copied.real == "$ qufur plan\ngood\n$ qufur run \\\n    x.csv\nfine\n"
    (ran, *_) = outputs(source)
    assert ran.real.startswith("$ qufur run \\\n    x.csv\nqufur: --target of qufur run must be")


def test_commands_are_all_documented():
    page = COMMAND_LINE.read_text()
    shown = {match["command"]: match["text"] for match in HELP.finditer(page)}
    assert list(shown) == list(COMMANDS)
    same_typer = MADE_WITH.search(page)["version"] == importlib.metadata.version("typer")
    for command in COMMANDS:
        # Another version of typer may format the text differently, but must list the same options.
        as_compared = str if same_typer else _options
        assert as_compared(shown[command]) == as_compared(help_text(command))


def _options(text: str) -> set[str]:
    return set(re.findall(r"^  (--[\w-]+)", text, re.M))


def test_site_builds_without_a_warning_and_explains_every_public_name(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = [page.read_text() for page in (tmp_path / "reference" / "api").glob("*.html")]
    assert {name for name in _public_names() if not any(_explains(page, name) for page in pages)} == set()
    assert not any(
        "<blockquote" in page for page in pages
    )  # from a doctest outside of the section `Examples`


def _public_names() -> Iterator[str]:
    yield from (f"qufur.{name}" for name in qufur.__all__ if name not in MODULES)
    for module in (getattr(qufur, name) for name in MODULES):
        others = (name for name in module.__all__ if getattr(module, name) is not getattr(qufur, name, None))
        yield from (f"{module.__name__}.{name}" for name in others)
    for kind in (qufur.Learner, qufur.Trace):
        members = (name for name, member in vars(kind).items() if _is_public(name, member))
        yield from (f"qufur.{kind.__name__}.{name}" for name in members)


def _is_public(name: str, member: object) -> bool:
    return not name.startswith("_") and callable(member) | isinstance(member, property | classmethod)


def _explains(page: str, name: str) -> bool:
    as_module = f"{name}.{name.rpartition('.')[2]}"  # for a function with the name of its module
    return f'id="{name}"' in page or f'id="{as_module}"' in page


def rewrite(pages: list[Path]) -> None:
    """Write real output and help texts into pages."""
    for page in sorted(pages, key=lambda page: page.parent == ROOT):  # the README copies from docs
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                found = list(outputs(page))
            except MissingDataError as missing:
                print(f"{page.name} is unchanged: {missing}")
                continue
        source = page.read_text()
        for output in reversed(found):
            source = source[: output.start] + output.real + source[output.end :]
        for match in reversed(list(CLAIMS.finditer(source))):
            start, end = match.span("text")
            source = source[:start] + claims_table(match["which"], match["names"]) + source[end:]
        for match in reversed(list(LISTING.finditer(source))):
            start, end = match.span("text")
            source = source[:start] + listing_table(match["name"], match["place"]) + source[end:]
        if page == COMMAND_LINE:
            source = MADE_WITH.sub(f"typer {importlib.metadata.version('typer')}", source)
            for match in reversed(list(HELP.finditer(source))):
                start, end = match.span("text")
                source = source[:start] + help_text(match["command"]) + source[end:]
        if source != page.read_text():
            page.write_text(source)


if __name__ == "__main__":
    rewrite([Path(name).resolve() for name in sys.argv[1:]] or PAGES)
