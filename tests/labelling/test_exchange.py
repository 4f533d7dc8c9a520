"""Round trips with the files of labelling tools, in the formats that their documentation has."""

import csv
import json

import pytest
from tests.cli.test_loop import DELAY, LINEAR, write

from qufur.storage.container import digest_in
from qufur.workbook import Workbook

NUMBERS = [*LINEAR, "--budget", 12, "--label-range", 0, 60, "--id", "flight", "--target", "delay"]
CLASSES = ["--budget", 10, "--classes", "late,on time", "--id", "flight", "--target", "state", "--new"]


def annotated(task, *annotations):
    """Return a task as Label Studio exports it."""
    said = [
        {
            "id": 1000 + place,
            "completed_by": place,
            "result": result,
            "was_cancelled": result is None,
            "ground_truth": False,
            "created_at": "2026-03-09T22:16:08.728353Z",
            "updated_at": "2026-03-09T22:16:08.728378Z",
            "lead_time": 4.288,
            "prediction": {},
            "result_count": 0,
            "task": 1,
            "parent_prediction": None,
            "parent_annotation": None,
        }
        for place, result in enumerate(annotations)
    ]
    own = {"id": 1, "annotations": said, "file_upload": "1-tasks.json", "drafts": [], "predictions": []}
    times = {"created_at": "2026-03-09T21:52:49.513742Z", "updated_at": "2026-03-09T22:16:08.746926Z"}
    return own | task | {"meta": {}, **times, "inner_id": 1, "project": 83, "updated_by": 1}


def said(kind, value, name="delay"):
    region = {"id": "Dx_aB91ISN", "from_name": name, "to_name": "text", "origin": "manual"}
    return [region | {"type": kind, "value": {kind if kind != "textarea" else "text": value}}]


def delay(task):
    return float(DELAY[int(task["data"]["flight"][2:])])


@pytest.fixture
def asked(work, tmp_path):
    """Return a function that asks about flights, and returns the file of tasks."""

    def ask(format, options=NUMBERS):
        out = tmp_path / ("tasks.json" if format == "label-studio" else "tasks.jsonl")
        may = write(tmp_path / "may.csv", range(60))
        code, text = work("ask", may, "-o", out, *options, "--format", format)
        assert code == 0, text
        return out

    return ask


def told(tmp_path):
    return {id: record.label for id, record in Workbook.load(tmp_path / "s.qufur").told.items()}


def test_label_studio(asked, work, tmp_path):
    tasks = json.loads(asked("label-studio").read_text())
    assert list(tasks[0]) == ["data"]
    assert list(tasks[0]["data"]) == ["flight", "wind", "sky", "prediction"]
    assert isinstance(tasks[0]["data"]["wind"], float)
    ways = [
        ("number", float),
        ("rating", round),
        ("textarea", lambda y: [str(y)]),
        ("choices", lambda y: [f"{y}"]),
    ]
    done = [
        annotated(task, said(kind, make(delay(task))))
        for task, (kind, make) in zip(tasks, [*ways, *[ways[0]] * 8], strict=True)
    ]
    first, second = tasks[4], tasks[5]
    done[4] = annotated(first, said("number", 20), said("number", 26), None)
    done[5] = annotated(second, None)
    done[6] = annotated(tasks[6])
    done[7] = annotated(tasks[7], [])
    both = [*said("choices", ["unsure"], "comment"), *said("number", 31)]
    done[8] = annotated(tasks[8], both)
    export = tmp_path / "project-83-at-2026.json"
    export.write_text(json.dumps(done))
    code, text = work("tell", export, "--format", "label-studio", "--json")
    found = json.loads(text)
    assert (code, found["new"], found["blank"], found["skipped"], found["outstanding"]) == (0, 9, 2, 1, 2)
    labels = told(tmp_path)
    assert labels[first["data"]["flight"]] == 23
    assert labels[tasks[8]["data"]["flight"]] == 31
    assert labels[tasks[1]["data"]["flight"]] == round(delay(tasks[1]))
    assert second["data"]["flight"] not in labels
    assert labels[tasks[2]["data"]["flight"]] == delay(tasks[2])
    before = digest_in(tmp_path / "s.qufur")
    assert work("tell", export, "--format", "label-studio")[0] == 0
    assert digest_in(tmp_path / "s.qufur") == before


def test_prodigy_numbers(asked, work, tmp_path):
    tasks = [json.loads(line) for line in asked("prodigy").read_text().splitlines()]
    assert len(tasks) == 12
    assert tasks[0]["text"].startswith("wind: ")
    assert list(tasks[0]) == ["text", "meta"]
    answered = [answer(task, user_input="31.5") for task in tasks]
    answered[0]["answer"] = "ignore"
    answered[1]["answer"] = "reject"
    export = lines(tmp_path / "annotations.jsonl", answered)
    code, text = work("tell", export, "--format", "prodigy")
    assert (code, text.splitlines()[0]) == (0, "10 labels learned, 0 known before, 1 row without a label.")
    assert text.splitlines()[1] == "1 row was skipped; its label is given up."
    assert set(told(tmp_path).values()) == {31.5}


