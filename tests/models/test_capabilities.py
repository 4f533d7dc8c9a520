"""The contract of models and states: its size, and errors for classes of the former one."""

import inspect

import pytest

from qufur import Learner
from qufur.models import MODELS, Model, capabilities
from qufur.models.base import State

LARGEST = {Model: 12, State: 15, Learner: 21}
"""Largest number of public members: what an author or a caller has to read."""


def public_members(cls):
    """Return the public names of a class, annotated attributes included."""
    names = {name for name, _ in inspect.getmembers(cls)} | set(inspect.get_annotations(cls))
    return sorted(name for name in names if not name.startswith("_"))


@pytest.mark.parametrize("cls", LARGEST)
def test_contract_stays_small(cls):
    assert len(public_members(cls)) <= LARGEST[cls], public_members(cls)


def test_model_of_the_former_contract_raises_an_error_that_names_the_new_members():
    with pytest.raises(TypeError) as caught:
        type("Old", (Model,), {"label_free": True, "encode_labels": None})
    assert str(caught.value) == (
        "Old uses members of an earlier version of Model: "
        "encode_labels is now label_codec.encode, label_free is now tags.label_free."
    )


@pytest.mark.parametrize("model", [model for cls in MODELS for model in cls.examples(3)], ids=repr)
def test_states_have_the_abilities_that_their_models_promise(model):
    state = model.start()
    assert not model.label_codec.classifies or isinstance(state, capabilities.Probabilistic)
    assert model.loss_scale is not None or isinstance(state, capabilities.LearnsRange)
    if isinstance(state, capabilities.KeepsPurchases):
        assert model.tags.uses_purchases
