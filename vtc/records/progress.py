"""Progress bars: on standard error, only on a terminal, only for work that takes over two seconds."""

from __future__ import annotations

from typing import Any

DELAY_SECONDS = 2


def bar(items: Any = None, enabled: bool = True, **options: Any) -> Any:
    """`items` with a bar around them (a tqdm to update by hand if None); as they are unless `enabled`.

    Args:
        options: for tqdm, such as total, unit, desc.
    """
    if not enabled:
        return items
    from tqdm import tqdm  # not needed by most commands

    return tqdm(items, disable=None, delay=DELAY_SECONDS, leave=False, **options)
