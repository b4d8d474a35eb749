from __future__ import annotations

import os
import pickle
import subprocess
import sys
from multiprocessing import get_context

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.privacy.noise import LARGEST_SCALE, NoiseSource, SecureNoise, SeededNoise

pytestmark = pytest.mark.fresh_noise

SOURCES = {"secure": SecureNoise, "seeded": lambda: SeededNoise(7)}
COUNTING = ["discrete_gaussian", "discrete_laplace"]
WRONG_SCALES = [float("nan"), float("inf"), -1.0, -5e-324, True, "1", None, 1j]


@pytest.fixture(params=SOURCES)
def noise(request) -> NoiseSource:
    return SOURCES[request.param]()


@pytest.mark.parametrize("kind", COUNTING)
class TestCounting:
    def test_keeps_shape_and_type(self, noise, kind):
        for shape in [(), (0,), (5,), (3, 4), (2, 0, 3), (2, 3, 4)]:
            noisy = getattr(noise, kind)(np.zeros(shape, dtype=np.int64), 2.0)
            assert noisy.shape == shape, shape
            assert noisy.dtype == np.int64, shape

    def test_leaves_its_argument_alone(self, noise, kind):
        counts = np.arange(50)
        for scale in (0.0, 3.0):
            noisy = getattr(noise, kind)(counts, scale)
            assert not np.shares_memory(noisy, counts)
            assert (counts == np.arange(50)).all()

    def test_of_scale_zero_is_exact(self, noise, kind):
        counts = np.array([[1, -2], [2**62, 0]])
        assert (getattr(noise, kind)(counts, 0) == counts).all()

    def test_of_a_scale_near_zero_is_exact_and_does_not_hang(self, noise, kind):
        for scale in (5e-324, 1e-200, 1e-9):
            assert (getattr(noise, kind)(np.arange(4), scale) == np.arange(4)).all()

    def test_adds_to_each_cell_its_own_count(self, noise, kind):
        # Noise of scale 1 exceeds 500 with probability below 1e-200.
        counts = np.arange(12).reshape(3, 4) * 1000
        assert np.abs(getattr(noise, kind)(counts.T, 1.0) - counts.T).max() < 500

    def test_at_the_ends_of_int64_stays_there_and_never_wraps(self, noise, kind):
        ends = np.iinfo(np.int64)
        high = getattr(noise, kind)(np.full(1000, ends.max), 1e6)
        low = getattr(noise, kind)(np.full(1000, ends.min), 1e6)
        assert (high > 2**62).all()
        assert (low < -(2**62)).all()
        assert (high == ends.max).any()
        assert (low == ends.min).any()

    def test_refuses_a_scale_that_is_no_finite_number_of_at_least_zero(self, noise, kind):
        for scale in WRONG_SCALES:
            with pytest.raises(ArgumentError, match=r"sigma|scale"):
                getattr(noise, kind)(np.zeros(2, dtype=np.int64), scale)

    def test_refuses_a_scale_that_float64_would_draw_coarsely(self, noise, kind):
        getattr(noise, kind)(np.zeros(2, dtype=np.int64), LARGEST_SCALE)
        with pytest.raises(ArgumentError, match="hide any table"):
            getattr(noise, kind)(np.zeros(2, dtype=np.int64), 2 * LARGEST_SCALE)

    def test_refuses_counts_of_another_type_and_shows_none(self, noise, kind):
        for dtype in [np.float64, np.int32, np.uint64, bool, object]:
            counts = np.array([1]).astype(dtype)
            with pytest.raises(ArgumentError, match="int64"):
                getattr(noise, kind)(counts, 1.0)
            with pytest.raises(ArgumentError, match="int64"):
                getattr(noise, kind)([123456], 1.0)


class TestNoisyMax:
    def test_of_scale_zero_is_the_first_of_the_largest(self, noise):
        assert noise.noisy_max(np.array([1.0, 3.0, 3.0, 2.0]), 0) == 1

    def test_of_one_candidate_is_that_one(self, noise):
        assert noise.noisy_max(np.array([-1e6]), 3.0) == 0

    def test_returns_an_ordinary_int(self, noise):
        assert type(noise.noisy_max(np.zeros(3), 1.0)) is int

    def test_of_scores_far_apart_takes_the_larger(self, noise):
        # The smaller has probability exp(-2e6) or less.
        for largest in [1e6, 1e300, np.finfo(float).max]:
            assert noise.noisy_max(np.array([-largest, largest]), 1.0) == 1, largest
            assert noise.noisy_max(np.array([largest, -largest]), 5e-324) == 0, largest

    def test_refuses_a_scale_that_is_no_finite_number_of_at_least_zero(self, noise):
        for scale in WRONG_SCALES:
            with pytest.raises(ArgumentError, match="scale"):
                noise.noisy_max(np.zeros(2), scale)

    def test_refuses_scores_that_are_not_finite_floats_on_one_axis(self, noise):
        for scores in [
            np.array([]),
            np.zeros((2, 2)),
            np.array([1, 2]),
            [1.0, 2.0],
            np.array([0.0, np.nan]),
            np.array([np.inf, 0]),
        ]:
            with pytest.raises(ArgumentError, match="scores"):
                noise.noisy_max(scores, 1.0)


