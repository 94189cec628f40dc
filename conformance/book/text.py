"""How prose, guards and sources are written: what can be looked up is a link, and long lines know where to break."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.sources import source
from groupspec.conformance.explain.vocabulary import words
from groupspec.conformance.glossary import TERMS
from groupspec.spec import vocabulary
from groupspec.spec.compiler.tables import MACHINES
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import RULES

_NAMED_RULES = re.compile(r"\b[Rr]ules? (?:[A-Z]\d+(?:, | and | or | to )?)+")
_RULE = re.compile(r"\b[A-Z]\d{1,2}\b")
_BROKEN_RULES = re.compile(r"\b([Rr]ules?|[A-Z]\d{1,2}(?:,| and| or| to)?)\n(?=(?:and |or |to )?[A-Z]\d)")
_TERMS = {form.lower(): term for term in TERMS.values() if term.linked for form in (term.name, *term.also)}
_TERM = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, _TERMS), key=len, reverse=True))})\b", re.IGNORECASE)


def link(address: str, text: object, title: str = "", css: str = "") -> Markup:
    """One link."""
    extra = Markup("")
    if css:
        extra += Markup(' class="{}"').format(css)
    if title:
        extra += Markup(' title="{}"').format(title)
    return Markup('<a href="{}"{}>{}</a>').format(address, extra, text)


@cache
def word(name: str) -> Markup:
    """A word of the vocabulary as code, leading to its entry."""
    shown = Markup("<code>{}</code>").format(breakable(name))
    return link(address("word", name), shown) if name in words() else shown


@cache
def breakable(name: str) -> Markup:
    """A long name that may break after an underscore or a dot."""
    return Markup(re.sub(r"([_./])(?=\w)", r"\1<wbr>", str(escape(name))))


# Prose ----------------------------------------------------------------------------------------------------------------


def _render_text(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: object, env: MutableMapping[str, set[str]]
) -> str:
    """Text in which rules, bugs and (in prose) the first mention of each term are links."""
    text, at, shown = tokens[index].content, 0, Markup("")
    for found in _TERM.finditer(text) if "terms" in env else ():
        term = _TERMS[found[0].lower()]
        if term.name not in env["terms"]:
            env["terms"].add(term.name)
            shown += mentions(text[at : found.start()])
            shown += link(address("word", term.anchor), found[0], term.means.replace("`", ""), css="term-of")
            at = found.end()
    return str(shown + mentions(text[at:]))


def _render_code(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: object, env: MutableMapping[str, set[str]]
) -> str:
    content = tokens[index].content
    if content in env.get("plain", ()):
        return str(Markup("<code>{}</code>").format(content))
    if content in RULES:
        return str(link(address("rule", content), Markup("<code>{}</code>").format(content)))
    if content in _PAGES:
        return str(link(_PAGES[content], Markup("<code>{}</code>").format(content)))
    return str(word(content))


_PAGES: Final = {
    "differences.py": "differences.html",
    "request_handling.py": "request_handling.html",
    "expiry/theorems.py": "time.html",
    "spec.expiry": "time.html",
    "parts.py": "time.html#limits",
    "proofs.py": "time.html#conditions",
    "known_bugs.py": "bugs.html",
    "member.py": "machines.html#coupling",
    "rules.py": "rules.html",
    "vocabulary.py": "vocabulary.html",
    "KAFKA_TRANSITIONS": "#kafka",
    "RESPONSES": "answers.html",
    "SERVER_EVENTS": "vocabulary.html#server-events",
} | {f"{cls.machine_name}.py": address("machine", cls.machine_name) for cls in MACHINES}
"""Files and tables of the specification that prose names, and the pages that are made of them."""


@cache
def _markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table")
    made.add_render_rule("text", _render_text)
    made.add_render_rule("code_inline", _render_code)
    return made


def prose(text: str, top: int = 3, plain: Iterable[str] = ()) -> Markup:
    """A docstring as HTML. Headings in it begin at the level `top`; `plain` words are code without a link."""
    whole = _BROKEN_RULES.sub(r"\1 ", inspect.cleandoc(text))
    rendered = re.sub(
        "<(pre|table)>", r'<\1 tabindex="0">', _markdown().render(whole, {"terms": set(), "plain": set(plain)})
    )
    return Markup(re.sub(r"(</?h)([1-4])", lambda found: f"{found[1]}{min(int(found[2]) + top - 1, 6)}", rendered))


@cache
def inline(text: str) -> Markup:
    """One line of prose: code and emphasis, no paragraphs."""
    return Markup(_markdown().renderInline(text))


def module_prose(module: ModuleType, heading: bool = False, labels: Mapping[str, str] | None = None) -> Markup:
    """What a module says about itself, less the paragraph that names its sources (see `module_sources`).

    Args:
        module: The module.
        heading: Whether its first line is left out, because it is the page's heading.
        labels: Names of fields that the text uses, and what they are called on the page.
    """
    parts = inspect.cleandoc(module.__doc__ or "").split("\n\n")[heading:]
    text = "\n\n".join(part for part in parts if not part.startswith("Sources:"))
    for name, label in (labels or {}).items():
        text = text.replace(f"`{name}`", f"*{label}*")
    return prose(text)


def module_sources(module: ModuleType) -> Markup:
    """The sources that a module names in a paragraph of its text, with links."""
    text = inspect.cleandoc(module.__doc__ or "")
    found = [part.removeprefix("Sources:").strip() for part in text.split("\n\n") if part.startswith("Sources:")]
    return Markup("; ").join(source(part.strip()) for one in found for part in " ".join(one.split()).split(";"))


def attribute_docs(module: ModuleType) -> dict[str, str]:
    """The texts that stand under the assignments of a module, by name."""
    body = ast.parse(inspect.getsource(module)).body
    found = {}
    for before, after in pairwise(body):
        named = before.target if isinstance(before, ast.AnnAssign) else None
        if isinstance(named, ast.Name) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            found[named.id] = inspect.cleandoc(str(after.value.value))
    return found


def mentions(text: str) -> Markup:
    """Plain text in which rules and known bugs are links: `rule J9`, `rules H1, H3`, `BUG-04`."""

    def rule_links(found: re.Match[str]) -> str:
        return _RULE.sub(lambda one: str(_rule_link(one[0])), found[0])

    marked = _NAMED_RULES.sub(rule_links, str(escape(text)))
    return Markup(
        re.sub(
            r"\bBUG-\d\d\b",
            lambda one: str(link(address("bug", one[0]), one[0])) if one[0] in KNOWN_BUGS else one[0],
            marked,
        )
    )


def _rule_link(identifier: str) -> Markup | str:
    return (
        link(address("rule", identifier), identifier, f"{RULES[identifier].name}: {RULES[identifier].statement}")
        if identifier in RULES
        else identifier
    )


# Guards ---------------------------------------------------------------------------------------------------------------


@cache
def guard(text: str) -> Markup:
    """A guard or another expression.

    Its words lead to the vocabulary, and it breaks before `and` and `or` if it must.
    """
    parts = []
    for part in _terms(text):
        parts.append(Markup('<span class="term">{}</span>').format(_linked_words(part)))
    return Markup(" ").join(parts)


def _terms(text: str) -> list[str]:
    """The expression, cut before each `and` and `or` that stands in no brackets; strings hold neither."""
    terms, depth = [""], 0
    for part in re.split(r"(\s+(?=(?:and|or)\b)|[()\[\]])", text):
        depth += (part in ("(", "[")) - (part in (")", "]"))
        if part.isspace() and depth == 0:
            terms.append("")
        else:
            terms[-1] += part
    return [term for term in terms if term]


def _linked_words(text: str) -> Markup:
    escaped, at = Markup(""), 0
    for found in re.finditer(r"'[^']*'|\w+", text):
        escaped += escape(text[at : found.start()])
        name, at = found[0], found.end()
        if name in vocabulary.VARIABLES:
            escaped += link(address("word", name), name)
        elif name in ("and", "or", "not", "if", "else", "in", "for", "all", "any"):
            escaped += Markup("<i>{}</i>").format(name)
        else:
            escaped += escape(name)
    return escaped + escape(text[at:])
