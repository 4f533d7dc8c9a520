"""Test program that labels flights and is sometimes slow, wrong, silent or failing.

It appends one line per call to its log: key, row, action and process id.
"""

import json
import os
import random
import subprocess
import sys
import time

RANDOM_ACTIONS = ("slow", "hang", "fail", "silent", "wrong", "skip")


def act(row, action):
    """Perform an action for a row; by default print its label."""
    if action == "slow":
        time.sleep(0.3)
    if action == "hang":
        time.sleep(1000)
    if action == "fail":
        sys.exit("no answer today")
    if action == "flood":
        while True:
            print("yes " * 1000)
    if action in ("chatter", "complaint"):
        print("working\n" * 50_000, file=sys.stderr, flush=True)
    if action == "complaint":
        sys.exit("no answer today")
    if action == "escape":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(5)"], start_new_session=True)
    if action == "skip":
        print("skip")
    elif action == "wrong":
        print("as an AI I cannot say")
    elif action != "silent":
        print(30 + 5 * row["wind"])


def main():
    """Run the action of a row (LH3=fail) or one sampled with its probability (fail=0.1)."""
    log, *options = sys.argv[1:]
    row = json.load(sys.stdin)
    pairs = [option.split("=") for option in options]
    probabilities = {name: float(value) for name, value in pairs if name in RANDOM_ACTIONS}
    by_row = dict(pairs)
    sampled = [name for name, probability in probabilities.items() if random.random() < probability]
    action = by_row.get(row["flight"], sampled[0] if sampled else "label")
    with open(log, "a") as file:
        file.write(f"{row['idempotency_key']} {row['flight']} {action} {os.getpid()}\n")
    act(row, action)


if __name__ == "__main__":
    main()
