"""A process killed at any moment of a save leaves the file from before or after that save."""

import random
import subprocess
import sys
import time

from tests.soak import times

from qufur import Learner

SAVE_FOREVER = """
import sys
from pathlib import Path
import numpy as np
from qufur import Learner, Ridge, Uniform

path = Path(sys.argv[1])
learner = Learner.load(path) if path.exists() else Learner(Ridge(40), Uniform(1.0))
while True:
    learner.tell(learner.ask(np.full(40, 0.1)).id, 0.5)
    print(learner.next_id, flush=True)
    learner.save(path)
    print(-learner.next_id, flush=True)
"""


def test_kill_while_saving_leaves_a_readable_file(tmp_path):
    path, seconds, inside = tmp_path / "learner", random.Random(5), 0
    for _ in range(times(200)):
        begun, ended = killed_after(path, seconds.uniform(0, 0.05))
        loaded = Learner.load(path)
        assert loaded.next_id in {begun, ended}
        assert loaded.spent == loaded.ledger.answered == loaded.next_id
        inside += begun != ended
    print(f"{times(200)} kills, {inside} of them inside a save")
    assert inside >= times(200) // 4, "the kills missed the saves"
    assert len(list(tmp_path.iterdir())) <= 1 + inside


def killed_after(path, seconds):
    """Kill a process after its second save; return the numbers of the last save begun and completed."""
    command = [sys.executable, "-c", SAVE_FOREVER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        lines = [int(process.stdout.readline()) for _ in range(4)]
        time.sleep(seconds)
        process.kill()
        lines += [
            int(line) for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")
        ]
    return max(lines), -min(lines)