class TestSeededNoise:
    def test_says_that_it_is_not_private(self):
        assert SeededNoise(1).is_private is False
        assert SeededNoise(1).name == "seeded noise (not private)"

    def test_repeats_itself_from_the_same_seed(self):
        def draws(seed: int) -> list[int]:
            noise = SeededNoise(seed)
            zeros = np.zeros(100, dtype=np.int64)
            counts = [*noise.discrete_gaussian(zeros, 5.5), *noise.discrete_laplace(zeros, 5.5)]
            return [*counts, *(noise.noisy_max(np.zeros(1000), 1.0) for _ in range(20))]

        assert draws(3) == draws(3)
        assert draws(3) != draws(4)

    def test_does_not_show_its_seed(self):
        assert "123456" not in repr(SeededNoise(123456))

    def test_refuses_a_seed_that_is_no_integer_of_at_least_zero(self):
        for seed in [-1, 1.0, True, None]:
            with pytest.raises(ArgumentError, match="seed"):
                SeededNoise(seed)


def _secure_draws(queue) -> None:
    queue.put(SecureNoise().discrete_gaussian(np.zeros(500, dtype=np.int64), 1e12).tolist())


class TestSecureNoise:
    def test_says_that_it_is_private(self):
        assert SecureNoise().is_private is True
        assert isinstance(SecureNoise(), NoiseSource)

    def test_differs_from_call_to_call(self):
        # Equal with probability below 1e-1000.
        zeros = np.zeros(100, dtype=np.int64)
        noise = SecureNoise()
        assert (noise.discrete_gaussian(zeros, 1e9) != noise.discrete_gaussian(zeros, 1e9)).any()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_of_forked_processes_shares_no_draw(self):
        # Of 3 x 500 draws at sigma 1e12 some two are equal with probability 1500^2 / 2 / (2 sigma sqrt(pi)),
        # 3e-7.
        first = SecureNoise().discrete_gaussian(np.zeros(10, dtype=np.int64), 1e12)
        context = get_context("fork")
        queue = context.Queue()
        children = [context.Process(target=_secure_draws, args=(queue,)) for _ in range(2)]
        for child in children:
            child.start()
        drawn = [*first.tolist(), *queue.get(timeout=600), *queue.get(timeout=600)]
        drawn += SecureNoise().discrete_gaussian(np.zeros(490, dtype=np.int64), 1e12).tolist()
        for child in children:
            child.join()
        assert len(set(drawn)) == len(drawn) == 1500

    def test_can_travel_to_another_process(self):
        assert isinstance(pickle.loads(pickle.dumps(SecureNoise())), SecureNoise)

    def test_shows_no_statistic_when_opendp_fails(self, monkeypatch):
        def fail(statistic):
            raise RuntimeError(f"cannot draw on {statistic}")

        monkeypatch.setattr("syntabula.privacy.exact_samplers._gaussian_measurement", lambda sigma: fail)
        with pytest.raises(ArgumentError) as caught:
            SecureNoise().discrete_gaussian(np.array([987654321]), 1.0)
        assert "987654321" not in str(caught.value)
        assert caught.value.__suppress_context__

    def test_draws_long_arrays_in_parts(self, monkeypatch):
        monkeypatch.setattr("syntabula.privacy.exact_samplers._CELLS_PER_CALL", 7)
        counts = np.arange(30).reshape(5, 6) * 1000
        noisy = SecureNoise().discrete_laplace(counts, 1.0)
        assert np.abs(noisy - counts).max() < 500
        assert (noisy != counts).any()

    def test_opendp_is_not_loaded_before_a_draw(self):
        program = "import sys, syntabula.privacy.noise as n; n.SecureNoise(); print('opendp' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "False"

    @pytest.mark.thorough
    def test_a_draw_loads_no_library_that_it_does_not_need(self):
        program = (
            "import sys, numpy as np, syntabula.privacy.noise as n; "
            "n.SecureNoise().discrete_gaussian(np.zeros(1, dtype=np.int64), 1.0); "
            "print({'sklearn', 'polars', 'pandas', 'scipy', 'torch'} & set(sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "set()"
