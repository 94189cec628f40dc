"""Which files are traces: a file that is named is read; one in a folder that is named, if it is a trace.

A folder may hold anything: the kit's report folder has traces beside wire logs, pages and pictures. A file counts as a
trace by what is in it, not by its name alone: none is left out in which one line could be an event. What is left out is
counted by reason, and some reasons (`INCOMPLETE`) mean that the answer may lack events: then no check may end with 0.

The buckets of an ingest are read through their marker only (see `layout`): one without it is what a killed ingest left.
"""

from __future__ import annotations

import glob
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.outside import decoded
from groupspec.conformance.traces.gunzip import GZIP_MAGIC, Damage, unpack, unpacked_lines

LAYOUT_FILE: Final = "_layout.json"
DEFAULT_BUCKETS: Final = 16
BUCKET_NAME: Final = re.compile(r"bucket-\d{5}\.parquet")
NDJSON_SUFFIXES: Final = (".ndjson", ".jsonl", ".json")
GZIP_SUFFIX: Final = ".gz"
PARQUET_SUFFIX: Final = ".parquet"
TRACE_SUFFIXES: Final = (*NDJSON_SUFFIXES, *(name + GZIP_SUFFIX for name in NDJSON_SUFFIXES), PARQUET_SUFFIX)

Kind = Literal["ndjson", "gzip", "parquet"]
LeftOutReason = Literal["hidden", "no_trace", "other_name", "other_compression"]
LEFT_OUT: Final[dict[LeftOutReason, str]] = {
    "hidden": "the name begins with a dot or an underscore",
    "no_trace": "it is no trace: neither by its name, nor is one of its lines an event",
    "other_name": f"begins like a trace, but is not named *{', *'.join(TRACE_SUFFIXES)}; name the file to have it read",
    "other_compression": "named like a trace, in a compression that is not read; unpack it, or leave it out on purpose",
}
INCOMPLETE: Final[frozenset[LeftOutReason]] = frozenset({"other_name", "other_compression"})

_HIDDEN: Final = (".", "_")
_OTHER_COMPRESSIONS: Final = (".bz2", ".lz4", ".xz", ".zip", ".zst")
_FIELDS: Final = frozenset({"v", "run", "group", "member", "seq", "at_us", "source", "event"})
_KEYS: Final = [f'"{name}"'.encode() for name in sorted(_FIELDS)]
_HEAD_BYTES: Final = 64 * 1024


class LeftOut(msgspec.Struct, frozen=True, order=True):
    """How many files were left out for one reason, and the first of them."""

    reason: LeftOutReason
    files: int
    example: str


class Input(NamedTuple):
    """A file to be read."""

    path: Path
    kind: Kind


class Found(NamedTuple):
    """What lies under the paths that were named."""

    files: list[Input]
    left_out: list[LeftOut]


# What the user typed


def local_path(word: str) -> Path:
    """A path as it is typed, or a file:// URL. Raises UsageProblem for a URL of another kind."""
    url = urlsplit(word)
    if url.scheme == "file" and url.netloc in ("", "localhost"):
        return Path(unquote(url.path))
    if "://" in word:
        raise UsageProblem(
            what=f"groupspec does not read or write {url.scheme}:// paths",
            where=word,
            allowed="a path of this machine, or file:///path; on a cluster a folder that every machine has mounted",
            next_step="copy the traces, or mount the store, and name that path",
        )
    return Path(word)


def named(words: Iterable[str]) -> list[Path]:
    """The paths that were typed; a pattern that is no file's name stands for what it matches. Raises UsageProblem."""
    paths: list[Path] = []
    for word in words:
        path = local_path(word)
        if path.exists() or not glob.has_magic(str(path)):
            paths.append(path)
            continue
        matched = sorted(Path(name) for name in glob.glob(str(path), recursive=True))  # noqa: PTH207  the pattern may be absolute
        if not matched:
            raise UsageProblem(
                what="no file matches this pattern",
                where=word,
                allowed="a pattern of the shell: * within a name, ** for any folders",
                next_step="list the folder, and name what lies there",
            )
        paths += matched
    return paths


# What lies there


def find_files(paths: Iterable[Path]) -> Found:
    """The trace files among these paths, each once; folders are searched.

    Raises:
        UsageProblem: a path cannot be read, a folder holds no traces, or a bucket lies where its marker does not.
    """
    files: dict[Path, Input] = {}
    left_out: list[tuple[LeftOutReason, Path]] = []
    for path in paths:
        for file in _find(path, left_out):
            files.setdefault(file.path.resolve(), file)
    return Found(sorted(files.values()), _counted(left_out))


def _find(path: Path, left_out: list[tuple[LeftOutReason, Path]]) -> list[Input]:
    if not path.is_dir():
        _refuse_bucket(path)
        if path.exists() and not path.is_file():
            raise UsageProblem(
                what="not a regular file: a trace is read more than once",
                where=str(path),
                allowed="an NDJSON (also .gz) or Parquet file, or a folder of them",
                next_step="write what comes out of the pipe to a file, and name that",
            )
        return [Input(path, _kind(path, _head(path)))]
    decided = [(_decide(file), file) for file in _walk(path)]
    inside = [found for found, _ in decided if isinstance(found, Input)]
    beside = [(reason, file) for reason, file in decided if not isinstance(reason, Input)]
    if not inside:
        raise UsageProblem(
            what="no trace files in this folder",
            where="; ".join([str(path), *told(_counted(beside))]),
            allowed=f"files named *{', *'.join(TRACE_SUFFIXES)} that hold trace events",
            next_step="name the folder that holds the traces, or the files themselves",
        )
    left_out += beside
    return inside


