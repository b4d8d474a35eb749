"""Work in several threads: the results are those of one, in order, and an error ends what has not begun."""

from __future__ import annotations

import platform
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from syntabula._threads import in_threads, one_thread_for_products


def product_threads() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_results_come_in_the_order_of_the_items_from_as_many_threads_as_products_had() -> None:
    both = threading.Barrier(2, timeout=60)

    def work(item: int) -> tuple[int, set[int]]:
        both.wait()  # Ends only if two are at work at once.
        return item, product_threads()

    with threadpool_limits(limits=2, user_api="blas"):
        found = in_threads(work, range(6))

    assert found == [(i, {1}) for i in range(6)]


def test_one_thread_stays_in_the_one_that_called() -> None:
    with threadpool_limits(limits=1, user_api="blas"):
        found = in_threads(lambda item: threading.get_ident(), range(3))

    assert found == [threading.get_ident()] * 3
    assert in_threads(lambda item: item, []) == []


@pytest.mark.thorough
def test_an_error_ends_what_has_not_begun_and_threads_come_back() -> None:
    begun: list[int] = []

    def work(item: int) -> None:
        begun.append(item)
        if item == 0:
            raise ValueError
        time.sleep(0.01)  # so that all of them would take 50 seconds, however busy the machine

    with threadpool_limits(limits=2, user_api="blas"):
        with pytest.raises(ValueError):
            in_threads(work, range(10_000))
        assert product_threads() == {2}

    assert len(begun) < 10_000


def test_products_are_made_in_one_thread_within_and_in_as_many_as_before_behind() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        with one_thread_for_products():
            assert product_threads() == {1}
        assert product_threads() == {2}


@pytest.mark.thorough
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the library of others is another one")
def test_what_a_step_of_training_frees_is_kept_for_the_next() -> None:
    script = """
import resource
import torch
from syntabula._threads import training_threads

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

with training_threads(1):
    for step in range(12):
        if step == 2:
            before = faults()
        held = [torch.ones(1024, 256) for _ in range(20)]
        held = None
    print(faults() - before)
"""

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    # Twenty blocks of 256 pages, ten times; without, more than a tenth of them faulted.
    assert int(ran.stdout) < 2000
