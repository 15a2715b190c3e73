"""A process that is forked while other threads are in the kernel."""

import json
import os
import signal
import subprocess
import sys
import threading
import warnings

import pytest

from turnfold import Transcript
from turnfold.testing.generators import openai_chat

BESIDE_OTHERS = """
import os, signal
signal.alarm(60)
def count():
    assert turnfold.count(text) == 8_001
os.register_at_fork(before=count, after_in_parent=count, after_in_child=count)
import turnfold
os.register_at_fork(before=count, after_in_parent=count, after_in_child=count)
text = "some words " * 4_000
child = os.fork()
count()
os._exit(0 if child == 0 else os.waitpid(child, 0)[1])
"""
FORKS = 25
"""Without waiting, a third of the children had a lock that nobody let go of."""


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def test_other_handlers_of_a_fork_may_use_the_kernel() -> None:
    assert subprocess.call([sys.executable, "-c", BESIDE_OTHERS]) == 0


def test_a_child_has_no_lock_of_a_thread_that_it_does_not_have() -> None:
    bodies = [json.dumps(openai_chat(seed, turns=40, result_words=100)).encode() for seed in range(40)]
    done = threading.Event()

    def meter() -> None:
        turn = 0
        while not done.is_set():
            turn += 1
            Transcript.from_json(bodies[turn % len(bodies)] + b" " * (turn % 7)).tokens()

    def in_child() -> None:
        for body in bodies[:10]:
            Transcript.from_json(body).tokens()

    threads = [threading.Thread(target=meter) for _ in range(3)]
    for thread in threads:
        thread.start()
    ended = []
    try:
        for _ in range(FORKS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                # Ends it where it waits for a lock.
                signal.alarm(60)
                own = threading.Thread(target=in_child)
                own.start()
                own.join()
                in_child()
                os._exit(0)
            ended.append(os.waitpid(child, 0)[1])
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert ended == [0] * FORKS
