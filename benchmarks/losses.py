"""How long a training step takes in each loss, on the CPU and, if there is one, on a GPU.

``python -m benchmarks.losses`` prints a Markdown table: milliseconds of forward and backward for a batch, for PyTorch's
own cross-entropy and each loss of :mod:`plurivox.torch`, and how far values and gradients on the GPU are from those on
the CPU. The last row is E[EMD] by 1,000 draws from the Dirichlet distribution, for comparison.
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import plurivox.torch as losses

NAMES = (
    "cross_entropy", "kl", "js", "emd", "rps",
    "expected_cross_entropy", "expected_kl", "expected_js", "expected_emd", "expected_rps",
)  # fmt: skip
BATCHES = (64, 4_096, 65_536)
N_POINTS = 5
REPEATS, SECONDS = 25, 2.0
SAMPLED_UP_TO = 4_096
"""A thousand draws of more items do not fit into the memory of many machines."""

Loss = Callable[[Any, Any], Any]


def main() -> None:
    """Measure and print."""
    devices = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
    for device in devices:
        print(f"{device}: {name_of(device)}")
    print(f"PyTorch {torch.__version__}, {N_POINTS} points, forward and backward, median of up to {REPEATS} turns\n")
    for dtype in (torch.float32, torch.float64):
        print(f"{str(dtype).removeprefix('torch.')}, milliseconds a batch\n")
        print("| loss | " + " | ".join(f"{device}, {size:,}" for device in devices for size in BATCHES) + " |")
        print("|---" * (1 + len(devices) * len(BATCHES)) + "|")
        for name, loss in all_losses().items():
            cells = [cell(name, loss, size, device, dtype) for device in devices for size in BATCHES]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
        print()
    if "cuda" in devices:
        compare()


def all_losses() -> dict[str, Loss]:
    """Return losses of counts and logits by name."""
    own = {name: _from_logits(getattr(losses, name)) for name in NAMES}
    return {"torch cross_entropy": _torch_cross_entropy, **own, "E[EMD], 1,000 draws": sampled_emd}


def _from_logits(loss: Callable[..., Any]) -> Loss:
    return lambda counts, logits: loss(counts, logits, from_logits=True)


def _torch_cross_entropy(counts: Any, logits: Any) -> Any:
    shares = counts / counts.sum(-1, keepdim=True)
    return torch.nn.functional.cross_entropy(logits, shares.to(logits.dtype))


def sampled_emd(counts: Any, logits: Any) -> Any:
    """Return E[EMD] by sampling."""
    p = torch.distributions.Dirichlet(counts.to(logits.dtype) + 1).sample((1000,))
    return (p.cumsum(-1) - logits.softmax(-1).cumsum(-1)).abs().sum(-1).mean() / (N_POINTS - 1)


def batch(size: int, device: str, dtype: torch.dtype) -> tuple[Any, Any]:
    """Return counts of 1 to 40 ratings and logits, the same on every device."""
    generator = torch.Generator().manual_seed(0)
    counts = torch.randint(0, 9, (size, N_POINTS), generator=generator)
    counts[:, 0] += 1
    logits = torch.randn(size, N_POINTS, generator=generator, dtype=torch.float64)
    return counts.to(device), logits.to(device, dtype).requires_grad_()


def cell(name: str, loss: Loss, size: int, device: str, dtype: torch.dtype) -> str:
    """Return the milliseconds of one step."""
    if "draws" in name and size > SAMPLED_UP_TO:
        return "–"
    counts, logits = batch(size, device, dtype)
    times = []
    for turn in range(REPEATS + 3):
        started = time.perf_counter()
        torch.autograd.grad(loss(counts, logits), logits)
        if device == "cuda":
            torch.cuda.synchronize()
        if turn >= 3:
            times.append(time.perf_counter() - started)
        if sum(times) > SECONDS:
            break
    return f"{statistics.median(times) * 1000:.2f}"


def compare() -> None:
    """Print how far the GPU is from the CPU in float64."""
    print("Largest difference of GPU (by its type) from CPU in float64\n")
    print("| loss | float32 value | float32 gradient | float64 value | float64 gradient |")
    print("|---|---|---|---|---|")
    for name in NAMES:
        cells = []
        for dtype in (torch.float32, torch.float64):
            counts, logits = batch(20_000, "cpu", dtype)
            logits = logits.detach()
            right, slope = _each(name, counts, logits.double())
            found, tilt = _each(name, counts.cuda(), logits.cuda())
            cells += [
                f"{float((found.cpu() - right).abs().max()):.1e}",
                f"{float((tilt.cpu() - slope).abs().max()):.1e}",
            ]
        print(f"| {name} | " + " | ".join(cells) + " |")


def _each(name: str, counts: Any, logits: Any) -> tuple[Any, Any]:
    leaf = logits.clone().requires_grad_()
    values = getattr(losses, name)(counts, leaf, from_logits=True, reduction="none")
    (gradient,) = torch.autograd.grad(values.sum(), leaf)
    return values.detach().double(), gradient.double()


def name_of(device: str) -> str:
    """Return what the device is."""
    if device == "cuda":
        return str(torch.cuda.get_device_name())
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            model = next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return f"{model}, {torch.get_num_threads()} threads"


if __name__ == "__main__":
    main()
