"""What is claimed of one commit.

What the machine believes, and what its monitor has seen (`composition/open_commit.py`).
"""

from __future__ import annotations

from groupspec.spec.commit_words import COMMIT_ENDINGS
from groupspec.spec.compiler.model import ModelProperty
from groupspec.spec.composition.commits_together import AUTOMATIC, DONE_IN_ORDER, NEVER_REWINDS
from groupspec.spec.composition.machines import ILLEGAL
from groupspec.spec.composition.open_commit import DUE, ENDS_FOR_CAUSE, ENDS_ONCE, IN_TURN, PERSISTS, assertion_of
from groupspec.spec.properties import FAULT, assertion
from groupspec.spec.vocabulary import VARIABLES

_SEND = "Kafka ConsumerCoordinator.sendOffsetCommitRequest"
_ANSWERS = "Kafka ConsumerCoordinator.OffsetCommitResponseHandler"
_SYNC = "Kafka ConsumerCoordinator.commitOffsetsSync"
_ASYNC = "Kafka ConsumerCoordinator.commitOffsetsAsync"
_PREPARE = "Kafka ConsumerCoordinator.onJoinPrepare"
_SAME_PURPOSE = " and ".join(f"(asked != '{p}' or commit_purpose == '{p}')" for p in VARIABLES["commit_purpose"].domain)


def _ending(word: str, statement: str, sources: tuple[str, ...], rules: str) -> ModelProperty:
    return assertion(assertion_of(word), statement, sources, rules)


