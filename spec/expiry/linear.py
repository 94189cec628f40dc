"""Whole numbers and the inequalities between them: all the arithmetic that the proofs about time need.

An inequality is a tuple of whole numbers: one coefficient for each name of the space, then a constant. It says that the
sum is not negative. Every quantity here (a timeout, a latency, the reading of a clock) is a whole number of
milliseconds and never negative, so neither is written down. A set of inequalities that must all hold is a *zone*.

Two operations carry everything:

- `point`: a solution of a zone, or None. It is the dual simplex method with whole numbers and Bland's rule, so it
  always ends and never rounds. No solution among the fractions means none among the whole numbers, which makes "None" a
  proof.
- `eliminate`: the zone without one of its variables, "there is a value for which all hold" (Fourier and Motzkin). It is
  exact for whole numbers where in every pair of inequalities one has the coefficient 1 or -1, and refuses anything
  else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, floor, gcd
from typing import Final, TypeAlias

Inequality: TypeAlias = tuple[int, ...]
Zone: TypeAlias = frozenset[Inequality]

STRICT: Final = 1
NON_STRICT: Final = 0
"""How far past its limit a clock must be to have expired: `now - last > limit`, or `now - last >= limit`."""


class NotLinear(ValueError):
    """A text is not a comparison of sums of known names."""


def parse(text: str, names: Sequence[str], arithmetic: int) -> list[Inequality]:
    """The inequalities that a text stands for.

    Args:
        text: A comparison (`a + 2 * b <= c`), or one of `expired(reading, limit)`, `running(reading, limit)`: not
            expired, and `until(reading, limit)`: not past the first instant at which it is expired.
        names: The names of the space, in the order of the coefficients.
        arithmetic: STRICT or NON_STRICT, or in a mutant any other whole number.

    Raises:
        NotLinear: the text can't be read.
    """
    tree = ast.parse(text, mode="eval").body
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and len(tree.args) == 2:
        reading, limit = (_sum(argument, names, text) for argument in tree.args)
        past = _add(reading, limit, -1)
        meanings = {
            "expired": _plus(past, -arithmetic),
            "running": negation(_plus(past, -arithmetic)),
            "until": _plus(_scaled(past, -1), arithmetic),
        }
        if tree.func.id in meanings:
            return [meanings[tree.func.id]]
    if isinstance(tree, ast.Compare):
        return _comparison(tree, names, text)
    raise NotLinear(f"{text!r}: must compare sums of {', '.join(names)}, or be expired(…), running(…), until(…)")


def negation(inequality: Inequality) -> Inequality:
    """What holds exactly where this does not."""
    return _plus(_scaled(inequality, -1), -1)


def point(zone: Iterable[Inequality], size: int) -> tuple[Fraction, ...] | None:
    """A solution with nothing negative, or None if there is none; `size` counts the names."""
    table = [list(inequality) for inequality in zone]
    scales = [1] * len(table)
    basic = [size + index for index in range(len(table))]
    free = list(range(size))
    while broken := [row for row in range(len(table)) if table[row][-1] < 0]:
        leaving = min(broken, key=basic.__getitem__)
        raising = [column for column in range(size) if table[leaving][column] > 0]
        if not raising:
            return None
        _pivot(table, scales, leaving, column := min(raising, key=free.__getitem__))
        basic[leaving], free[column] = free[column], basic[leaving]
    values = {name: Fraction(row[-1], scale) for row, scale, name in zip(table, scales, basic, strict=True)}
    return tuple(values.get(name, Fraction(0)) for name in range(size))


def whole_point(zone: Sequence[Inequality], size: int, narrowings: int = 40) -> tuple[int, ...] | None:
    """A solution in whole numbers, or None if there is none: by cutting off a fraction, to either side of it."""
    found = point(zone, size)
    if found is None:
        return None
    broken = next((index for index, value in enumerate(found) if value.denominator != 1), None)
    if broken is None:
        return tuple(int(value) for value in found)
    if not narrowings:
        raise RecursionError(f"no whole numbers found, and none excluded, near {found}")
    for sign, bound in ((-1, floor(found[broken])), (1, -ceil(found[broken]))):
        cut = (*(sign * int(index == broken) for index in range(size)), bound)
        if (whole := whole_point([*zone, cut], size, narrowings - 1)) is not None:
            return whole
    return None


def implies(zone: Zone, inequality: Inequality) -> bool:
    """Whether the inequality holds everywhere in the zone."""
    if inequality in zone or _always(inequality):
        return True
    return point([*zone, negation(inequality)], len(inequality) - 1) is None


def eliminate(zone: Iterable[Inequality], index: int) -> list[Inequality]:
    """What the zone says about the others: some value of this name, not negative, fits."""
    lower: list[Inequality] = []
    upper: list[Inequality] = []
    rest: list[Inequality] = []
    for inequality in zone:
        side = lower if inequality[index] > 0 else upper if inequality[index] < 0 else rest
        side.append(inequality)
    if lower or upper:
        lower.append(tuple(int(place == index) for place in range(len(next(iter((*lower, *upper)))))))
    for low in lower:
        for high in upper:
            if low[index] != 1 and high[index] != -1:
                raise NotLinear(f"{low} and {high}: elimination is exact only with a coefficient 1 or -1")
            rest.append(_add(_scaled(low, -high[index]), high, low[index]))
    return rest


def tidy(zone: Iterable[Inequality]) -> Zone | None:
    """The same zone in few inequalities, or None if it is empty."""
    strongest: dict[Inequality, int] = {}
    for inequality in map(_reduced, zone):
        coefficients, constant = inequality[:-1], inequality[-1]
        if not _always(inequality):
            strongest[coefficients] = min(constant, strongest.get(coefficients, constant))
    kept = [(*coefficients, constant) for coefficients, constant in strongest.items()]
    if kept and point(kept, len(kept[0]) - 1) is None:
        return None
    for inequality in sorted(kept, key=lambda row: -sum(map(abs, row[:-1]))):
        others = frozenset(kept) - {inequality}
        if others and implies(others, inequality):
            kept.remove(inequality)
    return frozenset(kept)


def written(inequality: Inequality, names: Sequence[str]) -> str:
    """For people: what is added on either side of `<=`."""
    *coefficients, constant = inequality
    left = [(-c, name) for c, name in zip(coefficients, names, strict=True) if c < 0]
    right = [(c, name) for c, name in zip(coefficients, names, strict=True) if c > 0]
    return f"{_side(left, -constant)} <= {_side(right, constant)}"


def holds(inequality: Inequality, values: Sequence[int]) -> bool:
    """Whether it holds for these numbers."""
    return sum(c * value for c, value in zip(inequality, values, strict=False)) + inequality[-1] >= 0


def _side(terms: list[tuple[int, str]], constant: int) -> str:
    parts = [name if c == 1 else f"{c} * {name}" for c, name in terms]
    if constant > 0 or not parts:
        parts.append(str(max(constant, 0)))
    return " + ".join(parts)


def _comparison(tree: ast.Compare, names: Sequence[str], text: str) -> list[Inequality]:
    found = []
    left = _sum(tree.left, names, text)
    for operator, comparator in zip(tree.ops, tree.comparators, strict=True):
        right = _sum(comparator, names, text)
        below, above = _add(right, left, -1), _add(left, right, -1)
        meanings: dict[type[ast.cmpop], list[Inequality]] = {
            ast.LtE: [below],
            ast.GtE: [above],
            ast.Lt: [_plus(below, -1)],
            ast.Gt: [_plus(above, -1)],
            ast.Eq: [below, above],
        }
        if type(operator) not in meanings:
            raise NotLinear(f"{text!r}: {type(operator).__name__} is no comparison of <=, <, >=, >, ==")
        found += meanings[type(operator)]
        left = right
    return found


def _sum(tree: ast.expr, names: Sequence[str], text: str) -> Inequality:
    nothing = (0,) * (len(names) + 1)
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int):
        return _plus(nothing, tree.value)
    if isinstance(tree, ast.Name) and tree.id in names:
        return (*(int(name == tree.id) for name in names), 0)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add | ast.Sub):
        sign = 1 if isinstance(tree.op, ast.Add) else -1
        return _add(_sum(tree.left, names, text), _sum(tree.right, names, text), sign)
    match tree:
        case ast.BinOp(left=ast.Constant(value=int(times)), op=ast.Mult(), right=right):
            return _scaled(_sum(right, names, text), times)
    raise NotLinear(f"{text!r}: {ast.unparse(tree)!r} is no sum of {', '.join(names)}")


def _add(one: Inequality, other: Inequality, times: int) -> Inequality:
    return tuple(a + times * b for a, b in zip(one, other, strict=True))


def _scaled(one: Inequality, times: int) -> Inequality:
    return tuple(times * a for a in one)


def _plus(one: Inequality, constant: int) -> Inequality:
    return (*one[:-1], one[-1] + constant)


def _always(inequality: Inequality) -> bool:
    return all(number >= 0 for number in inequality)


def _reduced(inequality: Inequality) -> Inequality:
    """Divided by what the coefficients have in common; for whole numbers the constant may be rounded down."""
    common = gcd(*inequality[:-1])
    return tuple(number // common for number in inequality) if common > 1 else inequality


def _pivot(table: list[list[int]], scales: list[int], leaving: int, column: int) -> None:
    """Exchange a basic variable for a free one.

    Each row says: scale x basic variable = sum of the free ones + constant.
    """
    row = table[leaving]
    factor = row[column]
    new = [-number for number in row]
    new[column] = scales[leaving]
    table[leaving], scales[leaving] = new, factor
    for index, other in enumerate(table):
        if index == leaving or not other[column]:
            continue
        times = other[column]
        changed = [factor * number + times * share for number, share in zip(other, new, strict=True)]
        changed[column] = times * new[column]
        scale = scales[index] * factor
        common = gcd(scale, *changed)
        table[index], scales[index] = [number // common for number in changed], scale // common
