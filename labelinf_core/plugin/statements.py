"""A published statement: what it says, whether it is true, where it is implemented and which test holds it."""

from __future__ import annotations

import enum

import attrs

__all__ = ["Statement", "StatementStatus"]


class StatementStatus(enum.Enum):
    """What became of a statement when it was checked."""

    OK = "ok"
    """True as printed (or a definition), within the range that its test names."""

    REPAIRED = "repaired"
    """Wrong or incomplete as printed; a corrected form is implemented."""

    FALSE = "false as printed"
    """A counterexample is known; the corrected form, where there is one, is implemented."""

    OPEN = "open"
    """Stated as proved, in fact an open problem."""


@attrs.frozen(kw_only=True)
class Statement:
    """One row of ``labelinf theorems``.

    Attributes:
        key: Short stable name, for example ``"S16"``.
        title: What it is called in its source, for example ``"Aggarwal et al., ICML 2021, Lemma 2"``.
        says: The implementable form, one sentence.
        status: What became of it.
        code: ``module:object`` of every implementation.
        tests: ``path::test`` of every test that holds it.
        erratum: Key of the erratum it falls under (``"I-9"``), if any.
        counterexample: Smallest known counterexample to the printed form, if it has one.
        repaired: The corrected statement, if there is one.
        worked: A worked number that a reader can check by hand.
    """

    key: str
    title: str
    says: str
    status: StatementStatus
    code: tuple[str, ...]
    tests: tuple[str, ...]
    erratum: str = ""
    counterexample: str = ""
    repaired: str = ""
    worked: str = ""
