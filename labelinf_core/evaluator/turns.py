"""Which group of tasks a worker takes next: it stays with the defences and labels that it knows.

Whoever has laid an attack's plan, asked what theory says or trained a victim keeps it, so that the next trial of the
same game costs only its own time. A worker passes over what another knows while there is something else. What comes of
a task depends on none of this, and few are drawn ahead: what is settled meanwhile need not be done.

Example:
    >>> turns = Turns(source=iter([["a1"], ["b1", "b2"], ["a2"], ["b3"]]), key=lambda task: task[0])
    >>> turns.take(lambda key: True, known={"b"}, elsewhere={"a"}, size=3)
    ['b1', 'b2', 'b3']
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterator
from typing import Any, Generic, TypeVar

import attrs

__all__ = ["Turns"]

Task = TypeVar("Task")

_AHEAD = 64  # groups that wait at most


@attrs.define
class Turns(Generic[Task]):
    """Groups of tasks that were drawn and not yet given out; one is never divided.

    Attributes:
        source: Where they are drawn, as they are needed.
        key: What a worker knows once it has performed a task.
        alike: Whether tasks of two keys may be given out together.
        weight: What a task weighs.
    """

    source: Iterator[list[Task]]
    key: Callable[[Task], Any]
    alike: Callable[[Any, Any], bool] = lambda one, other: False
    weight: Callable[[Task], float] = lambda task: 1.0
    _waiting: dict[Any, deque[list[Task]]] = attrs.field(factory=dict, init=False)
    _count: int = attrs.field(default=0, init=False)

    def take(
        self, fits: Callable[[Any], bool], known: Collection[object], elsewhere: Collection[object], size: float
    ) -> list[Task]:
        """Give out the tasks of one key, and of others that go with it where there is room.

        Args:
            fits: Whether a worker may take tasks of a key; where it may take none, it is given any.
            known: What the worker knows.
            elsewhere: What others know.
            size: What the tasks may weigh together; more where they belong together, less where there are no more.
        """
        last = None
        for key in self._keys():
            if fits(key):
                last = key
                if key in known or key not in elsewhere:
                    break
        if not self._waiting:
            return []
        chosen = next(iter(self._waiting)) if last is None else last
        while sum(map(self._weight, self._waiting[chosen])) < size and self._draw():
            continue
        beside = [key for key in self._waiting if key in known or key not in elsewhere]
        return self._filled([chosen, *(key for key in beside if key != chosen and self.alike(chosen, key))], size)

    def _filled(self, keys: list[Any], size: float) -> list[Task]:
        """Give out what waits for ``keys``, the first group in any case."""
        taken: list[Task] = []
        for key in keys:
            queue = self._waiting[key]
            while queue and (not taken or self._weight(taken) + self._weight(queue[0]) <= size):
                taken += queue.popleft()
                self._count -= 1
            if not queue:
                del self._waiting[key]
        return taken

    def _weight(self, tasks: list[Task]) -> float:
        return sum(map(self.weight, tasks))

    def _keys(self) -> Iterator[Any]:
        """Yield what waits, and draw on while that is not enough."""
        yield from list(self._waiting)
        while drawn := self._draw():
            yield drawn[0]

    def _draw(self) -> tuple[Any] | None:
        """Draw one group, if there is any and room for it, and return its key."""
        group = next(self.source, None) if self._count < _AHEAD else None
        if group is None:
            return None
        key = self.key(group[0])
        self._waiting.setdefault(key, deque()).append(group)
        self._count += 1
        return (key,)

    def put_back(self, tasks: list[Task]) -> None:
        """Leave tasks that were taken and not performed to whoever comes next."""
        for key, group in itertools.groupby(tasks, self.key):
            self._waiting.setdefault(key, deque()).appendleft(list(group))
            self._count += 1

    def drop(self, unwanted: Callable[[Task], bool]) -> None:
        """Forget tasks that need not be performed any more."""
        for key, queue in list(self._waiting.items()):
            kept = [left for group in queue if (left := [task for task in group if not unwanted(task)])]
            self._count += len(kept) - len(queue)
            if kept:
                self._waiting[key] = deque(kept)
            else:
                del self._waiting[key]
