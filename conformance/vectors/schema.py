"""The JSON Schema of a vector file's lines: the first is the header, every other a state or a pair."""

from __future__ import annotations

from typing import Final

FORMAT: Final = "groupspec-vectors"
VERSION: Final = 1

_NUMBER: Final = {"type": "integer", "minimum": 0}
_NUMBERS: Final = {"type": "array", "items": _NUMBER}
_WORDS: Final = {"type": "array", "items": {"type": "string"}}
_VALUE: Final = {"type": ["boolean", "integer", "string"]}
_DIGEST: Final = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_STEPS: Final = {"type": "array", "items": {"type": "array", "items": _NUMBER, "minItems": 3, "maxItems": 3}}


def _record(properties: dict[str, object], optional: tuple[str, ...] = ()) -> dict[str, object]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_EVENT: Final = _record(
    {
        "name": {"type": "string"},
        "inputs": {"type": "object", "additionalProperties": _VALUE},
        "kind": {"enum": ["application", "message", "timer", "internal"]},
        "doc": {"type": "string"},
        "answers": {"type": "array", "items": {**_WORDS, "minItems": 2, "maxItems": 2}},
    },
    optional=("answers",),
)

_VARIABLE: Final = _record({"values": {"type": "array", "items": _VALUE}, "doc": {"type": "string"}})

_LEGEND: Final = _record(
    {
        "events": {"type": "array", "items": _EVENT, "minItems": 1},
        "sent": {"type": "array", "items": _WORDS, "minItems": 1},
        "stays": {"type": "array", "items": _NUMBERS},
        "never": {
            "type": "array",
            "items": {
                "type": "array",
                "items": {"type": "array", "prefixItems": [{"type": "string"}, _NUMBERS], "minItems": 2, "maxItems": 2},
            },
        },
        "states": {"type": "object", "additionalProperties": _WORDS, "minProperties": 1},
        "variables": {"type": "object", "additionalProperties": _VARIABLE},
    }
)

HEADER: Final = _record(
    {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "spec": _DIGEST,
        "recipe": _DIGEST,
        "lines": _DIGEST,
        "subject": {"type": "string"},
        "rebalance": {"enum": ["eager", "cooperative", "any"]},
        "profile": {"const": "deployed"},
        "configurations": {"type": "array", "items": {"type": "object", "additionalProperties": _VALUE}, "minItems": 1},
        "home": {"type": "object", "additionalProperties": {"type": "string"}},
        "counts": {"type": "object", "additionalProperties": _NUMBER},
        "legend": _LEGEND,
    }
)

STATE: Final = _record(
    {
        "state": _NUMBER,
        "from": {"type": ["array", "null"], "items": _NUMBER, "minItems": 2, "maxItems": 2},
        "config": _NUMBER,
        "is": _NUMBERS,
        "has": {"type": "string", "pattern": "^[0-9]*$"},
        "does": _STEPS,
        "stays": _NUMBER,
        "never": _NUMBER,
    }
)

PAIR: Final = _record(
    {
        "pair": {**_WORDS, "minItems": 3, "maxItems": 3},
        "start": _NUMBER,
        "run": _STEPS,
        "back": {"anyOf": [_STEPS, {"type": "null"}]},
    }
)

SCHEMA: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "One line of a groupspec vector file: the header, a state, or a pair",
    "description": "conformance/vectors/README.md says what the keys mean",
    "anyOf": [HEADER, STATE, PAIR],
}
