"""Losses in PyTorch, against the functions of NumPy, finite differences and what minimises them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.special import betainc, betaincinv

from plurivox import statistics
from plurivox.base.errors import InputError

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'plurivox[torch]'")

import plurivox.torch as losses  # noqa: E402

EMPIRICAL = ("cross_entropy", "kl", "js", "emd", "rps")
EXPECTED = tuple(f"expected_{name}" for name in EMPIRICAL)
ALL = EMPIRICAL + EXPECTED


def loss_of(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(losses, name)
    return function


def data(n_points: int, highest: int, spread: float = 1.0, n_items: int = 60) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return counts and predictions, some of which are as good as certain."""
    random = np.random.default_rng([n_points, highest])
    counts = random.integers(0, highest + 1, (n_items, n_points))
    counts[:, 0] += 1
    q = np.maximum(random.dirichlet(np.full(n_points, spread), n_items), 1e-12)
    return counts, q / q.sum(axis=1, keepdims=True)


# Values --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n_points", [2, 5, 11, 100])
def test_values_against_numpy(name: str, n_points: int) -> None:
    compare(name, n_points, "cpu")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_values_on_a_gpu_against_numpy() -> None:
    for name in ALL:
        for n_points in (2, 5, 11):
            compare(name, n_points, "cuda")


def compare(name: str, n_points: int, device: str) -> None:
    for highest in (1, 4, 500, 10**6):
        for spread in (1.0, 0.05):
            counts, q = data(n_points, highest, spread, n_items=60 if n_points < 100 else 12)
            priors = (1.0, 0.01, np.linspace(0.2, 3, n_points)) if name in EXPECTED else (None,)
            for prior in priors:
                more = () if prior is None else (prior,)
                right = getattr(statistics, name)(counts, q, *more)
                for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-6)):
                    found = loss_of(name)(counts, torch.tensor(q, dtype=dtype, device=device), *more, reduction="none")
                    assert found.dtype == dtype
                    assert found.device.type == device
                    np.testing.assert_allclose(found.cpu().numpy(), right, rtol=tolerance, atol=tolerance)


def test_worked_examples() -> None:
    ratings, q = [1, 2, 4, 2, 1], torch.tensor([0.1, 0.2, 0.4, 0.2, 0.1], dtype=torch.float64)
    found = [loss_of(name)(ratings, q).item() for name in ("expected_cross_entropy", "expected_kl", "expected_emd")]
    np.testing.assert_allclose(found, [1.563228, 0.139444, 0.082276], atol=5e-7)
    far = torch.tensor([0, 0.2, 0, 0, 0.8], dtype=torch.float64)
    assert losses.emd([0, 8, 0, 0, 2], far).item() == pytest.approx(0.45)
    assert losses.kl([0, 8, 0, 0, 2], far).item() == pytest.approx(0.6 * np.log(4))


