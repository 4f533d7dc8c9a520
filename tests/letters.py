"""A language model for tests: it counts letters, and needs nothing to be installed."""

import numpy as np

from qufur.tables.text import LOADED, TokenMeans


class Letters:
    """How often each of some letters occurs."""

    def __init__(self, name):
        self.letters = name.removeprefix("letters-")
        self.calls = 0

    def embed(self, texts):
        for text in texts:
            self.calls += 1
            yield np.array([float(text.count(letter)) for letter in self.letters])


def let_letters_be_counted(monkeypatch):
    """Let the models letters-abc, letters-ab … be there, and no others; return those loaded, in order."""
    loaded = []

    def pretrained(name, *, fetch=True):
        if not name.startswith("letters-"):
            raise OSError(f"{name} is not a local folder\nand much more")
        loaded.append(Letters(name))
        return loaded[-1]

    monkeypatch.setattr(TokenMeans, "pretrained", pretrained)
    LOADED.clear()
    return loaded
