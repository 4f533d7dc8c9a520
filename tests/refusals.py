"""Helper for tests of invalid input."""

import pytest


def refusal(call):
    """Return the message of the `ValueError` that a call raises; it must be a single line."""
    with pytest.raises(ValueError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    return message
