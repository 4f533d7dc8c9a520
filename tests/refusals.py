"""How bad input is refused: with one line."""

import pytest


def refusal(call):
    """Return the message with which a call is refused."""
    with pytest.raises(ValueError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    return message
