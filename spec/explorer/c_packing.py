"""Packing, as C: shift by shift, and eight bytes at once where the processor can."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.spec.explorer.layout import Layout

_GROUP = 8


def packing(layout: Layout) -> Iterator[str]:
    """`pack` and `unpack`, for any processor and for those that have pext and pdep (x86-64 with BMI2)."""
    yield "static void pack_plain(const uint8_t *c, uint64_t *w) {"
    for word in range(layout.words):
        parts = [
            f"(uint64_t)c[{field.position}] << {field.shift}"
            for field in layout.fields
            if field.word == word and field.bits
        ]
        yield f"    w[{word}] = {' | '.join(parts) or '0'};"
    yield "}"
    yield "static void unpack_plain(const uint64_t *w, uint8_t *c) {"
    for field in layout.fields:
        value = f"w[{field.word}] >> {field.shift} & {(1 << field.bits) - 1}" if field.bits else "0"
        yield f"    c[{field.position}] = (uint8_t)({value});"
    yield "}"
    yield from _quick(layout)


def _quick(layout: Layout) -> Iterator[str]:
    groups = [layout.fields[at : at + _GROUP] for at in range(0, len(layout.fields), _GROUP)]
    yield "#if defined(__x86_64__) && defined(__GNUC__)"
    yield "#include <string.h>"
    yield "static int quick;"
    yield "__attribute__((constructor)) static void ask(void) {"
    yield '    __builtin_cpu_init(); quick = __builtin_cpu_supports("bmi2");'
    yield "}"
    yield '__attribute__((target("bmi2"))) static void pack_quick(const uint8_t *c, uint64_t *w) {'
    yield "    uint64_t g = 0;"
    yield f"    {' '.join(f'uint64_t w{word} = 0;' for word in range(layout.words))}"
    for number, group in enumerate(groups):
        yield f"    {'' if len(group) == _GROUP else 'g = 0; '}memcpy(&g, c + {number * _GROUP}, {len(group)});"
        for word, mask, shift in _masks(layout, number):
            yield f"    w{word} |= __builtin_ia32_pext_di(g, {mask:#x}u) << {shift};"
    yield f"    {' '.join(f'w[{word}] = w{word};' for word in range(layout.words))}"
    yield "}"
    yield '__attribute__((target("bmi2"))) static void unpack_quick(const uint64_t *w, uint8_t *c) {'
    yield "    uint64_t g;"
    for number, group in enumerate(groups):
        parts = [
            f"__builtin_ia32_pdep_di(w[{word}] >> {shift}, {mask:#x}u)" for word, mask, shift in _masks(layout, number)
        ]
        yield f"    g = {' | '.join(parts) or '0'}; memcpy(c + {number * _GROUP}, &g, {len(group)});"
    yield "}"
    yield "#define pack(c, w) (quick ? pack_quick(c, w) : pack_plain(c, w))"
    yield "#define unpack(w, c) (quick ? unpack_quick(w, c) : unpack_plain(w, c))"
    yield "#else"
    yield "#define pack pack_plain"
    yield "#define unpack unpack_plain"
    yield "#endif"


def _masks(layout: Layout, number: int) -> Iterator[tuple[int, int, int]]:
    """For eight fields, word by word: which of their bits go there, and how far up."""
    group = [field for field in layout.fields[number * _GROUP : (number + 1) * _GROUP] if field.bits]
    for word in sorted({field.word for field in group}):
        here = [field for field in group if field.word == word]
        mask = sum(((1 << field.bits) - 1) << 8 * (field.position % _GROUP) for field in here)
        yield word, mask, here[0].shift
