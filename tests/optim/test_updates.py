"""Updates against their rules written out number by number, and by what they must reach (S11.3, S17)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rampion.optim.updates import AdaGrad, Mira, Rprop, Sgd

seeds = st.integers(0, 2**32)


def path(update, gradients, start):
    """The weights after every step."""
    weights, state = start.copy(), update.start(len(start))
    steps = []
    for gradient in gradients:
        update.step(weights, gradient, 1.0, state)
        steps.append(weights.copy())
    return np.array(steps)


def walk(seed, steps=12, size=5):
    """Gradients with zeros and many changes of sign."""
    random = np.random.default_rng(seed)
    gradients = random.normal(size=(steps, size)) * (random.random((steps, size)) < 0.8)
    return gradients, random.normal(size=size)


@given(seeds)
def test_adagrad_is_its_rule(seed):
    gradients, start = walk(seed)
    found = path(AdaGrad(0.3), gradients, start)
    for j, theta in enumerate(start):
        square = 0.0
        for t, g in enumerate(gradients[:, j]):
            square += g * g
            theta -= 0.3 * g / (square + 1e-8) ** 0.5
            assert found[t, j] == pytest.approx(theta, rel=1e-12)


@given(seeds, st.sampled_from([0.01, 0.1, 1.0]))
def test_fobos_lands_where_the_proximal_problem_is_least(seed, l1):
    gradients, start = walk(seed, steps=1)
    plain, shrunk = (path(AdaGrad(0.3, penalty), gradients, start)[0] for penalty in (0.0, l1))
    rates = 0.3 / np.sqrt(gradients[0] ** 2 + 1e-8)

    def penalised(at):
        return (at - plain) ** 2 / (2 * rates) + l1 * np.abs(at)

    for other in [*np.linspace(-3, 3, 121), plain]:
        assert (penalised(shrunk) <= penalised(other) + 1e-12).all()


def test_a_strong_l1_leaves_only_zeros():
    gradients, start = walk(0)
    assert not path(AdaGrad(0.3, l1=1e6), gradients, start).any()


def rprop_by_the_book(gradients, theta, first, least, most):
    """S11.3 for one parameter of a function to be minimised."""
    size, before, previous, found = first, theta, 0.0, []
    for g in gradients:
        if previous * g > 0:
            size = min(size * 1.2, most)
            before, theta, previous = theta, theta - np.sign(g) * size, g
        elif previous * g < 0:
            size = max(size * 0.5, least)
            theta, previous = before, 0.0
        else:
            before, theta, previous = theta, theta - np.sign(g) * size, g
        found.append(theta)
    return found


@given(seeds)
def test_rprop_is_its_rule(seed):
    gradients, start = walk(seed, steps=30)
    update = Rprop(first=0.3, least=0.01, most=0.5)
    found = path(update, gradients, start)
    for j, theta in enumerate(start):
        np.testing.assert_array_equal(found[:, j], rprop_by_the_book(gradients[:, j], theta, 0.3, 0.01, 0.5))


def slope(x):
    """Of (x - 1)^2, whose negative is to be maximised."""
    return 2 * (x - 1)


def test_rprop_converges_on_a_parabola():
    update, x = Rprop(first=0.3), np.zeros(1)
    state = update.start(1)
    for _ in range(60):
        update.step(x, slope(x), 0.0, state)
    assert x[0] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("update", [Sgd(0.1), Mira(0.1), AdaGrad(0.1), AdaGrad(0.1, l1=0.1), Rprop()])
def test_an_update_keeps_its_state_apart(update):
    one, other = walk(1), walk(2)
    alone = path(update, *one)
    weights = [one[1].copy(), other[1].copy()]
    states = [update.start(len(part)) for part in weights]
    for gradients in zip(one[0], other[0], strict=True):
        for at, gradient, state in zip(weights, gradients, states, strict=True):
            update.step(at, gradient, 1.0, state)
    np.testing.assert_array_equal(weights[0], alone[-1])


@pytest.mark.parametrize("update", [Sgd(0.01), AdaGrad(0.5), Rprop()])
def test_updates_descend_a_bowl(update):
    """Curvatures of 1 and 30; no step is larger than the sign, the root or the rate allows."""
    curvature, x = np.array([1.0, 30.0]), np.array([1.0, -0.2])
    first, state = (curvature * x * x).sum(), update.start(2)
    for _ in range(200):
        update.step(x, 2 * curvature * x, 0.0, state)
    assert (curvature * x * x).sum() < 0.01 * first
