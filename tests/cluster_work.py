"""Units of work that workers of a cluster import by this name."""

import os
import signal
import time


class Square:
    """A unit of work that takes a moment."""

    def __call__(self, first: int, last: int) -> list[int]:
        time.sleep(0.02)
        return [number**2 for number in range(first, last)]


class Deadly:
    """A unit of work that ends its process."""

    def __call__(self, first: int, last: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
