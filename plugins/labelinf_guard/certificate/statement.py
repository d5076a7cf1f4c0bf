"""The certificate of a board: its terms, its arithmetic, and the sentences that are printed.

A sentence that cannot be proved is not printed. Every gain is over a *perfect model*, never over what anybody knows
without the board: who does not know how labels depend on features learns it from any board, by ten honest submissions,
and then predicts labels that were never scored.
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs

from labelinf_guard.certificate.gain import blind, counts_bits, gain_of_bits, game_line, spread_gain
from labelinf_guard.certificate.noise import StepNoise, record_bits
from labelinf_guard.certificate.response import response_bits, response_epsilon, response_gain

__all__ = [
    "FORM",
    "Certificate",
    "Part",
    "Terms",
    "certify",
    "counted",
    "points",
    "proved_bits",
    "sealed_gain",
    "thousandths",
]

FORM = 2  #: of the arithmetic: the first charged known class counts to sealed labels too as one more answer


@attrs.frozen(kw_only=True)
class Part:
    """Labels that the same answers depend on: those of the public board, or the sealed ones.

    Attributes:
        labels: How many, at least 0.
        effective: N_eff where they come in groups; None where they are independent.
        bits: What all answers about them tell at most; infinity where nothing limits it.
        noise: Of all answers about them; None where there is none.
        units: Records: groups where labels are grouped, else labels.
        flip: Probability with which each of these labels was replaced by another class, once; 0: none was.
    """

    labels: int
    effective: Fraction | None = None
    bits: float = math.inf
    noise: StepNoise | None = None
    units: int = attrs.field(default=attrs.Factory(lambda part: part.labels, takes_self=True))
    flip: Fraction = Fraction(0)


@attrs.frozen(kw_only=True)
class Terms:
    """What a certificate is about.

    Attributes:
        classes: K.
        perfect: ``p*``, the host's assumption about a perfect model; None assumes nothing.
        counts_known: Whether attackers may know the class counts. A page about the data usually prints them.
        public: What the answers of the board depend on.
        sealed: The other labels, before the final release: no answer depends on them.
        final: Bits of the final release about the sealed labels; None where there is none.
        released: What that is, in words: how many scores, of how many decimals, and ranks.
        secret: Whether nobody outside knows which labels are public.
        doubt: Probability of the game's sentence.
        group: What a group of dependent labels is called, for example ``patients``; empty: labels are independent.
        values: Whether labels are numbers, of which only the very one is right.
        ends: When the certificate ends, in words; empty where it does not.
        form: Of the arithmetic: a board goes on with the one that it was begun with.
    """

    classes: int
    public: Part
    sealed: Part
    perfect: float | None = None
    counts_known: bool = True
    final: float | None = None
    released: str = ""
    secret: bool = True
    doubt: float = 1e-6
    group: str = ""
    values: bool = False
    ends: str = ""
    form: int = FORM

    @property
    def labels(self) -> int:
        """N."""
        return self.public.labels + self.sealed.labels

    @property
    def share(self) -> Fraction:
        """The share of labels that is public."""
        return Fraction(self.public.labels, self.labels)

    @property
    def rare(self) -> float:
        """Bits of the known class counts, which are one more answer."""
        return counts_bits(self.labels, self.classes) if self.counts_known else 0.0

    @property
    def spread(self) -> bool:
        """Whether known class counts are charged to sealed labels by how their sum spreads, while no answer is."""
        return self.form > 1 and self.counts_known and self.classes == 2 and not self.group and self.sealed.labels > 0

    @property
    def left(self) -> float:
        """D, what a perfect model leaves to gain."""
        return blind(self.perfect, self.classes)

    @property
    def within(self) -> float | None:
        """``p*`` of the public labels, and of the sealed ones.

        It is that of all labels where each is as likely public as any other. Of groups of unequal size the large ones
        may always be, and all that is unsure may be in them: nothing is assumed of a part then.
        """
        return None if self.group else self.perfect


def counts_said(terms: Terms) -> str:
    """Say who knows the class counts, and what that is worth."""
    if not terms.counts_known:
        return "The class counts are not known."
    more = ": where sizes differ those of this very board may tell every label" if terms.group else ""
    return f"The class counts are known, too, which is allowed for on average over the counts of such labels{more}."


@attrs.frozen(kw_only=True)
class Certificate:
    """What is proved, as shares of all labels.

    Attributes:
        terms: What it is about.
        now: Points over a perfect model before the final release, as a share.
        after: The same after it; None where there is none.
        line: Share that one list of guesses reaches with probability ``doubt`` at most, before the final release;
            None where no such sentence is proved.
    """

    terms: Terms
    now: float
    after: float | None
    line: float | None

    @property
    def void(self) -> bool:
        """Whether nothing is proved: what may be gained is all that a perfect model leaves, now or at the end."""
        return max(self.now, self.after or 0.0) >= self.terms.left - 1e-9

    def sentences(self) -> list[str]:
        """Return the certificate, sentence by sentence, in the order in which it is printed."""
        terms = self.terms
        unit = terms.group or "records"
        said = [
            f"Model. Whoever attacks already knows the true relation of labels and features; given that, labels of "
            f"different {unit} are independent. {counts_said(terms)} Learning that relation from the board is not "
            f"counted as leakage and is not limited by this certificate.",
            self._gain(),
            *self._game(),
            f"Record. {self._record()}",
        ]
        if terms.ends:
            said.append(f"Ends. {terms.ends}")
        near = "guesses near a label that are not the label, " if terms.values else ""
        return [
            *said,
            f"Not covered: {near}logs, staff, label errors, duplicates across {unit}, time beyond the beat, "
            "other boards of these labels.",
        ]

    def arithmetic(self) -> list[str]:
        """Return the numbers behind the sentences, for whoever checks them."""
        terms = self.terms
        lines = [
            f"{terms.public.labels} of {terms.labels} labels are scored; {terms.classes} classes; a perfect model "
            f"leaves {points(terms.left)} points at most",
            f"answers of the board: {_bits(terms.public.bits)}; known class counts: {terms.rare:.1f} bits",
        ]
        if terms.spread:
            lines.append(
                f"class counts tell of the sealed labels {points(sealed_gain(terms, 0.0))} points more than a perfect "
                "model that knows them has, while no answer depends on these"
            )
        if terms.group:
            effective = terms.public.effective or Fraction(terms.public.labels)
            lines.append(f"groups of unequal size count as {float(effective):.0f} of equal size")
        if (noise := terms.public.noise) is not None:
            lines.append(
                f"noise: discrete Gaussian, mu = {noise.mu:.4f}; by the sum over the lattice one of the "
                f"{terms.group or 'records'} moves all {noise.answers} answers by {points(noise.distance())} % in "
                "total variation"
            )
        if terms.public.flip:
            lines.append(
                f"every scored label was replaced by another class with probability {float(terms.public.flip):g}, once"
            )
        if terms.final is not None:
            told = f", {terms.released}" if terms.released else ""
            lines.append(f"final release: {_bits(terms.final)} about {terms.sealed.labels} sealed labels{told}")
        return lines

    def _gain(self) -> str:
        terms = self.terms
        if self.void:
            return "Gain. Void: nothing is proved about how many labels this board gives away."
        drawn = ", and over which of them are public," if terms.sealed.labels else ""
        knows = " that knows the class counts" if terms.spread else ""
        said = (
            f"Gain. On average over such labels{drawn} no rule that uses every answer of this board, by all teams "
            f"together, is right on more than {points(self.now)} points more labels than a perfect model{knows} would "
            "be"
        )
        return f"{said}." if self.after is None else f"{said}; {points(self.after)} points after the final release."

    def _game(self) -> list[str]:
        terms = self.terms
        if self.line is None or self.void:
            return []
        parts = ", of the public labels and of the others" if terms.sealed.labels else ""
        until = " before the final release" if terms.final is not None else ""
        return [
            f"Game. One list of guesses fixed by a rule{until} is right on {points(self.line)} % or more of the labels "
            f"with probability {terms.doubt:g} at most, over labels drawn from that relation, if a perfect model is "
            f"right on {100 * (terms.perfect or 0):g} % on average{parts} (your assumption; not measured)."
        ]

    def _record(self) -> str:
        terms = self.terms
        said = []
        until = "Until the final release: " if terms.final is not None else ""
        if terms.public.flip:
            epsilon = response_epsilon(terms.public.flip, terms.classes)
            said.append(f"{math.ceil(1000 * epsilon) / 1000:.3f}-private for every public label, by its own noise")
        if (noise := terms.public.noise) is not None:
            rho = math.ceil(1000 * noise.square / 2) / 1000
            said.append(f"the board's answers are {rho:.3f}-concentrated private for every {terms.group or 'record'}")
        if terms.secret and 0 < terms.share < 1 and not terms.group:  # of unequal groups some are public more often
            said.append(f"(0, {float(terms.share):g})-private while it is secret which records are public")
        return f"{until}{'; '.join(said)}." if said else "None: one answer may be spent on one record."


def certify(terms: Terms) -> Certificate:
    """Compute what holds: the least of what the bits, the noise and the split prove, over disjoint labels."""
    public = float(terms.share) * _part_gain(terms, terms.public)
    now = min(terms.left, public + sealed_gain(terms, 0.0))
    after = None if terms.final is None else min(terms.left, public + sealed_gain(terms, terms.final))
    return Certificate(terms=terms, now=now, after=after, line=_line(terms))


def sealed_gain(terms: Terms, bits: float) -> float:
    """Return what ``bits`` about the sealed labels, and known class counts, are worth as a share of all labels."""
    found = float(1 - terms.share) * _bits_gain(terms, terms.sealed, bits)
    if bits or not terms.spread:
        return found
    return min(found, spread_gain(terms.public.labels, terms.sealed.labels, left=terms.left))


def _bits_gain(terms: Terms, part: Part, bits: float) -> float:
    if part.labels == 0:
        return 0.0
    return gain_of_bits(
        bits + terms.rare, part.labels, classes=terms.classes, perfect=terms.within, effective=part.effective
    )


def proved_bits(terms: Terms, part: Part) -> float:
    """Return what all answers about ``part`` tell of its labels at most, in bits: by count, noise and replacement."""
    left, found = blind(terms.within, terms.classes), [part.bits]
    if part.noise is not None:
        grouped = bool(terms.group)
        units = part.units if grouped else part.labels
        mu, known = part.noise.mu, terms.counts_known
        found.append(record_bits(units, mu, classes=terms.classes, left=left, grouped=grouped, counts_known=known))
    if part.flip:
        found.append(response_bits(part.labels, part.flip, terms.classes, left))
    return min(found)


def _part_gain(terms: Terms, part: Part) -> float:
    left = blind(terms.within, terms.classes)
    found = [left, _bits_gain(terms, part, proved_bits(terms, part))]
    if part.noise is not None and not terms.counts_known:
        found.append(left * part.noise.distance())
    if part.flip and not (terms.counts_known or terms.group):
        found.append(response_gain(part.flip, terms.classes, left))
    return min(found)


def _line(terms: Terms) -> float | None:
    """Return the line of one game; of groups and of noise in answers no sentence is proved."""
    if terms.perfect is None or terms.group:
        return None
    by_bits, by_split, flip = math.isfinite(terms.public.bits), terms.sealed.labels > 0, terms.public.flip
    doubt = terms.doubt / max(1, by_bits + by_split + bool(flip))  # the least of several lines: each with its share

    def line(bits: float, labels: int, perfect: float) -> float | None:
        return game_line(bits, labels, perfect, doubt=doubt, rare=terms.rare)

    found = []
    if by_bits:
        found.append(line(terms.public.bits, terms.labels, terms.perfect))
    if by_split:
        rest = line(0.0, terms.sealed.labels, terms.perfect)
        found.append(None if rest is None else (terms.public.labels + rest * terms.sealed.labels) / terms.labels)
    if flip:
        more = float(terms.share) * response_gain(flip, terms.classes, terms.left)
        found.append(line(0.0, terms.labels, terms.perfect + more))
    return min((share for share in found if share is not None), default=None)


def thousandths(share: float) -> int:
    """Return a share in thousandths, rounded up; what a product of floats adds is none."""
    return math.ceil(1000 * share - 1e-9)


def counted(number: int, word: str) -> str:
    """Write a number of things, one of them in the singular."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def points(share: float) -> str:
    """Write a share in per cent with one decimal, rounded up."""
    return f"{thousandths(share) / 10:.1f}"


def _bits(bits: float) -> str:
    return f"{bits:.1f} bits" if math.isfinite(bits) else "not limited"
