"""Pages in parallel, each on one thread.

A page is hundreds of small operations. Threads inside one of them wait for each other longer than they work, and on a
busy machine that wait grows a hundredfold; a thread per page has nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Page = TypeVar("Page")
Result = TypeVar("Result")


def each(work: Callable[[Page], Result], pages: Sequence[Page]) -> list[Result]:
    """Results of `work` on every page, in order, on as many threads as torch may use."""
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            return list(pool.map(work, pages))
    finally:
        torch.set_num_threads(threads)  # some of torch's libraries keep one setting for all threads
