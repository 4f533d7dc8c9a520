"""Tests of the counts that commands print: singular after 1."""

import re
import sys

from tests.cli.test_state_file import LINEAR, filled, write

SEVERAL = re.compile(r"(?<![.,0-9])1 (labels|rows|calls|inputs|examples|predictions|are|were)\b")


def test_counts_of_one_are_singular_in_every_command(work, tmp_path):
    may, out = write(tmp_path / "may.csv", [3]), tmp_path / "out.csv"
    start = [*LINEAR, "--budget", 2, "--label-range", 0, 60, "--id", "flight", "--target", "delay"]
    said = [work("ask", may, "-o", out, *start, "--horizon", 1), work("budget"), work("status")]
    said += [work("ask", write(tmp_path / "june.csv", [4]), "-o", tmp_path / "june-out.csv")]
    said += [work("undo"), work("predict", may, "-o", tmp_path / "p.csv"), work("tell", filled(out))]
    said += [work("status"), work("outstanding", "-o", tmp_path / "waiting.csv")]
    said += [work("forget-label", "LH3"), work("learn", write(tmp_path / "l.csv", [7], with_delay=True))]
    judge = f"{sys.executable} -c print(30)"
    said += [work("label", write(tmp_path / "july.csv", [5]), "--with", judge, "--cost", 1), work("status")]
    assert [text for code, text in said if code] == []
    assert [found[0] for _, text in said for found in SEVERAL.finditer(text)] == []
    assert "1 of 1 row to label" in said[0][1]
    assert "1 row predicted" in said[5][1]
    assert (
        "1 label learned, 0 already known, 0 rows without a label.\n0 labels are outstanding." in said[6][1]
    )
