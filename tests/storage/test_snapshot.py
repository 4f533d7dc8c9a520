"""Learner files: atomic writes, and errors for files that `save` did not write."""

import dataclasses
import gzip
import os
import stat
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save as save_tensors
from sklearn.gaussian_process.kernels import RBF
from tests.refusals import refusal
from tests.same import same
from tests.test_soak_calls import CRASHES, Crash, crashing

from qufur import ConfidenceSet, KernelRidge, Learner, QuFUR, Ridge, Softmax, Uniform, snapshot
from qufur.hypotheses import LinearBall
from qufur.models import Converged
from qufur.storage import container
from qufur.storage.atomic import LEFTOVER_AGE, replacing

X = np.random.default_rng(4).normal(size=(30, 2)) / 2


def used(model=None, rule=None, seed=1):
    """Return a learner with labels, outstanding queries and a text id."""
    learner = Learner(model or Ridge(2), rule or QuFUR(4.0), seed=seed)
    learner.ask_many(X[:12])
    learner.ask(X[0], id="ä")
    learner.tell_many(learner.outstanding[::2], np.zeros(len(learner.outstanding[::2])))
    return learner


def test_obsolete_busy_arrays_of_older_files_are_ignored():
    file = Path(__file__).parent / "states" / "2-ridge-qufur.qufur.gz"
    header, tensors = container.unpack(gzip.decompress(file.read_bytes()), file.name)
    older = tensors | {"state.labelled.busy": np.zeros(1), "state.queried.busy": np.ones(1)}
    assert same(*(snapshot.decode(Learner, (header, arrays)) for arrays in (older, tensors)))


# Atomic writes


@pytest.mark.parametrize("moment", CRASHES)
def test_crash_leaves_only_the_old_file(tmp_path, moment):
    old, new = Learner(Ridge(2), QuFUR(1.0)), used()
    old.save(tmp_path / "learner")
    with crashing(moment), pytest.raises(Crash):
        new.save(tmp_path / "learner")
    assert same(Learner.load(tmp_path / "learner"), old)
    assert os.listdir(tmp_path) == ["learner"]
    new.save(tmp_path / "learner")
    assert same(Learner.load(tmp_path / "learner"), new)


