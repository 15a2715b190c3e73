"""A calibration comes to the ratio of what a provider reports, and says how sure it is."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import turnfold
from turnfold.model.counts import TokenCount


def estimated(n: int) -> TokenCount:
    return TokenCount(n, n // 3, n * 4, "estimate")


@given(st.floats(0.5, 2.0), st.floats(0.0, 0.3), st.integers(0, 2**32))
def test_it_converges(ratio: float, noise: float, seed: int) -> None:
    chance = random.Random(seed)
    calibration = turnfold.Calibration()
    for _ in range(100):
        usage = round(10_000 * ratio * chance.uniform(1 - noise, 1 + noise))
        calibration = calibration.observe(estimated(10_000), usage)
    # The median of 100 uniform shares of +-noise deviates by noise / 10; four times that, and rounding.
    assert abs(calibration.factor / ratio - 1) <= 4 * noise / 10 + 1e-3
    assert calibration.deviation <= 2 * noise / 3**0.5 + 1e-3


@settings(max_examples=40)
@given(st.floats(0.6, 1.6), st.integers(0, 2**32))
def test_most_reports_lie_in_the_interval(ratio: float, seed: int) -> None:
    chance = random.Random(seed)
    held = 0
    for _ in range(8):
        calibration = turnfold.Calibration()
        for index in range(200):
            count = estimated(chance.randint(500, 50_000))
            usage = round(count.n * ratio * chance.gauss(1, 0.05))
            found = calibration.apply(count)
            held += index >= 50 and found.lo <= usage <= found.hi
            calibration = calibration.observe(count, usage)
    # 99.5 % are, give or take 0.24 % for so many.
    assert held >= 0.98 * 8 * 150


@given(st.floats(0.6, 1.6), st.floats(2, 50), st.booleans(), st.integers(0, 2**32))
def test_reports_that_are_far_off_move_it_no_more_than_others(ratio: float, off: float, more: bool, seed: int) -> None:
    chance = random.Random(seed)
    calibration = turnfold.Calibration()
    for _ in range(300):
        far = 1.0 if chance.random() > 0.2 else off if more else 1 / off
        usage = round(10_000 * ratio * chance.uniform(0.98, 1.02) * far)
        calibration = calibration.observe(estimated(10_000), usage)
    # One in five is far off: the median of all is another quantile of the rest, and no more.
    assert abs(calibration.factor / ratio - 1) <= 0.02 + 1e-3
    assert calibration.deviation <= 0.05


def test_the_interval_holds_most_reports_however_far_off() -> None:
    calibration = turnfold.Calibration()
    for index in range(100):
        calibration = calibration.observe(estimated(1_000), 1_000 if index % 10 else 3_000)
    found = calibration.apply(estimated(1_000))
    assert (calibration.factor, calibration.deviation) == (1, 0)
    assert found.n == 1_000
    assert found.hi >= 3_000


def test_a_change_of_ratio_is_followed() -> None:
    calibration = turnfold.Calibration()
    for _ in range(1_000):
        calibration = calibration.observe(estimated(1_000), 1_000)
    for _ in range(51):
        calibration = calibration.observe(estimated(1_000), 1_350)
    assert calibration.factor == pytest.approx(1.35, rel=0.01)


def test_it_says_nothing_before_it_has_seen_two() -> None:
    count = estimated(1_000)
    calibration = turnfold.Calibration()
    assert calibration.apply(count) is count
    assert calibration.observe(count, 0) is calibration
    assert calibration.observe(TokenCount(0, 0, 1, "estimate"), 5) is calibration
    assert calibration.observe(count, 1_200).apply(count) is count
    with pytest.raises(turnfold.TurnfoldError):
        calibration.observe(count, -1)


def test_it_is_plain_data() -> None:
    calibration = turnfold.Calibration().observe(estimated(1_000), 1_200).observe(estimated(500), 610)
    packed = msgspec.json.encode(calibration)
    assert msgspec.json.decode(packed, type=turnfold.Calibration) == calibration
    found = calibration.apply(estimated(2_000))
    assert found.source == "estimate"
    assert found.lo <= found.n <= found.hi


def test_exact_counts_stay_near_themselves() -> None:
    calibration = turnfold.Calibration()
    exact = TokenCount(1_000, 1_000, 1_000, "exact")
    for _ in range(10):
        calibration = calibration.observe(exact, 1_000)
    assert calibration.apply(exact) == TokenCount(1_000, 999, 1_001, "estimate")


@pytest.mark.parametrize("usage", [-1, 1 << 64, 10**400, float("nan"), float("inf"), 5.0, None, "5"])
def test_what_is_no_number_of_tokens_is_refused(usage: Any) -> None:
    with pytest.raises(turnfold.TurnfoldError):
        turnfold.Calibration().observe(estimated(1_000), usage)
