"""The file of a learner: written whole or not at all, and only ever read as it was written."""

import dataclasses
import os
import stat
import time

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
from qufur.storage.atomic import LEFTOVER_AGE, replacing

X = np.random.default_rng(4).normal(size=(30, 2)) / 2


def used(model=None, rule=None, seed=1):
    """Return a learner with labels, outstanding queries and an id that is a word."""
    learner = Learner(model or Ridge(2), rule or QuFUR(4.0), seed=seed)
    learner.ask_many(X[:12])
    learner.ask(X[0], id="ä")
    learner.tell_many(learner.outstanding[::2], np.zeros(len(learner.outstanding[::2])))
    return learner


def test_a_file_that_says_how_to_compute_blocks_loads():
    header, tensors = snapshot.encode(used())
    older = tensors | {"state.labelled.busy": np.zeros(1), "state.queried.busy": np.ones(1)}
    assert same(snapshot.decode(Learner, (header, older)), used())


# Written whole or not at all


@pytest.mark.parametrize("moment", CRASHES)
def test_a_crash_leaves_the_old_file_and_nothing_else(tmp_path, moment):
    old, new = Learner(Ridge(2), QuFUR(1.0)), used()
    old.save(tmp_path / "learner")
    with crashing(moment), pytest.raises(Crash):
        new.save(tmp_path / "learner")
    assert same(Learner.load(tmp_path / "learner"), old)
    assert os.listdir(tmp_path) == ["learner"]
    new.save(tmp_path / "learner")
    assert same(Learner.load(tmp_path / "learner"), new)


def test_the_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    events, fsync, replace = [], os.fsync, os.replace

    def noting_fsync(handle):
        events.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def noting_replace(source, target):
        assert os.path.dirname(source) == os.path.dirname(target)
        assert Learner.load(source).next_id == 12
        events.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "replace", noting_replace)
    used().save(tmp_path / "learner")
    assert events == ["file", "replace", "folder"]


@pytest.mark.skipif(os.name == "nt", reason="permissions of another kind")
def test_permissions_are_kept(tmp_path):
    file, mask = tmp_path / "learner", os.umask(0o027)
    try:
        used().save(file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        file.chmod(0o604)
        used().save(file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o604
    finally:
        os.umask(mask)


@pytest.mark.skipif(os.name == "nt", reason="permissions of another kind")
def test_a_private_file_is_private_while_it_is_written(tmp_path, monkeypatch):
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
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    link, file = tmp_path / "link", tmp_path / "there" / "learner"
    link.symlink_to(file)
    used().save(link)
    assert link.is_symlink()
    assert same(Learner.load(file), used())


def test_what_crashes_left_behind_is_removed(tmp_path):
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
    assert fresh.exists(), "it may be that of a save under way"
    assert other.exists()
    assert alien.exists()


def test_places_that_cannot_hold_a_file(tmp_path):
    allowed = "path of Learner.save must be a file in a folder that exists, got"
    for path in (tmp_path, tmp_path / "nowhere" / "learner"):
        assert refusal(lambda path=path: used().save(path)) == f"{allowed} {str(path)!r}."
    assert os.listdir(tmp_path) == []


def test_the_same_learner_makes_the_same_bytes(tmp_path):
    for name in "ab":
        used().save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# What is no such file


def refused(path):
    """Return why a file is refused, after checking that the line names it."""
    start = f"path of Learner.load must be a file that Learner.save wrote, got {str(path)!r}, which "
    message = refusal(lambda: Learner.load(path))
    assert message.startswith(start)
    return message.removeprefix(start)


KIND = "is of another kind, or damaged at its start. Check the path, or load an earlier copy."
DAMAGED = "is damaged. Load an earlier copy."


def test_no_file(tmp_path):
    assert refused(tmp_path / "x") == "does not exist. Check the path."
    assert refused(tmp_path) == "is a folder. Check the path."
    (tmp_path / "file").touch()
    assert refused(tmp_path / "file") == "is empty. Load an earlier copy."
    assert refused(tmp_path / "file" / "x") == "cannot be read (Not a directory). Check the path."


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
def test_another_kind_of_file(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    assert refused(tmp_path / "file") == KIND


def test_a_large_file_of_another_kind_is_not_read(tmp_path):
    with (tmp_path / "file").open("wb") as file:
        file.truncate(2**40)  # a hole
    assert refused(tmp_path / "file") == KIND


def test_every_truncation(tmp_path):
    used().save(tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    for length in range(1, len(whole), 97):
        (tmp_path / "file").write_bytes(whole[:length])
        assert refused(tmp_path / "file") in (KIND, DAMAGED)
    (tmp_path / "file").write_bytes(whole + b"\0")
    assert refused(tmp_path / "file") == DAMAGED


def test_a_generator_that_could_not_be_loaded_is_not_saved(tmp_path):
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
def test_what_load_would_refuse_is_not_saved(tmp_path, number):
    learner = Learner(Ridge(3), QuFUR(1.0))
    learner.save(tmp_path / "state")
    good = (tmp_path / "state").read_bytes()
    learner.ledger.loss_seen = number
    assert refusal(lambda: learner.save(tmp_path / "state")) == (
        "state of Learner.save must be one that can be loaded, got ledger.loss_seen of the file must be like "
        f"0.0, got {number!r}. The file was left as it was."
    )
    assert (tmp_path / "state").read_bytes() == good


# Classes of the same name


def test_a_class_of_the_same_name_is_not_taken_for_ours(tmp_path):
    Learner(Ridge(2), Uniform(0.5)).save(tmp_path / "learner")

    @dataclasses.dataclass(frozen=True)
    class Uniform_(Uniform):
        """Buys everything, somewhere in the process."""

        def thresholds(self, coins, domain):
            return np.full(np.shape(coins), -1.0)

    Uniform_.__name__ = "Uniform"
    assert type(Learner.load(tmp_path / "learner").rule) is Uniform
    message = refusal(lambda: Learner(Ridge(2), Uniform_(0.5)).save(tmp_path / "learner"))
    assert message.startswith(
        "rule of Learner.save must be of a class of another name than qufur's own Uniform"
    )
    assert message.endswith("Rename the class.")


def test_kernels_trainings_and_hypotheses_of_the_same_name_are_refused(tmp_path):
    kernel = type("RBF", (RBF,), {})(1.0)
    training = type("Converged", (Converged,), {})()
    ball = type("LinearBall", (LinearBall,), {})(2)
    for model in (KernelRidge(kernel), Softmax(2, 2, training=training), ConfidenceSet(ball, radius=0.1)):
        message = refusal(lambda model=model: Learner(model, Uniform(0.5)).save(tmp_path / "learner"))
        assert "must be of a class of another name than" in message
    assert not list(tmp_path.iterdir())


def test_a_class_that_is_defined_again_is_the_latest(tmp_path):
    for value in (1, 2):
        kind = type("Twice", (Uniform,), {"value": value})
        Learner(Ridge(2), kind(0.5)).save(tmp_path / "learner")
    assert Learner.load(tmp_path / "learner").rule.value == 2


def test_no_name_is_no_place():
    message = "path of Learner.save must be a file in a folder that exists, got ''."
    assert refusal(lambda: used().save("")) == message
