"""Checks of the GPUs that Ray counts and torch detects."""

import warnings
from types import SimpleNamespace

import pytest

from qufur.cluster.job import check_gpus
from qufur.errors import DeviceWarning


def ray_with(gpus, has_cuda):
    task = SimpleNamespace(remote=lambda: has_cuda)
    return SimpleNamespace(
        cluster_resources=lambda: {"GPU": gpus} if gpus else {},
        remote=lambda **_: lambda function: task,
        get=lambda result: result,
    )


def test_check_gpus_warns_when_the_cluster_has_too_few():
    with pytest.warns(DeviceWarning, match="A task needs 1 GPUs and the cluster has 0: it waits"):
        check_gpus(ray_with(0, True), 1.0, text=False)


def test_worker_without_a_gpu_warns_and_embeds_on_its_cpu():
    with pytest.warns(DeviceWarning, match="torch finds no CUDA GPU on a worker"):
        check_gpus(ray_with(2, False), 0.5, text=True)


@pytest.mark.parametrize(("gpus", "has_cuda", "text"), [(0, False, True), (1, True, True), (1, False, False)])
def test_check_gpus_is_silent_when_no_gpu_is_missing(gpus, has_cuda, text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_gpus(ray_with(gpus, has_cuda), float(gpus), text=text)
