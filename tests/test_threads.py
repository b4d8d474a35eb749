"""Work in several threads: the results are those of one, in order, and an error ends what has not begun."""

from __future__ import annotations

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
