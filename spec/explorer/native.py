"""The search in C: compiled once, loaded as a library, and asked.

What was compiled is kept under the hash of its source, so that only a model's first exploration waits for the compiler.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from groupspec.spec.explorer.exploration import ExplorerProblem
from groupspec.spec.explorer.program import Program

COMPILE_SECONDS = 300
OPTIMISE = "-O2"
MAX_WORKERS = 3
"""More have nothing to do: to look states up takes a third of the time, and only one can."""
_UNLIMITED = (1 << 64) - 1
_PACKED, _PARENTS, _NUMBERS = 0, 1, 2


@dataclass(frozen=True)
class Compiler:
    """A C compiler: the words that start it, and what its environment needs beside ours."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """For people."""
        return "ziglang (wheel)" if "ziglang" in self.command else self.command[0]


def compiler() -> Compiler | None:
    """`$CC`, or cc, gcc, clang of this machine, or the one in the wheel `ziglang`; None if there is none."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if name and (found := shutil.which(name)):
            return Compiler((found,))
    if find_spec("ziglang") is None:
        return None
    # It keeps what it compiles of libc, and refuses to work without a place for that. Its code is for any processor of
    # this kind, as other compilers' is: a home may be shared.
    places = {name: str(cache_folder() / "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    # Nor does it look for undefined behaviour, which makes it compile a library for that first (20 s).
    return Compiler((sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline", "-fno-sanitize=undefined"), places)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers() -> int:
    """How many threads compute successors beside the one that looks them up: one for each further processor."""
    return min(processors() - 1, MAX_WORKERS)


def build(source: str, optimise: str = "") -> Path:
    """The library made from C source; from the cache if it was made before. `optimise`: instead of OPTIMISE.

    Raises:
        ExplorerProblem: there is no compiler, or it fails.
    """
    optimise = optimise or OPTIMISE
    name = hashlib.sha256(f"{optimise}\n{source}".encode()).hexdigest()[:32]
    library = cache_folder() / f"{name}.so"
    if library.exists():
        return library
    cc = compiler()
    if cc is None:
        raise ExplorerProblem(
            "there is no C compiler on this machine",
            "PATH, $CC",
            "cc, gcc or clang, or the wheel ziglang",
            "install one (pip install '.[verify]')",
        )
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        text, made = Path(folder, "model.c"), Path(folder, "model.so")
        text.write_text(source)
        flags = ("-w", "-shared", "-fPIC", "-pthread", "-fvisibility=hidden")
        try:
            result = subprocess.run(
                [*cc.command, optimise, *flags, "-o", str(made), str(text)],
                capture_output=True,
                text=True,
                timeout=COMPILE_SECONDS,
                env={**os.environ, **cc.environment},
                check=False,
            )
        except subprocess.TimeoutExpired as problem:
            raise _failed(cc.name, f"needs more than {COMPILE_SECONDS} s") from problem
        if result.returncode:
            raise _failed(cc.name, result.stderr.strip()[-2000:])
        # Another process may have made the same one meanwhile: whichever comes last wins, and both are right.
        made.replace(library)
    return library


def _failed(cc: str, why: str) -> ExplorerProblem:
    return ExplorerProblem(f"the C compiler failed: {why}", cc, "", "set $CC to another compiler")


@cache
def cache_folder() -> Path:
    """Where what takes long to make is kept between runs; a temporary folder where nothing can be kept."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "groupspec" / "explorer"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="groupspec-explorer-"))


@cache
def _load(library: Path) -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(library))
    search, number, integer = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int
    for name, result, arguments in (
        ("new", search, (integer, integer, integer)),
        ("free", None, (search,)),
        ("limit", None, (search, number, number)),
        ("run", integer, (search, number)),
        ("counts", None, (search, ctypes.POINTER(number))),
        ("bytes", number, (search,)),
        ("array", search, (search, integer)),
        ("unrecoverable", ctypes.c_int64, (search, integer)),
        ("successors", integer, (ctypes.c_char_p, search, search)),
        ("holds", integer, (ctypes.c_char_p, integer)),
    ):
        function = loaded[f"search_{name}"]
        function.restype = result
        function.argtypes = arguments
        setattr(loaded, f"search_{name}", function)
    return loaded


class Stop(IntEnum):
    """Why a search stopped; the numbers are those of `search.c`, but for SECONDS."""

    MORE = 0
    COMPLETE = 1
    STATES = 2
    MEMORY = 3
    VIOLATED = 4
    SECONDS = 5


class Counts(NamedTuple):
    """How far a search is; in the order of `search.c`.

    Attributes:
        states: Distinct ones found.
        expanded: Those whose alternatives were all tried; the next one has this number.
        depth: Steps from the initial state to those being expanded.
        edges: Enabled alternatives of expanded states.
        dead_ends: Expanded states without any.
        first_dead: The first of them, or NO_STATE.
        unfolded: How many states those found stand for.
        fired: Per action how often it was enabled.
        first: Per property about single states the first state that decides it, or NO_STATE.
    """

    states: int
    expanded: int
    depth: int
    edges: int
    dead_ends: int
    first_dead: int
    unfolded: int
    fired: list[int]
    first: list[int]


class Steps:
    """What a program's library computes of single states, which are codes."""

    def __init__(self, program: Program, library: Path) -> None:
        self._library = _load(library)
        self._size = len(program.layout.fields)
        self._codes = ctypes.create_string_buffer(self._size * len(program.layout.alternatives))
        self._numbers = (ctypes.c_uint16 * len(program.layout.alternatives))()

    def successors(self, codes: bytes) -> list[tuple[int, bytes]]:
        """Every alternative that is possible: its number, and the state after."""
        found = self._library.search_successors(codes, self._codes, self._numbers)
        start = ctypes.addressof(self._codes)
        return [(self._numbers[k], ctypes.string_at(start + k * self._size, self._size)) for k in range(found)]

    def holds(self, condition: int, codes: bytes) -> bool:
        """Whether one of `Program.conditions` holds."""
        return bool(self._library.search_holds(codes, condition))


class NativeEngine:
    """One search in C."""

    def __init__(self, program: Program, library: Path, variant: int, stop_at_violation: bool) -> None:
        self._program = program
        self._library = _load(library)
        self._search = self._library.search_new(variant, int(stop_at_violation), workers())
        self._require(self._search)

    def limit(self, max_states: int | None, max_memory: int) -> None:
        """When `run` must stop."""
        self._library.search_limit(self._search, _UNLIMITED if max_states is None else max_states, max_memory)

    def run(self, expansions: int) -> Stop:
        """Expands at most so many states."""
        return Stop(self._library.search_run(self._search, expansions))

    def counts(self) -> Counts:
        """How far it is."""
        whole, actions = len(Counts._fields) - 2, len(self._program.actions)
        numbers = (ctypes.c_uint64 * (whole + actions + len(self._program.properties)))()
        self._library.search_counts(self._search, numbers)
        return Counts._make([*numbers[:whole], numbers[whole : whole + actions], numbers[whole + actions :]])

    def memory(self) -> int:
        """Bytes for states and the table that finds them."""
        return int(self._library.search_bytes(self._search))

    def parent(self, state: int) -> tuple[int, int]:
        """A state's parent, and the number of the alternative that led from there."""
        return self._array(_PARENTS, ctypes.c_uint32)[state], self._array(_NUMBERS, ctypes.c_uint16)[state]

    def packed(self, state: int) -> int:
        """A state, packed."""
        words = self._program.layout.words
        packed = self._array(_PACKED, ctypes.c_uint64)
        return sum(packed[state * words + k] << 64 * k for k in range(words))

    def unrecoverable(self, property_number: int) -> int | None:
        """The first state from which none can be reached that has the property."""
        found = int(self._library.search_unrecoverable(self._search, property_number))
        self._require(found != -2)
        return None if found < 0 else found

    def close(self) -> None:
        """Gives the memory back."""
        search, self._search = self._search, None
        self._library.search_free(search)

    def _array(self, which: int, kind: type[Any]) -> Any:
        return ctypes.cast(self._library.search_array(self._search, which), ctypes.POINTER(kind))

    def _require(self, had_memory: object) -> None:
        if not had_memory:
            where = f"model {self._program.model.name}"
            raise ExplorerProblem("there is not enough memory", where, "", "free some, or take a smaller model")