def test_prodigy_choices_and_labels(asked, work, tmp_path):
    tasks = [json.loads(line) for line in asked("prodigy", CLASSES).read_text().splitlines()]
    assert tasks[0]["options"] == [{"id": "late", "text": "late"}, {"id": "on time", "text": "on time"}]
    ids = [task["meta"]["flight"] for task in tasks]
    ways = [
        ({"accept": ["late"]}, 0),
        ({"accept": ["on time"]}, 1),
        ({"label": "late"}, 0),
        ({"label": "late", "answer": "reject"}, 1),
    ]
    answered = [answer(task) | way for task, (way, _) in zip(tasks, ways, strict=False)]
    other = [answer(tasks[4], accept=[name]) for name in ("late", "on time", "on time")]
    assert work("tell", lines(tmp_path / "a.jsonl", [*answered, *other]), "--format", "prodigy")[0] == 0
    assert told(tmp_path) == dict(zip(ids, [0, 1, 0, 1, 1], strict=False))
    both = lines(tmp_path / "b.jsonl", [answer(tasks[5], accept=["late", "on time"])])
    code, text = work("tell", both, "--format", "prodigy")
    assert (code, text.count("\n")) == (2, 1)
    assert "'late, on time'" in text


def answer(task, **given):
    """Return a task as Prodigy's db-out has it."""
    hashes = {"_input_hash": 1886799205, "_task_hash": -1346542803, "_view_id": "choice"}
    session = {"_annotator_id": "2026-anna", "_session_id": "2026-anna", "_timestamp": 1676387137}
    return task | hashes | given | {"answer": "accept"} | session


def lines(path, tasks):
    path.write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    return path


OTHER = {"id": 3, "data": {"text": "a dog"}, "annotations": []}


@pytest.mark.parametrize(
    ("format", "content", "message"),
    [
        (
            "label-studio",
            [OTHER],
            "task 1 of export must be a task of this work, with 'flight' in data, got none",
        ),
        (
            "label-studio",
            [annotated({"data": {"flight": "AF1"}}, said("number", 3))],
            "ids of export must be of rows that were asked for, got others, such as 'AF1'. Is it of another",
        ),
        ("label-studio", [{"id": 1, "flight": "LH1", "delay": 3}], "export as JSON; not as JSON-MIN or CSV."),
        ("label-studio", {"detail": "not found"}, "content of export must be tasks"),
        ("label-studio", None, "text of export must be JSON, got "),
        (
            "prodigy",
            [{"text": "a dog", "answer": "accept"}],
            "with 'flight' in meta, got none. Is it an export",
        ),
        ("prodigy", [7], "content of export must be tasks"),
        ("prodigy", None, "text of export must be a JSON object per line, got"),
    ],
)
def test_files_of_others_change_nothing(asked, work, tmp_path, format, content, message):
    asked(format)
    before = digest_in(tmp_path / "s.qufur")
    export = tmp_path / "export"
    if format == "prodigy" and content:
        lines(export, content)
    else:
        export.write_text(json.dumps(content) if content else "flight,delay\n")
    code, text = work("tell", export, "--format", format)
    assert (code, text.count("\n")) == (2, 1)
    assert message in text
    assert digest_in(tmp_path / "s.qufur") == before


def test_outstanding_rows_as_tasks(asked, work, tmp_path):
    tasks, again = asked("label-studio"), tmp_path / "again.json"
    assert work("outstanding", "-o", again, "--format", "label-studio")[0] == 0
    assert again.read_bytes() == tasks.read_bytes()


def test_the_text_of_a_review_is_what_is_shown(work, tmp_path):
    reviews, out = tmp_path / "reviews.csv", tmp_path / "tasks.jsonl"
    with reviews.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["review", "words", "text"], *([t, t % 7, f"good {t}"] for t in range(20))]
        )
    options = ["--budget", 3, "--id", "review", "--target", "stars", "--skip", "text", *LINEAR]
    assert work("ask", reviews, "-o", out, *options, "--label-range", 1, 5, "--format", "prodigy")[0] == 0
    task = json.loads(out.read_text().splitlines()[0])
    assert task["text"] == f"good {task['meta']['review']}"
    assert list(task["meta"]) == ["review", "words", "prediction"]


ODD = [None, 7, "x", [], [[1]], {"a": 1}]


@pytest.mark.parametrize("format", ["label-studio", "prodigy"])
def test_whatever_a_file_says_is_a_label_or_one_line(asked, work, tmp_path, format):
    out = asked(format).read_text()
    task = (json.loads(out) if format == "label-studio" else [json.loads(line) for line in out.splitlines()])[
        0
    ]
    export = tmp_path / "export.json"
    places = ["annotations", "annotation", "result", "region", "number"]
    for odd in ODD:
        for place in (
            places if format == "label-studio" else ["meta", "answer", "accept", "user_input", "label"]
        ):
            if format == "label-studio":
                value = {"number": odd} if place == "number" else odd
                region = odd if place == "region" else {"value": value}
                annotation = (
                    odd if place == "annotation" else {"result": odd if place == "result" else [region]}
                )
                content = [task | {"annotations": odd if place == "annotations" else [annotation]}]
            else:
                content = task | {"answer": "accept"} | {place: odd}
            export.write_text(json.dumps(content))
            code, text = work("tell", export, "--format", format)
            assert code == 0 or text.count("\n") == 1, (place, odd, text)
            if "1 label learned" in text:
                work("undo")
