"""GPUs of tasks, where Ray counts some and torch finds none."""

import warnings
from types import SimpleNamespace

import pytest

from qufur.cluster.cards import check_cards
from qufur.errors import DeviceWarning


def ray_with(gpus, card):
    task = SimpleNamespace(remote=lambda: card)
    return SimpleNamespace(
        cluster_resources=lambda: {"GPU": gpus} if gpus else {},
        remote=lambda **_: lambda function: task,
        get=lambda found: found,
    )


def test_too_few_gpus_are_waited_for_and_that_is_said():
    with pytest.warns(DeviceWarning, match="A task takes 1 GPUs and the cluster has 0: it waits"):
        check_cards(ray_with(0, True), 1.0, text=False)


def test_a_worker_without_a_card_embeds_on_its_cpu_and_that_is_said():
    with pytest.warns(DeviceWarning, match="torch finds no GPU with CUDA on a worker"):
        check_cards(ray_with(2, False), 0.5, text=True)


@pytest.mark.parametrize(("gpus", "card", "text"), [(0, False, True), (1, True, True), (1, False, False)])
def test_nothing_is_said_where_nothing_is_missing(gpus, card, text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_cards(ray_with(gpus, card), float(gpus), text=text)