def test_unequal_steps_against_numpy() -> None:
    counts, q = data(4, 5)
    values = [0, 1, 5, 6.5]
    for name in ("emd", "expected_emd"):
        for normalized in (True, False):
            right = getattr(statistics, name)(counts, q, normalized=normalized, values=values)
            x = torch.tensor(q)
            found = loss_of(name)(counts, x, normalized=normalized, values=values, reduction="none").numpy()
            np.testing.assert_allclose(found, right, rtol=1e-12)
    unnormalised = losses.expected_rps(counts, torch.tensor(q), normalized=False, reduction="none").numpy()
    np.testing.assert_allclose(unnormalised, statistics.expected_rps(counts, q, normalized=False), rtol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_leading_dimensions_broadcast(name: str) -> None:
    counts, q = data(5, 4)
    each = loss_of(name)(torch.tensor(counts[:6, None]), torch.tensor(q[:4]), reduction="none")
    assert each.shape == (6, 4)
    one_by_one = [[loss_of(name)(counts[i], torch.tensor(q[j])).item() for j in range(4)] for i in range(6)]
    np.testing.assert_allclose(each.numpy(), one_by_one, rtol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_reduction(name: str) -> None:
    counts, q = data(3, 4)
    each = loss_of(name)(counts, torch.tensor(q), reduction="none")
    assert loss_of(name)(counts, torch.tensor(q)).item() == pytest.approx(each.mean().item(), rel=1e-14)
    assert loss_of(name)(counts, torch.tensor(q), reduction="sum").item() == pytest.approx(each.sum().item(), rel=1e-14)


@pytest.mark.parametrize("name", ["expected_emd", "expected_js"])
def test_more_items_than_a_block(name: str) -> None:
    counts, q = data(5, 4, n_items=2100)
    whole = loss_of(name)(np.tile(counts, (3, 1)), torch.tensor(q).repeat(3, 1), reduction="none")
    part = loss_of(name)(counts, torch.tensor(q), reduction="none")
    np.testing.assert_allclose(whole.numpy(), part.repeat(3).numpy(), rtol=1e-13)


@pytest.mark.parametrize("name", ALL)
def test_logits_are_the_softmax(name: str) -> None:
    counts, q = data(5, 4)
    logits = torch.tensor(np.log(q) + 3.0)
    found, expected = (
        loss_of(name)(counts, x, from_logits=own, reduction="none").numpy()
        for x, own in ((logits, True), (torch.tensor(q), False))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_more(dtype: Any) -> None:
    counts, q = data(5, 4, n_items=8)
    logits = torch.tensor(np.log(q)).to(dtype).requires_grad_()
    for name in ALL:
        found = loss_of(name)(counts, logits, from_logits=True)
        assert found.dtype == torch.float32
        right = loss_of(name)(counts, logits.detach().double(), from_logits=True)
        assert found.item() == pytest.approx(right.item(), rel=1e-6)
        (gradient,) = torch.autograd.grad(found, logits)
        assert gradient.dtype == dtype


# Gradients -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("from_logits", [False, True], ids=["probabilities", "logits"])
@pytest.mark.parametrize("name", ALL)
def test_gradients_against_finite_differences(name: str, from_logits: bool) -> None:
    for n_points, highest in ((2, 3), (5, 1), (5, 300)):
        counts, q = data(n_points, highest, n_items=4)
        q = (q + 0.05) / (q + 0.05).sum(axis=1, keepdims=True)
        x = torch.tensor(np.log(q) if from_logits else q, requires_grad=True)

        def loss(x: Any, counts: Any = counts) -> Any:
            return loss_of(name)(counts, x, from_logits=from_logits, reduction="none")

        assert torch.autograd.gradcheck(loss, (x,))
        assert torch.autograd.gradgradcheck(loss, (x,))


@pytest.mark.parametrize("name", ALL)
def test_gradients_in_float32_against_float64(name: str) -> None:
    counts, q = data(5, 40)
    found = []
    for dtype in (torch.float32, torch.float64):
        logits = torch.tensor(np.log(q), dtype=torch.float32).to(dtype).requires_grad_()
        loss_of(name)(counts, logits, from_logits=True, reduction="sum").backward()
        found.append(logits.grad.double().numpy())
    np.testing.assert_allclose(found[0], found[1], atol=2e-6)


def test_gradient_of_expected_emd_against_theory() -> None:
    # ∂E[EMD]/∂q_j = Σ_{k ≥ j} (2·I_F(k)(A, B) − 1)/K
    counts, q = data(6, 20)
    prior = 0.3
    x = torch.tensor(q, requires_grad=True)
    losses.expected_emd(counts, x, prior, reduction="sum").backward()
    below = np.cumsum(counts + prior, axis=1)
    slopes = 2 * betainc(below[:, :-1], below[:, -1:] - below[:, :-1], np.cumsum(q, axis=1)[:, :-1].clip(0, 1)) - 1
    right = np.cumsum(slopes[:, ::-1], axis=1)[:, ::-1] / 5
    np.testing.assert_allclose(x.grad[:, :-1].numpy(), right, atol=1e-12)
    assert not x.grad[:, -1].any()


def test_gradient_of_expected_js_against_the_numpy_function() -> None:
    counts, q = data(4, 6, n_items=20)
    q = (q + 1e-3) / (q + 1e-3).sum(axis=1, keepdims=True)
    x = torch.tensor(q, requires_grad=True)
    losses.expected_js(counts, x, reduction="sum").backward()
    step = np.array([1e-5, 0, 0, -1e-5])  # along the simplex, where the function of NumPy is defined
    numeric = (statistics.expected_js(counts, q + step) - statistics.expected_js(counts, q - step)) / 2e-5
    np.testing.assert_allclose((x.grad[:, 0] - x.grad[:, 3]).numpy(), numeric, rtol=1e-5)


def test_third_derivatives_are_refused() -> None:
    c = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    first = torch.autograd.grad(losses.expected_emd([2, 1], c), c, create_graph=True)[0].sum()
    second = torch.autograd.grad(first, c, create_graph=True)[0].sum()
    with pytest.raises(NotImplementedError, match="third"):
        torch.autograd.grad(second, c)


def test_functional_transforms() -> None:
    counts, q = data(5, 4, n_items=7)
    logits = torch.tensor(np.log(q))
    for name in ALL:

        def loss(one: Any, of: Any, name: str = name) -> Any:
            return loss_of(name)(of, one, from_logits=True, validate=False)

        each = torch.func.vmap(torch.func.grad(loss))(logits, torch.tensor(counts))
        again = logits.clone().requires_grad_()
        loss_of(name)(counts, again, from_logits=True, reduction="sum").backward()
        np.testing.assert_allclose(each.numpy(), again.grad.numpy(), atol=1e-12)


# What minimises them -------------------------------------------------------------------------------------------------
def minimised(name: str, counts: NDArray[Any], **more: Any) -> NDArray[Any]:
    logits = torch.zeros(counts.shape, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([logits], max_iter=500, line_search_fn="strong_wolfe", tolerance_grad=1e-12,
                                  tolerance_change=1e-16)  # fmt: skip

    def step() -> Any:
        optimiser.zero_grad()
        loss = loss_of(name)(counts, logits, from_logits=True, reduction="sum", **more)
        loss.backward()
        return loss

    optimiser.step(step)
    found: NDArray[Any] = logits.softmax(-1).detach().numpy()
    return found


@pytest.mark.parametrize("name", ["expected_cross_entropy", "expected_kl", "expected_rps"])
def test_the_posterior_mean_is_best(name: str) -> None:
    counts = np.array([[3, 0, 1, 0], [0, 0, 0, 0], [10, 30, 5, 5]])
    np.testing.assert_allclose(minimised(name, counts, prior=0.5), statistics.posterior_mean(counts, 0.5), atol=1e-6)


def test_the_medians_are_best_for_expected_emd() -> None:
    counts = np.array([[3, 0, 1, 2], [1, 1, 1, 1], [10, 30, 5, 5]])
    below = np.cumsum(counts + 1, axis=1)
    medians = betaincinv(below[:, :-1], below[:, -1:] - below[:, :-1], 0.5)
    np.testing.assert_allclose(np.cumsum(minimised("expected_emd", counts), axis=1)[:, :-1], medians, atol=1e-6)


@pytest.mark.parametrize("name", ["cross_entropy", "kl", "js", "rps"])
def test_the_shares_are_best(name: str) -> None:
    counts = np.array([[3, 1, 1, 2], [10, 30, 5, 5]])
    np.testing.assert_allclose(minimised(name, counts), counts / counts.sum(axis=1, keepdims=True), atol=1e-4)


# Edges ---------------------------------------------------------------------------------------------------------------
def test_items_without_ratings() -> None:
    q = torch.tensor([[0.2, 0.8], [0.5, 0.5]])
    for name in EMPIRICAL:
        found = loss_of(name)([[0, 0], [1, 1]], q, reduction="none")
        assert found.isnan().tolist() == [True, False]
    for name in EXPECTED:
        assert loss_of(name)([[0, 0], [1, 1]], q, reduction="none").isfinite().all()


def test_probability_zero() -> None:
    q = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    assert losses.cross_entropy([[0, 2, 0]], q).item() == np.inf
    assert losses.expected_kl([[2, 0, 0]], q).item() == np.inf
    assert losses.cross_entropy([[2, 0, 0]], q).item() == 0
    for name in ("cross_entropy", "kl", "js", "emd", "rps", "expected_js", "expected_emd", "expected_rps"):
        (gradient,) = torch.autograd.grad(loss_of(name)([[2, 0, 0]], q), q)
        assert gradient.isfinite().all(), name
    floored = losses.cross_entropy([[0, 2, 0]], q, floor=1e-3).item()
    assert floored == pytest.approx(statistics.cross_entropy([0, 2, 0], [1, 0, 0], floor=1e-3))


@pytest.mark.parametrize("name", ALL)
def test_extreme_logits_stay_finite(name: str) -> None:
    logits = torch.tensor([[0.0, -5000.0, 3000.0]], requires_grad=True)
    found = loss_of(name)([[1, 2, 0]], logits, from_logits=True)
    found.backward()
    assert found.isfinite()
    assert logits.grad.isfinite().all()


def test_no_items() -> None:
    for name in ALL:
        assert loss_of(name)(torch.zeros(0, 5), torch.zeros(0, 5), reduction="none").shape == (0,)


def test_the_caller_s_tensors_are_left_alone() -> None:
    counts, q = torch.tensor([[1, 2, 0]]), torch.tensor([[0.2, 0.3, 0.5]], requires_grad=True)
    for name in ALL:
        loss_of(name)(counts, q)
    assert counts.tolist() == [[1, 2, 0]]
    assert q.tolist() == torch.tensor([[0.2, 0.3, 0.5]]).tolist()


@pytest.mark.parametrize(("counts", "q", "more", "message"), [
    ([[1, 2]], [[0.2, 0.3, 0.5]], {}, "counts have 2 points, but q has 3"),
    ([[1, 2]] * 3, [[0.5, 0.5]] * 2, {}, "do not match"), ([[1, 2]], [[2.0, -1.0]], {}, "from_logits=True"),
    ([[1, 2]], [[0.7, 0.7]], {}, "sums from 1.4 to 1.4"),
    ([[1, -2]], [[0.5, 0.5]], {}, "counts hold a number that is negative"),
    ([[1, np.nan]], [[0.5, 0.5]], {}, "not finite"), ([[3]], [[1.0]], {}, "at least two points"),
    ([[1, 2]], [[0.5, 0.5]], {"reduction": "average"}, "mean, sum, none"),
    ([[1, 2]], [[0.5, 0.5]], {"prior": 0}, "positive"),
    ([[1, 2]], [[0.5, 0.5]], {"prior": [1, 1, 1]}, "the scale has 2 points"),
])  # fmt: skip
def test_bad_input(counts: Any, q: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        losses.expected_emd(counts, torch.tensor(q), **more)


def test_lists_keep_all_their_digits() -> None:
    q = np.array([[0.3, 0.3, 0.4]])
    found = losses.cross_entropy([[0.1, 0.2, 0.7]], torch.tensor(q)).item()
    assert found == pytest.approx(float(statistics.cross_entropy([[0.1, 0.2, 0.7]], q)[0]), abs=1e-15)
    values = [0.0, 0.1, 0.7]
    found = losses.expected_emd([[1, 2, 3]], torch.tensor(q), values=values).item()
    assert found == pytest.approx(float(statistics.expected_emd([[1, 2, 3]], q, values=values)[0]), abs=1e-15)
    assert losses.kl(np.array([[1, 2, 0]])[:, ::-1], torch.tensor(q)).isfinite()


def test_logits_of_minus_infinity_where_nobody_rated() -> None:
    logits = torch.tensor([[0.0, 0.0, -torch.inf]], dtype=torch.float64, requires_grad=True)
    found = losses.kl([[3, 1, 0]], logits, from_logits=True)
    assert found.item() == pytest.approx(statistics.kl([3, 1, 0], [0.5, 0.5, 0]))
    (gradient,) = torch.autograd.grad(found, logits)
    assert gradient.isfinite().all()


def test_autocast_changes_nothing() -> None:
    counts = [[1, 0, 2, 5]]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        target = losses.smoothed_target(counts, 0.5)
    assert target.dtype == torch.float32
    assert torch.equal(target, losses.smoothed_target(counts, 0.5))


@pytest.mark.parametrize(("message", "call"), [
    ("counts hold", lambda q: losses.emd([["a", "b"]], q)),
    ("unequal length", lambda q: losses.emd([[1, 2], [1]], q)),
    ("instead of numbers", lambda q: losses.emd(None, q)),
    ("prior is inf", lambda q: losses.expected_kl([1, 2], q, prior=float("inf"))),
    ("prior hold", lambda q: losses.expected_kl([1, 2], q, prior="one")),
    ("rising", lambda q: losses.emd([1, 2], q, values=[0, float("inf")])),
    ("rising", lambda q: loss_of("emd")([1, 2], q, values=3)),
    ("rising", lambda q: losses.emd([1, 1], q, values=[2, 1])),
    ("floor", lambda q: loss_of("kl")([1, 2], q, floor="x")), ("floor", lambda q: losses.kl([1, 1], q, floor=2.0)),
    ("not distributions", lambda q: losses.kl([1, 2], torch.tensor([1.0005, -0.0005]))),
    ("negative", lambda q: losses.empirical_target([-1, 2])),
    ("sigma", lambda q: losses.smoothed_target([1, 2], 1e9)), ("sigma", lambda q: losses.smoothed_target([1, 2], -1)),
    ("tensor of floating-point", lambda q: losses.kl([1, 1], [0.5, 0.5])),
    ("int64 tensor", lambda q: losses.kl([1, 1], torch.tensor([1, 0]))),
    ("Detach", lambda q: losses.expected_emd(torch.tensor([1.0, 1.0], requires_grad=True), q)),
])  # fmt: skip
def test_more_bad_input(message: str, call: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match=message):
        call(torch.tensor([0.5, 0.5]))


def test_numbers_of_numpy() -> None:
    assert torch.equal(losses.smoothed_target([1, 2], np.float64(0.5)), losses.smoothed_target([1, 2], 0.5))
    assert losses.empirical_target(torch.tensor([60000, 60000], dtype=torch.float16)).tolist() == [0.5, 0.5]


# Targets -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sigma", [0.3, 0.5, 1.0, 2.5])
@pytest.mark.parametrize("n_points", [2, 5, 11])
def test_smoothed_target_against_scipy(n_points: int, sigma: float) -> None:
    counts, _ = data(n_points, 3)
    right = gaussian_filter1d(counts / counts.sum(axis=1, keepdims=True), sigma, axis=1, mode="nearest")
    right /= right.sum(axis=1, keepdims=True)
    found = losses.smoothed_target(counts, sigma, dtype=torch.float64).numpy()
    np.testing.assert_allclose(found, right, atol=1e-14)


def test_targets() -> None:
    counts, _ = data(5, 4)
    shares = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(losses.empirical_target(counts, dtype=torch.float64).numpy(), shares, rtol=1e-15)
    np.testing.assert_allclose(losses.smoothed_target(counts, 0, dtype=torch.float64).numpy(), shares, rtol=1e-15)
    posterior = losses.posterior_target(counts, 0.3, dtype=torch.float64).numpy()
    np.testing.assert_allclose(posterior, statistics.posterior_mean(counts, 0.3), rtol=1e-15)
    assert losses.posterior_target(counts).dtype == torch.float32
    assert losses.smoothed_target([0, 0], 0.5).isnan().all()


def test_training_towards_the_posterior_mean_minimises_expected_cross_entropy() -> None:
    counts, q = data(5, 4)
    logits = torch.tensor(np.log(q), requires_grad=True)
    (one,) = torch.autograd.grad(losses.expected_cross_entropy(counts, logits, 0.4, from_logits=True), logits)
    target = losses.posterior_target(counts, 0.4, dtype=torch.float64)
    (other,) = torch.autograd.grad(losses.cross_entropy(target, logits, from_logits=True), logits)
    np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-15)


def test_without_torch() -> None:
    script = "import sys; sys.modules['torch'] = None; import plurivox.torch"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'plurivox[torch]'" in done.stderr