_OF_A_COMMIT = (
    assertion(ILLEGAL, "Nothing happens that a correct peer never does: no error row fires.",
              ("the error rows of the tables",), "J9"),
    # when it is sent
    assertion("sent-for-somebody",
              "A commit is sent only while it is under way, and not while a request of it is in flight.", (_SEND,),
              "M5 T3"),
    assertion("sent-in-turn", "A commit is not sent before the earlier ones are done.",
              ("KAFKA-5730", "KAFKA-10337", "KAFKA-16103"), "M6"),
    assertion("sent-when-processed",
              "The commit before a rebalance is not sent while the application has records that it has not shown to "
              "have processed.", ("KAFKA-2942",), "M4"),
    assertion("sent-with-something", "A commit of nothing is not sent.", (_SEND,), "M5"),
    assertion("sent-if-allowed",
              "A commit is sent only by a member that is in no round, or by a consumer that assigned its partitions "
              "itself.", (_SEND,), "M1 M7 C2"),
    assertion("sent-to-somebody", "A commit is not sent while no coordinator is known.",
              ("MINOR #14179 (async CommitRequestManager)",), "D4"),
    assertion("sent-after-backoff",
              "After a failed attempt a commit is not sent again before the retry backoff has passed.",
              ("KAFKA-13917",), "D3 M3"),
    ModelProperty("sent-when-due", "invariant", f"not ({DUE})", "",
                  "A commit waits for nothing else: as soon as it may be sent, it is.", (_SYNC, _PREPARE),
                  ("M3", "M6")),
    ModelProperty("sent-as-it-is", "invariant", "request == 'none' or (sent_as == 'nobody') == (request == 'nobody')",
                  "",
                  "A commit is sent as nobody exactly when the application assigned the partitions itself, and else as "
                  "the member.", ("KAFKA-14201", "KAFKA-19242"), ("M1", "X1", "D8")),
    # how it ends
    assertion(ENDS_ONCE, "A commit ends once, and nothing ends that nobody has asked for.", ("KAFKA-10793",), "T3"),
    assertion(ENDS_FOR_CAUSE, "An answer that is late ends nothing, and nothing else does that need not.",
              (_ANSWERS, "KAFKA-8104"), "J9 T3"),
    ModelProperty("ends-when-it-must", "invariant", "not owed", "",
                  "An answer for good, a failure of what is tried once, the deadline of what waits, the end of what it "
                  "was for, and the end of the consumer end a commit at once, and whoever asked is told.",
                  (_ANSWERS, "KAFKA-19357"), ("T3", "L2", "M3", "C2")),
    _ending("COMMIT_DONE",
            "A commit is called done only if the coordinator has accepted it, or if there is nothing to commit, in its "
            "turn.", (_ANSWERS, "KAFKA-6606"), "T3 M5 M6"),
    _ending("COMMIT_REFUSED",
            "A commit is called refused only if the coordinator, or the lookup of it, has failed for good; the commit "
            "before a rebalance waits on for a lookup that does not.", (_ANSWERS, _ASYNC), "D2 T3"),
    _ending("COMMIT_RETRIABLE",
            "A commit is called retriable only if it is tried once, and the attempt has failed for now, or there is "
            "nobody to send it to.", (_ANSWERS, _ASYNC), "D3 M5"),
    _ending("COMMIT_REBALANCING",
            "A commit is called rebalancing only if the coordinator says so, or if it is its turn in a round, or if an "
            "identity that was outdated in a round was rejected.", (_SEND, _ANSWERS), "M2 M7 J9"),
    _ending("COMMIT_FAILED",
            "A commit is called failed only if the group went on without this member, or without the rebalance.",
            (_SEND, _ANSWERS), "M2 M7 C2 J9"),
    _ending("COMMIT_FENCED", "A commit is called fenced only if the identity that was fenced is the consumer's still.",
            (_ANSWERS, "KIP-345"), "X2 J9"),
    _ending("COMMIT_TIMED_OUT", "A commit times out only at its deadline, and only if whoever asked waits.",
            (_SYNC, _PREPARE), "M3 D3"),
    _ending("COMMIT_CLOSED", "A commit is called closed only at the end of the consumer.", ("KAFKA-19357",), "L2 T3"),
    ModelProperty("nothing-is-done-at-once", "invariant",
                  f"asked == 'nothing' or request != 'none' or not ({IN_TURN}) or offsets != 'nothing'", "",
                  "A commit of nothing is done when it is its turn.", ("KAFKA-6606",), ("M5", "T3")),
    ModelProperty("fails-without-request", "invariant",
                  f"asked == 'nothing' or request != 'none' or not ({IN_TURN}) or stands == 'member' or stands == "
                  "'manual'", "",
                  "When it is its turn, a commit in a round or outside fails without a request, whatever the "
                  "coordinator is.", (_SEND,), ("M7", "C2")),
    ModelProperty("no-automatic-one-outside", "invariant",
                  "asked == 'nothing' or asked == 'sync' or asked == 'async' or stands != 'outside'", "",
                  "Automatic commits end with the membership.", ("KAFKA-16258",), ("C2", "M7")),
    ModelProperty("tried-once", "invariant", f"not failed_once or {PERSISTS}", "",
                  "A commit that nobody waits for, and that of the interval, are tried once.", (_ASYNC,), ("D3", "M5")),
    # what the machine believes
    ModelProperty("settled-is-over", "invariant", "(commit == 'SETTLED') == (asked == 'nothing')", "",
                  "SETTLED says that no commit is under way.", (_SYNC,), ("T3", "M5")),
    ModelProperty("sent-is-out", "invariant", "(commit == 'SENT') == (request != 'none')", "",
                  "SENT says that its request is in flight.", (_ANSWERS,), ("J9", "D1")),
    ModelProperty("purpose-is-kept", "invariant", _SAME_PURPOSE, "", "Whose commit it is does not change.",
                  (_SYNC, _ASYNC), ("M3",)),
    ModelProperty("standing-is-known", "invariant", "standing == stands", "",
                  "What the consumer is to the group is what it last became.", (_SEND,), ("M1", "M7")),
    ModelProperty("covers-is-known", "invariant", "asked == 'nothing' or covers == offsets", "",
                  "What is committed is what there is to commit when it is sent.", (_SEND,), ("M4", "M7")),
    ModelProperty("coordinator-is-known", "invariant", "coordinator_here == somebody", "",
                  "There is somebody to send to from the moment that the coordinator is found until it is lost.",
                  ("Kafka AbstractCoordinator.markCoordinatorUnknown",), ("D4", "D1")),
    ModelProperty("order-is-known", "invariant", "behind == earlier", "",
                  "A commit is behind exactly as long as earlier ones are under way.", ("KAFKA-5730",), ("M6",)),
    ModelProperty("records-are-known", "invariant", "unprocessed == handed_out", "",
                  "Records count as unprocessed until the next poll, and for the commit before a rebalance alone.",
                  ("KAFKA-2942",), ("M4",)),
    ModelProperty("backoff-is-known", "invariant", "commit_backs_off == resting", "",
                  "The retry backoff runs after each failed attempt of a commit that waits, and ends with it.",
                  ("KAFKA-13917",), ("D3", "M3")),
    ModelProperty("identity-is-known", "invariant", "request == 'none' or identity_kept == same_since", "",
                  "An answer is judged against the identity with which its request was sent.", ("KAFKA-8104",),
                  ("J9", "M2")),
    # what must always be possible, and what must follow
    ModelProperty("can-end", "recoverable", f"told != 'nothing' and told != 'COMMIT_CLOSED' or {FAULT} != 'none'", "",
                  "Whatever has happened, a commit can still end, and not only with the consumer.", ("KAFKA-19357",),
                  ("T3", "L2")),
    ModelProperty("can-be-done", "recoverable", f"told == 'COMMIT_DONE' and offsets != 'nothing' or {FAULT} != 'none'",
                  "", "Whatever has happened, something can still be committed.", (_SYNC,), ("M3", "M2")),
    ModelProperty("ends-at-last", "leads_to", "asked == 'nothing'", "asked != 'nothing'",
                  "Every commit ends, though nobody answers and the application never polls again: if time passes, a "
                  "coordinator is found and the earlier commits end.", ("KAFKA-13310", "KAFKA-19357"),
                  ("T3", "L2", "M3")),
    # what must be possible at all
    *(ModelProperty(assertion_of(word).replace("told", "reaches"), "reachable", f"told == '{word}'", "",
                    f"Someone is told: {meaning}.", (), ()) for word, meaning in COMMIT_ENDINGS.items()),
    ModelProperty("reaches-second-attempt", "reachable", "failed_once and request != 'none'", "",
                  "A commit is sent again.", (), ()),
    ModelProperty("reaches-outdated-request", "reachable",
                  "request == 'member' and not same_since and stands == 'in_round'", "",
                  "The identity changes in a round while a commit is in flight.", (), ()),
    ModelProperty("reaches-records-in-hand", "reachable", "handed_out and earlier and somebody", "",
                  "The commit before a rebalance waits for the earlier ones and for the application.", (), ()),
)  # fmt: skip


