"""A small model that uses every construct of the language.

A lock that a server lends to clients, over lossy messages.
"""

from __future__ import annotations

from groupspec.spec.compiler.model import (
    Action,
    Call,
    For,
    If,
    IndexSet,
    Model,
    ModelProperty,
    ModelVariable,
    Procedure,
    Set,
)
from groupspec.spec.terms import NO_YES

MEMBER: tuple[tuple[str, IndexSet], ...] = (("i", "members"),)


def toy_model(members: int = 2, broken: bool = False) -> Model:
    """Clients ask for a lock, get it, and give it back. `broken`: the server forgets to look whether it is lent."""
    free = "owner == 0" if not broken else "owner != i"
    holders = tuple(range(members + 1))
    return Model(
        name=f"toy-{members}{'-broken' if broken else ''}",
        sizes={"members": members, "partitions": 2},
        variables=(
            ModelVariable("client", ("IDLE", "WAITING", "HOLDING"), "IDLE", ("members",), "what the client believes"),
            ModelVariable("message", ("none", "ask", "grant", "release"), "none", ("members",), "in flight"),
            ModelVariable("owner", holders, 0, (), "to whom the server has lent it"),
            ModelVariable("marked", NO_YES, False, ("members", "partitions"), "what the holder has written on"),
            ModelVariable("fault", ("none", "grant-unasked"), "none", (), "the first assertion that failed"),
        ),
        procedures=(
            Procedure(
                "grant",
                MEMBER,
                (("polite", NO_YES),),
                body=(
                    If(
                        (("polite", (Set((("owner", "i"), ("message[i]", "'grant'"))),)),),
                        otherwise=(Set((("fault", "'grant-unasked'"),)),),
                    ),
                ),
                doc="lends it",
            ),
            Procedure("clear_marks", MEMBER, body=(For("p", "partitions", (Set((("marked[i][p]", "False"),)),)),)),
        ),
        actions=(
            Action(
                "ask",
                MEMBER,
                "client[i] == 'IDLE' and message[i] == 'none'",
                (Set((("client[i]", "'WAITING'"), ("message[i]", "'ask'"))),),
                "application",
                "",
                "",
                ("member i", "group", "ask"),
            ),
            Action(
                "lend",
                MEMBER,
                f"message[i] == 'ask' and {free}",
                (Call("grant", ("i", "client[i] == 'WAITING'")),),
                "message",
                "strong",
            ),
            Action(
                "receive",
                MEMBER,
                "message[i] == 'grant'",
                (Set((("client[i]", "'HOLDING'"), ("message[i]", "'none'"))),),
                "message",
                "weak",
            ),
            Action(
                "mark",
                (*MEMBER, ("p", "partitions")),
                "client[i] == 'HOLDING' and not marked[i][p]",
                (Set((("marked[i][p]", "True"),)),),
                "application",
            ),
            Action(
                "give_back",
                MEMBER,
                "client[i] == 'HOLDING'",
                (Call("clear_marks", ("i",)), Set((("client[i]", "'IDLE'"), ("message[i]", "'release'")))),
                "application",
                "weak",
            ),
            Action(
                "take_back",
                MEMBER,
                "message[i] == 'release'",
                (
                    If((("owner == i", (Set((("owner", "0 if owner == i else owner"),)),)),)),
                    Set((("message[i]", "'none'"),)),
                ),
                "message",
                "weak",
            ),
        ),
        properties=(
            ModelProperty(
                "one-holder",
                "invariant",
                "all(not (client[i] == 'HOLDING' and any(client[j] == 'HOLDING' for j in members if j != i)) "
                "for i in members)",
                statement="at most one client holds the lock",
            ),
            ModelProperty("no-fault", "invariant", "fault == 'none'", statement="no assertion fails"),
            ModelProperty(
                "held", "reachable", "any(client[i] == 'HOLDING' for i in members)", statement="somebody can hold it"
            ),
            ModelProperty(
                "all-idle-again",
                "recoverable",
                "all(client[i] == 'IDLE' and message[i] == 'none' for i in members)",
                statement="everybody can become idle",
            ),
            ModelProperty(
                "waiting-ends",
                "leads_to",
                "client[1] == 'HOLDING'",
                "client[1] == 'WAITING'",
                statement="who waits gets it",
            ),
        ),
        symmetric=True,
        doc="A toy: used to test the engines.",
    )
