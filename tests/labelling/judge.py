"""A program that labels flights, and is sometimes slow, wrong, silent or failing, for tests.

Its log has a line when it begins, and one with what it is going to do.
"""

import json
import os
import random
import subprocess
import sys
import time

LUCK = ("slow", "hang", "fail", "silent", "wrong", "skip")


def act(row, what):
    if what == "slow":
        time.sleep(0.3)
    if what == "hang":
        time.sleep(1000)
    if what == "fail":
        sys.exit("no answer today")
    if what == "flood":
        while True:
            print("yes " * 1000)
    if what in ("chatter", "complaint"):
        print("working\n" * 50_000, file=sys.stderr, flush=True)
    if what == "complaint":
        sys.exit("no answer today")
    if what == "escape":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(5)"], start_new_session=True)
    if what == "skip":
        print("skip")
    elif what == "wrong":
        print("as an AI I cannot say")
    elif what != "silent":
        print(30 + 5 * row["wind"])


def main():
    """Do what the options say of a row, such as LH3=fail, or with chances, such as fail=0.1."""
    log, *options = sys.argv[1:]
    row = json.load(sys.stdin)
    chances = {name: float(chance) for name, _, chance in (o.partition("=") for o in options) if name in LUCK}
    named = dict(option.split("=") for option in options)
    drawn = [name for name, chance in chances.items() if random.random() < chance]
    what = named.get(row["flight"], drawn[0] if drawn else "label")
    with open(log, "a") as file:
        file.write(f"{row['idempotency_key']} {row['flight']} {what} {os.getpid()}\n")
    act(row, what)


if __name__ == "__main__":
    main()