def test_file_is_synced_before_the_rename(tmp_path, monkeypatch):
    events, fsync, replace = [], os.fsync, os.replace

    def recording_fsync(handle):
        events.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def recording_replace(source, target):
        assert os.path.dirname(source) == os.path.dirname(target)
        assert Learner.load(source).next_id == 12
        events.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", recording_fsync)
    monkeypatch.setattr(os, "replace", recording_replace)
    used().save(tmp_path / "learner")
    assert events == ["file", "replace", "folder"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_save_preserves_file_permissions(tmp_path):
    file, mask = tmp_path / "learner", os.umask(0o027)
    try:
        used().save(file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        file.chmod(0o604)
        used().save(file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o604
    finally:
        os.umask(mask)


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_private_file_stays_private_while_written(tmp_path, monkeypatch):
    file, mask, seen = tmp_path / "learner", os.umask(0o022), set()
    monkeypatch.setattr(os, "fsync", lambda handle: seen.add(os.fstat(handle).st_mode))
    try:
        used().save(file)
        file.chmod(0o600)
        seen.clear()
        with replacing(file) as part:
            seen.update(path.stat().st_mode for path in tmp_path.glob(".*.part"))
            part.write(file.read_bytes())
    finally:
        os.umask(mask)
    assert {stat.S_IMODE(mode) for mode in seen if stat.S_ISREG(mode)} == {0o600}
    assert same(Learner.load(file), used())


@pytest.mark.skipif(os.name == "nt", reason="links need rights")
def test_symbolic_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    link, file = tmp_path / "link", tmp_path / "there" / "learner"
    link.symlink_to(file)
    used().save(link)
    assert link.is_symlink()
    assert same(Learner.load(file), used())


def test_leftover_temporary_files_are_removed(tmp_path):
    stale, fresh, other, alien = (
        tmp_path / f".{name}.part"
        for name in (
            "learner.0123456789abcdef",
            "learner.fedcba9876543210",
            "learner.old.0123456789abcdef",
            "x",
        )
    )
    for path in (stale, fresh, other, alien):
        path.write_bytes(b"half")
        age = 0 if path == fresh else 2 * LEFTOVER_AGE
        os.utime(path, (time.time() - age,) * 2)
    used().save(tmp_path / "learner")
    assert not stale.exists()
    assert fresh.exists(), "it may belong to a save in progress"
    assert other.exists()
    assert alien.exists()


def test_save_to_a_folder_or_missing_folder_raises(tmp_path):
    allowed = "path of Learner.save must be a file in a folder that exists, got"
    for path in (tmp_path, tmp_path / "nowhere" / "learner"):
        assert refusal(lambda path=path: used().save(path)) == f"{allowed} {str(path)!r}."
    assert os.listdir(tmp_path) == []


def test_equal_learners_save_equal_bytes(tmp_path):
    for name in "ab":
        used().save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# Invalid files


def load_error(path):
    """Return the reason why a file is rejected; the error must name the file."""
    start = f"path of Learner.load must be a file that Learner.save wrote, got {str(path)!r}, which "
    message = refusal(lambda: Learner.load(path))
    assert message.startswith(start)
    return message.removeprefix(start)


OTHER_FORMAT = "is of another format, or damaged at its start. Check the path, or load an earlier copy."
DAMAGED = "is damaged. Load an earlier copy."


def test_load_of_a_missing_or_empty_file_raises(tmp_path):
    assert load_error(tmp_path / "x") == "does not exist. Check the path."
    assert load_error(tmp_path) == "is a folder. Check the path."
    (tmp_path / "file").touch()
    assert load_error(tmp_path / "file") == "is empty. Load an earlier copy."
    assert load_error(tmp_path / "file" / "x") == "cannot be read (Not a directory). Check the path."


@pytest.mark.parametrize(
    "content",
    [
        b"\0",
        b"just text, but longer than eight bytes",
        b"\xff" * 100,
        b"\2" + b"\0" * 7 + b"{}",
        save_tensors({"a": np.ones(3)}),
        save_tensors({"a": np.ones(3)}, metadata={"qufur": "nothing"}),
        save_tensors({"a": np.ones(3)}, metadata={"qufur": "[1]"}),
        save_tensors({"a": np.ones(3)}, metadata={"qufur": "[" * 100_000}),
        b"\x80\x04\x95cos\nsystem\n",
    ],
    ids=range(9),
)
def test_load_of_a_file_of_another_format_raises(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    assert load_error(tmp_path / "file") == OTHER_FORMAT


def test_large_file_of_another_format_is_not_read(tmp_path):
    with (tmp_path / "file").open("wb") as file:
        file.truncate(2**40)  # a hole
    assert load_error(tmp_path / "file") == OTHER_FORMAT


def test_truncated_or_extended_file_raises(tmp_path):
    used().save(tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    for length in range(1, len(whole), 97):
        (tmp_path / "file").write_bytes(whole[:length])
        assert load_error(tmp_path / "file") in (OTHER_FORMAT, DAMAGED)
    (tmp_path / "file").write_bytes(whole + b"\0")
    assert load_error(tmp_path / "file") == DAMAGED


def test_unloadable_generator_is_not_saved(tmp_path):
    class Homemade(np.random.PCG64):
        pass

    learner = used(seed=np.random.Generator(Homemade(1)))
    assert refusal(lambda: learner.save(tmp_path / "learner")) == (
        "seed of Learner.save must be a generator over one of "
        "['MT19937', 'PCG64', 'PCG64DXSM', 'Philox', 'SFC64'], got Homemade. "
        "Use another generator to save the learner."
    )
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("number", [np.nan, "x"])
def test_unloadable_learner_is_not_saved(tmp_path, number):
    learner = Learner(Ridge(3), QuFUR(1.0))
    learner.save(tmp_path / "state")
    good = (tmp_path / "state").read_bytes()
    learner.ledger.loss_seen = number
    assert refusal(lambda: learner.save(tmp_path / "state")) == (
        "state of Learner.save must be one that can be loaded, got ledger.loss_seen of the file must be like "
        f"0.0, got {number!r}. The file was not changed."
    )
    assert (tmp_path / "state").read_bytes() == good


# Classes of the same name


def test_foreign_class_of_the_same_name_is_not_loaded(tmp_path):
    Learner(Ridge(2), Uniform(0.5)).save(tmp_path / "learner")

    @dataclasses.dataclass(frozen=True)
    class Uniform_(Uniform):
        """Rule of the same name that queries every row."""

        def thresholds(self, coins, domain):
            return np.full(np.shape(coins), -1.0)

    Uniform_.__name__ = "Uniform"
    assert type(Learner.load(tmp_path / "learner").rule) is Uniform
    message = refusal(lambda: Learner(Ridge(2), Uniform_(0.5)).save(tmp_path / "learner"))
    assert message.startswith(
        "rule of Learner.save must be of a class with another name than qufur's Uniform"
    )
    assert message.endswith("Rename the class.")


def test_foreign_kernels_trainings_and_hypotheses_of_a_reserved_name_are_not_saved(tmp_path):
    kernel = type("RBF", (RBF,), {})(1.0)
    training = type("Converged", (Converged,), {})()
    ball = type("LinearBall", (LinearBall,), {})(2)
    for model in (KernelRidge(kernel), Softmax(2, 2, training=training), ConfidenceSet(ball, radius=0.1)):
        message = refusal(lambda model=model: Learner(model, Uniform(0.5)).save(tmp_path / "learner"))
        assert "must be of a class with another name than" in message
    assert not list(tmp_path.iterdir())


def test_redefined_class_replaces_the_earlier_one(tmp_path):
    for value in (1, 2):
        rule_class = type("Twice", (Uniform,), {"value": value})
        Learner(Ridge(2), rule_class(0.5)).save(tmp_path / "learner")
    assert Learner.load(tmp_path / "learner").rule.value == 2


def test_save_to_an_empty_path_raises():
    message = "path of Learner.save must be a file in a folder that exists, got ''."
    assert refusal(lambda: used().save("")) == message