def _walk(folder: Path) -> Iterator[Path]:
    """All files below, through links too; of a hidden folder only its name. An ingest that lies below is refused."""
    seen = {folder.resolve()}
    for place, folders, names in os.walk(folder, followlinks=True, onerror=_raise):
        here = Path(place)
        if LAYOUT_FILE in names:
            raise UsageProblem(
                what="an ingested layout lies in this folder of traces",
                where=str(here),
                allowed="a layout alone, or folders of trace files without one: else its events would count twice",
                next_step="check the layout by its own path, or move it out of the folder",
            )
        yield from (here / name for name in folders if name.startswith(_HIDDEN))
        real = {name: (here / name).resolve() for name in folders if not name.startswith(_HIDDEN)}
        folders[:] = [name for name, path in real.items() if path not in seen]
        seen.update(real.values())
        yield from (here / name for name in names)


def _raise(error: OSError) -> None:
    raise _unreadable(Path(str(error.filename)), error) from error


def _decide(file: Path) -> Input | LeftOutReason:
    """Whether a file that was found in a folder is read, or why it is not."""
    if file.name.startswith(_HIDDEN):
        return "hidden"
    if file.exists() and not file.is_file():
        return "no_trace"
    _refuse_bucket(file)
    if file.suffix in _OTHER_COMPRESSIONS and file.name.removesuffix(file.suffix).endswith(TRACE_SUFFIXES):
        return "other_compression"
    if not file.name.endswith(TRACE_SUFFIXES):
        return "other_name" if os.access(file, os.R_OK) and _begins_as_trace(_head(file)) else "no_trace"
    head = _head(file)
    kind = _kind(file, head)
    return Input(file, kind) if kind == "parquet" or _begins_as_trace(head) or _may_hold_events(file) else "no_trace"


def _head(file: Path) -> bytes:
    """The first bytes. Raises UsageProblem when the file cannot be read."""
    try:
        with file.open("rb") as opened:
            return opened.read(_HEAD_BYTES)
    except OSError as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: OSError) -> UsageProblem:
    if not file.exists() and workspace_folder(file).exists():
        return UsageProblem(
            what="the ingest into this folder has not ended: it is still running, or it was killed",
            where=str(file),
            allowed="a folder whose ingest has ended",
            next_step="wait for it; if it was killed, run it again: it begins anew and removes what is left",
        )
    return UsageProblem(
        what=f"cannot read the trace: {error.strerror}",
        where=str(file),
        allowed="an NDJSON (also .gz) or Parquet file, or a folder of them",
        next_step="check the path and its permissions",
    )


def _kind(file: Path, head: bytes) -> Kind:
    if file.suffix == PARQUET_SUFFIX:
        return "parquet"
    return "gzip" if head.startswith(GZIP_MAGIC) else "ndjson"


def _begins_as_trace(head: bytes) -> bool:
    """Whether one of the first lines is an object with half of the fields that every event has."""
    if head.startswith(GZIP_MAGIC):
        head = next((piece for piece in unpack(io.BytesIO(head)) if not isinstance(piece, Damage)), b"")
    for line in head.split(b"\n", 20)[:20]:
        try:
            fields = decoded(msgspec.json.decode, line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if isinstance(fields, dict) and 2 * len(_FIELDS & fields.keys()) >= len(_FIELDS):
            return True
    return False


def _may_hold_events(file: Path) -> bool:
    """Whether one line could be an event. Where that cannot be seen, because it is no text or not whole, it may."""
    return file.stat().st_size == 0 or any(
        isinstance(line, Damage) or b"\0" in line or all(key in line for key in _KEYS) for line in unpacked_lines(file)
    )


def _refuse_bucket(file: Path) -> None:
    if BUCKET_NAME.fullmatch(file.name):
        raise lone_bucket(file)


def lone_bucket(file: Path) -> UsageProblem:
    """The message for a bucket that is not read through its layout's marker."""
    allowed = "a whole folder as written by `groupspec trace ingest`"
    if (file.parent / LAYOUT_FILE).exists():
        what = "a bucket of an ingested layout is no trace by itself"
        return UsageProblem(what, str(file), allowed, f"name the folder {file.parent}")
    what = f"a bucket without the layout's marker {LAYOUT_FILE}: its ingest did not end, or the marker is lost"
    return UsageProblem(what, str(file), allowed, "remove these buckets, and ingest the traces again into a new folder")


def workspace_folder(out: Path) -> Path:
    """Where an ingest into `out` works until it is whole (see `workspace`)."""
    return out.parent / f".{out.name}.ingest"


def _counted(left_out: Sequence[tuple[LeftOutReason, Path]]) -> list[LeftOut]:
    by_reason: dict[LeftOutReason, list[Path]] = {}
    for reason, file in left_out:
        by_reason.setdefault(reason, []).append(file)
    return sorted(LeftOut(reason, len(files), str(min(files))) for reason, files in by_reason.items())


def told(left_out: Iterable[LeftOut]) -> list[str]:
    """What was left out, in words."""
    return [
        f"{left.files:,} files left out: {left.reason} ({LEFT_OUT[left.reason]}), {left.example}" for left in left_out
    ]
