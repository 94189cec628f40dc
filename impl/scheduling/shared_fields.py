"""Fields that threads share without a lock, made visible to a scheduler.

A class says which of its attributes are read or written by more than one thread with no lock held:

    class BackgroundDriver:
        SHARED_FIELDS: ClassVar = ("_running", "_must_end")

While `watched` is in force each access of them is a yield point of the runtime, so another thread may go on between a
check and the act that rests on it. In production nothing happens: the declaration is read by nobody, and a field stays
the plain attribute that it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _SharedField:
    """Stands on the class in the attribute's place, and reports each access before it happens."""

    def __init__(self, owner: type, name: str, report: Callable[[str], None]) -> None:
        self._name = name
        self._report = report
        self._read, self._write = f"read {owner.__name__}.{name}", f"write {owner.__name__}.{name}"

    def __get__(self, instance: object, owner: type | None = None) -> object:
        self._report(self._read)
        try:
            return instance.__dict__[self._name]
        except KeyError:
            raise AttributeError(self._name) from None

    def __set__(self, instance: object, value: object) -> None:
        self._report(self._write)
        instance.__dict__[self._name] = value


@contextmanager
def watched(classes: tuple[type, ...], report: Callable[[str], None]) -> Iterator[None]:
    """Call `report` before each access of the shared fields of these classes, which have no `__slots__`."""
    placed = [(owner, name) for owner in classes for name in vars(owner).get("SHARED_FIELDS", ())]
    for owner, name in placed:
        setattr(owner, name, _SharedField(owner, name, report))
    try:
        yield
    finally:
        for owner, name in placed:
            delattr(owner, name)
