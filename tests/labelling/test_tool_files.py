"""Round trips with files of labelling tools, in their documented formats."""

import csv
import json

import pytest
from tests.cli.test_state_file import DELAY, LINEAR, write

from qufur.storage.container import digest_in
from qufur.workbook import Workbook

NUMBERS = [*LINEAR, "--budget", 12, "--label-range", 0, 60, "--id", "flight", "--target", "delay"]
CLASSES = ["--budget", 10, "--classes", "late,on time", "--id", "flight", "--target", "state", "--new"]


def annotated(task, *annotations):
    """Return a task as Label Studio exports it."""
    exported = [
        {
            "id": 1000 + index,
            "completed_by": index,
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
        for index, result in enumerate(annotations)
    ]
    header = {
        "id": 1,
        "annotations": exported,
        "file_upload": "1-tasks.json",
        "drafts": [],
        "predictions": [],
    }
    times = {"created_at": "2026-03-09T21:52:49.513742Z", "updated_at": "2026-03-09T22:16:08.746926Z"}
    return header | task | {"meta": {}, **times, "inner_id": 1, "project": 83, "updated_by": 1}


def result_of(region_type, value, name="delay"):
    """Return the result of an annotation with one region."""
    region = {"id": "Dx_aB91ISN", "from_name": name, "to_name": "text", "origin": "manual"}
    key = "text" if region_type == "textarea" else region_type
    return [region | {"type": region_type, "value": {key: value}}]


def delay(task):
    return float(DELAY[int(task["data"]["flight"][2:])])


@pytest.fixture
def ask_tasks(work, tmp_path):
    """Return a function that queries flights and returns the file of tasks."""

    def ask(format, options=NUMBERS):
        out = tmp_path / ("tasks.json" if format == "label-studio" else "tasks.jsonl")
        may = write(tmp_path / "may.csv", range(60))
        code, text = work("ask", may, "-o", out, *options, "--format", format)
        assert code == 0, text
        return out

    return ask


def stored_labels(tmp_path):
    return {id: record.label for id, record in Workbook.load(tmp_path / "s.qufur").labels.items()}


def test_label_studio_round_trip(ask_tasks, work, tmp_path):
    tasks = json.loads(ask_tasks("label-studio").read_text())
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
        annotated(task, result_of(region_type, make(delay(task))))
        for task, (region_type, make) in zip(tasks, [*ways, *[ways[0]] * 8], strict=True)
    ]
    first, second = tasks[4], tasks[5]
    done[4] = annotated(first, result_of("number", 20), result_of("number", 26), None)
    done[5] = annotated(second, None)
    done[6] = annotated(tasks[6])
    done[7] = annotated(tasks[7], [])
    both = [*result_of("choices", ["unsure"], "comment"), *result_of("number", 31)]
    done[8] = annotated(tasks[8], both)
    export = tmp_path / "project-83-at-2026.json"
    export.write_text(json.dumps(done))
    code, text = work("tell", export, "--format", "label-studio", "--json")
    summary = json.loads(text)
    counts = [summary[name] for name in ("new", "blank", "skipped", "outstanding")]
    assert (code, counts) == (0, [9, 2, 1, 2])
    labels = stored_labels(tmp_path)
    assert labels[first["data"]["flight"]] == 23
    assert labels[tasks[8]["data"]["flight"]] == 31
    assert labels[tasks[1]["data"]["flight"]] == round(delay(tasks[1]))
    assert second["data"]["flight"] not in labels
    assert labels[tasks[2]["data"]["flight"]] == delay(tasks[2])
    before = digest_in(tmp_path / "s.qufur")
    assert work("tell", export, "--format", "label-studio")[0] == 0
    assert digest_in(tmp_path / "s.qufur") == before


def test_prodigy_round_trip_with_numbers(ask_tasks, work, tmp_path):
    tasks = [json.loads(line) for line in ask_tasks("prodigy").read_text().splitlines()]
    assert len(tasks) == 12
    assert tasks[0]["text"].startswith("wind: ")
    assert list(tasks[0]) == ["text", "meta"]
    answered = [answer(task, user_input="31.5") for task in tasks]
    answered[0]["answer"] = "ignore"
    answered[1]["answer"] = "reject"
    export = lines(tmp_path / "annotations.jsonl", answered)
    code, text = work("tell", export, "--format", "prodigy")
    assert (code, text.splitlines()[0]) == (0, "10 labels learned, 0 already known, 1 row without a label.")
    assert text.splitlines()[1] == "1 row was skipped; its label is retracted."
    assert set(stored_labels(tmp_path).values()) == {31.5}


def test_prodigy_round_trip_with_choices_and_labels(ask_tasks, work, tmp_path):
    tasks = [json.loads(line) for line in ask_tasks("prodigy", CLASSES).read_text().splitlines()]
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
    assert stored_labels(tmp_path) == dict(zip(ids, [0, 1, 0, 1, 1], strict=False))
    both = lines(tmp_path / "b.jsonl", [answer(tasks[5], accept=["late", "on time"])])
    code, text = work("tell", both, "--format", "prodigy")
    assert (code, text.count("\n")) == (2, 1)
    assert "'late, on time'" in text


def answer(task, **given):
    """Return an annotated task in the format of Prodigy's db-out."""
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
            "task 1 of export must be a task of this project, with 'flight' in data, got none",
        ),
        (
            "label-studio",
            [annotated({"data": {"flight": "AF1"}}, result_of("number", 3))],
            "ids of export must be of rows that `qufur ask` chose, got other ids, such as 'AF1'. Check",
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
def test_invalid_files_raise_and_change_nothing(ask_tasks, work, tmp_path, format, content, message):
    ask_tasks(format)
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


def test_outstanding_writes_the_same_tasks(ask_tasks, work, tmp_path):
    tasks, again = ask_tasks("label-studio"), tmp_path / "again.json"
    assert work("outstanding", "-o", again, "--format", "label-studio")[0] == 0
    assert again.read_bytes() == tasks.read_bytes()


def test_text_column_is_the_text_of_a_task(work, tmp_path):
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


UNEXPECTED_VALUES = [None, 7, "x", [], [[1]], {"a": 1}]


@pytest.mark.parametrize("format", ["label-studio", "prodigy"])
def test_malformed_annotations_give_a_label_or_one_line(ask_tasks, work, tmp_path, format):
    out = ask_tasks(format).read_text()
    task = json.loads(out)[0] if format == "label-studio" else json.loads(out.splitlines()[0])
    export = tmp_path / "export.json"
    if format == "label-studio":
        positions = ["annotations", "annotation", "result", "region", "number"]
    else:
        positions = ["meta", "answer", "accept", "user_input", "label"]
    for malformed in UNEXPECTED_VALUES:
        for position in positions:
            if format == "label-studio":
                value = {"number": malformed} if position == "number" else malformed
                region = malformed if position == "region" else {"value": value}
                result = malformed if position == "result" else [region]
                annotation = malformed if position == "annotation" else {"result": result}
                annotations = malformed if position == "annotations" else [annotation]
                content = [task | {"annotations": annotations}]
            else:
                content = task | {"answer": "accept"} | {position: malformed}
            export.write_text(json.dumps(content))
            code, text = work("tell", export, "--format", format)
            assert code == 0 or text.count("\n") == 1, (position, malformed, text)
            if "1 label learned" in text:
                work("undo")