def of_a_commit() -> tuple[ModelProperty, ...]:
    """What is claimed of one commit in any environment."""
    return _OF_A_COMMIT


_BOTH = "any(request[i] and any(request[j] for j in members if j != i) for i in members)"
_GOES_BEFORE = "any(asked[j] != 'nothing' and first == j for j in members if j != i)"
_OF_TWO_COMMITS = (
    assertion(ILLEGAL, "Nothing happens that a correct peer never does: no error row fires.",
              ("the error rows of the tables",), "J9"),
    assertion(NEVER_REWINDS,
              "What the application commits is not sent after an automatic commit that covers more: nothing that is "
              "committed is taken back.", ("KAFKA-5730", "KAFKA-10337", "KAFKA-16103"), "M6"),
    assertion(DONE_IN_ORDER,
              "A commit of the application, or of close(), is done only when the one that goes before it has ended: "
              "its callback runs first.", ("KAFKA-5730",), "M6"),
    ModelProperty("one-automatic-at-a-time", "invariant",
                  f"all(not (request[i] and {AUTOMATIC.format('i')} and any(request[j] and {AUTOMATIC.format('j')} for "
                  "j in members if j != i)) for i in members)", "", "No two automatic commits are in flight.",
                  ("KAFKA-6606",), ("M5",)),
    ModelProperty("two-only-if-one-was-passed", "invariant",
                  f"not ({_BOTH}) or any(asked[i] == 'rebalance' and first != i for i in members)", "",
                  "Two commits are in flight only if one of them is the commit before a rebalance, and let the other "
                  "pass.", (_PREPARE,), ("M6", "M4")),
    ModelProperty("behind-who-goes-before", "invariant",
                  f"all(asked[i] == 'nothing' or asked[i] == 'rebalance' or behind[i] == {_GOES_BEFORE} for i in "
                  "members)", "",
                  "A commit waits for the one that goes before it, exactly as long as that is under way.",
                  ("KAFKA-5730",), ("M6",)),
    ModelProperty("nobody-waits-for-the-application", "invariant",
                  "all(not (asked[i] == 'sync' or asked[i] == 'close') or all(asked[j] != 'rebalance' or not "
                  "unprocessed[j] or not behind[i] for j in members if j != i) for i in members)", "",
                  "Nothing that the application waits for waits for its next poll.", (_PREPARE,), ("M4", "M3")),
    ModelProperty("can-be-done", "recoverable",
                  f"any(request[i] and asked[i] == 'sync' for i in members) or {FAULT} != 'none'", "",
                  "Whatever has happened, something can still be committed.", (_SYNC,), ("M3",)),
    *(ModelProperty(f"commit-{n}-ends", "leads_to", f"asked[{n}] == 'nothing'", f"asked[{n}] != 'nothing'",
                    "Every commit ends, though nobody answers and the application never polls again: if time passes "
                    "and a coordinator is found.", ("KAFKA-13310", "KAFKA-19357"), ("T3", "L2", "M3")) for n in (1, 2)),
    ModelProperty("reaches-two-in-flight", "reachable", _BOTH, "",
                  "The commit before a rebalance and one that it let pass are in flight together.", (), ()),
    ModelProperty("reaches-passing", "reachable",
                  "any(asked[i] == 'rebalance' and unprocessed[i] and any(asked[j] == 'sync' and request[j] for j in "
                  "members if j != i) for i in members)", "",
                  "commit() is answered while the commit before a rebalance waits for the application.", (), ()),
    ModelProperty("reaches-automatic-behind-automatic", "reachable",
                  "any(asked[i] == 'rebalance' and behind[i] and any(asked[j] == 'timed' and request[j] for j in "
                  "members if j != i) for i in members)", "",
                  "The commit before a rebalance waits for that of the interval.", (), ()),
    ModelProperty("reaches-dated-commit", "reachable", "any(dated[i] and request[i] for i in members)", "",
                  "A commit is sent when more has been processed since it was asked for.", (), ()),
)  # fmt: skip


def of_two_commits() -> tuple[ModelProperty, ...]:
    """What is claimed of two commits of one consumer."""
    return _OF_TWO_COMMITS
