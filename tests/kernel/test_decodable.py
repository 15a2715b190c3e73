"""Threads that decode to a class before anybody has: msgspec 0.22 alone ends the process, about one time in three."""

import subprocess
import sys

RUN = """
import sys, threading
import msgspec
from turnfold.batch.kept import KeptResult
from turnfold.model.counts import TokenCount
from turnfold.model.decodable import decodable
from turnfold.model.plan import Skip

sys.setswitchinterval(1e-6)
skip = Skip("under_trigger", "text", TokenCount(1, 1, 1, "exact"))
data, start, found = msgspec.json.encode(skip), threading.Barrier(8), []

def read():
    start.wait()
    found.append(msgspec.json.decode(data, type=decodable(KeptResult | Skip)))

threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert found == [skip] * 8
"""


def test_threads_decode_to_a_class_that_nobody_has_looked_at() -> None:
    for _ in range(8):
        subprocess.run([sys.executable, "-c", RUN], check=True)
