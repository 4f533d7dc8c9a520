"""How often to repeat what is random: in full under `make soak`, a hundredth of it under `make test`."""

import os


def times(count):
    return count if os.environ.get("QUFUR_SOAK") else max(1, count // 100)
