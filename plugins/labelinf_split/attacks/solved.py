"""Labels from gradients of a linear top, and cuts that are solved for, behind encryption and Marvell (V3, V4, V7, V10).

*Solved*: the label party has no features, and one top and one labelling explain the gradients of a step to rounding.
*Signs*: of two classes the gradients of a step lie on one line, on either side of 0. Records that meet again tie steps
together; known labels name what hangs together. Only what is solved is certified: signs are the labels' if labels are
hard, which signs cannot show. Nothing below rounding counts.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from labelinf_core.contracts.components import ABSTAIN, Guess
from labelinf_split.attacks.logits import CutArgmin
from labelinf_split.attacks.published import CutDirection
from labelinf_split.game.view import Floats, Labels, Side, SplitAttack, SplitThreat, SplitView
from labelinf_split.recovery import Solved, Ties, TopFit, solve_step, unit

__all__ = ["CutParameters", "LinearTop", "NoiseSubspace", "line_sides", "on_a_line", "unmixed"]

_CLEAR = 100
_EPOCHS = 2  # that are solved for gradients: records have to meet again once
_WORST = 0.1  # what rounding may come to behind that, as a share of what comes out
_REPEATS = 1e-8  # what the square of a cosine may lack; random directions of two entries come so near in 1 of 10 000
_LOOKED = 1000  # gradients of a step that are compared with one another
_LEADING = 3
_TURNS = 100
_PATIENCE = 12  # steps that may be refused in a row before the road is left


def line_sides(gradients: Floats, rounding: float) -> Labels | None:
    """Return on which side of 0 every gradient of a step lies; None: not on one line.

    Sides are 0 and 1, and ``ABSTAIN`` below rounding.
    """
    longest = float(np.linalg.norm(gradients, axis=1).max())
    if not 0 < longest < np.inf:
        return None
    _, _, rows = np.linalg.svd(gradients / longest, full_matrices=False)
    along = gradients @ rows[0] / longest
    off = np.linalg.norm(gradients / longest - along[:, None] * rows[0], axis=1)
    if off.max() >= rounding:
        return None
    return np.where(np.abs(along) < _CLEAR * rounding, ABSTAIN, (along > 0).astype(np.intp))


@attrs.frozen(kw_only=True)
class LinearTop(SplitAttack):
    """Solves steps one after the other until every canary has a name; by direction where no step can be solved."""

    def lacking(self, threat: SplitThreat) -> str:
        """It needs a linear top."""
        return super().lacking(threat) or ("" if threat.run.top is Side.LINEAR else "needs a linear top")

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess."""
        labels, said = _solved(view, rng)
        found = labels[view.targets] != ABSTAIN
        drawn = np.isfinite(view.threat.label_epsilon)
        certified = 0.0 if drawn else float(found.mean())
        if not found.any() and view.threat.n_classes == 2:
            labels, said = _by_signs(view), "none: signs, conditional on hard labels"
            found = labels[view.targets] != ABSTAIN
        rest = CutDirection().run(view, rng)
        return Guess(
            labels=np.where(found, labels[view.targets], rest.labels),
            confidence=np.where(found, 1e6, np.asarray(rest.confidence)),
            evidence={"certified": certified, "certificate": said if found.any() else Solved.NONE.value},
        )


def _solved(view: SplitView, rng: np.random.Generator) -> tuple[Labels, str]:
    """Return certified labels, ``ABSTAIN`` without, and what the certificate is worth."""
    threat, sent, steps = view.threat, view.sent, view.n_steps
    ties, worst, refused = Ties(len(view.features), steps, threat.n_classes), Solved.PROVED, 0
    near, drawn = None, bool(np.isfinite(threat.label_epsilon))
    for step in range(steps):
        where = view.rows_of(step)
        if not len(where[0]) or refused == _PATIENCE:
            continue
        fit: TopFit | None = solve_step(
            sent[where], view.embeddings[where].astype(np.float64), threat.n_classes, threat.rounding, rng, near
        )
        explained = fit is not None and fit.residual < threat.rounding
        near, refused = (fit, 0) if explained else (near, refused + 1)
        if fit is not None and fit.solved is not Solved.NONE:
            worst = fit.solved if worst is Solved.PROVED else worst
            ties.join(step, where[1][fit.sure], fit.labels[fit.sure])
        ended = not drawn and (step + 1) % max(steps // len(view.step), 1) == 0  # an epoch
        if ended and (ties.names(view.shots)[view.targets] != ABSTAIN).all():
            break
    return ties.names(view.shots, drawn), "none: labels are drawn" if drawn else f"{worst.value}, names by known labels"


def _by_signs(view: SplitView) -> Labels:
    sent, ties = view.sent, Ties(len(view.features), view.n_steps, 2)
    for step in range(view.n_steps):
        where = view.rows_of(step)
        sides = line_sides(sent[where], view.threat.rounding) if len(where[0]) else None
        if sides is not None:
            ties.join(step, where[1][sides != ABSTAIN], sides[sides != ABSTAIN])
    return ties.names(view.shots)


def unmixed(x: Floats, weights: Floats, mean: Floats, hidden: int, width: int) -> tuple[Floats, float] | None:
    """Return the gradients of all records of a step, and how much rounding is magnified; None: not determined.

    ``weights`` are the network's in that step, layer after layer, the last one linear, and ``mean`` their gradient.
    """
    x, weights = x.astype(np.float64), weights.astype(np.float64)
    (n, inputs), first, outer, parts = x.shape, x.shape[1] * hidden, x, []
    if hidden:
        before = x @ weights[:first].reshape(inputs, hidden) + weights[first : first + hidden]
        last = weights[first + hidden : first + hidden * (1 + width)].reshape(hidden, width)
        back = (before > 0)[:, :, None] * last  # of every hidden unit by every entry, record by record
        parts = [np.einsum("ip,ihd->phid", x, back), back.transpose(1, 0, 2)]
        outer = np.maximum(before, 0)
    eye = np.eye(width)
    parts += [np.einsum("ih,de->hdie", outer, eye), np.broadcast_to(eye[:, None], (width, n, width))]
    system = np.concatenate([part.reshape(-1, n * width) for part in parts])
    if len(system) < n * width:
        return None
    left, sizes, right = np.linalg.svd(system, full_matrices=False)
    if sizes[-1] <= 1e-9 * sizes[0]:
        return None
    found = right.T @ (left.T @ (mean.astype(np.float64) * n) / sizes)
    return found.reshape(n, width), float(sizes[0] / sizes[-1])


@attrs.frozen(kw_only=True)
class CutParameters(SplitAttack):
    """Solves every step for the gradients of its records, then reads them as a cut's; unsolved steps stay out.

    Behind encryption the mean gradient of the feature party's own weights is what it must be given to train.
    """

    named: ClassVar[bool] = False

    def lacking(self, threat: SplitThreat) -> str:
        """It needs the mean gradients of the own weights."""
        if not threat.run.encrypted or threat.run.top is Side.MLP:
            return "needs mean gradients of its own weights (encrypted=true), and a linear top or none"
        return _next(threat).unsupported_reason(_in_clear(threat))

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess."""
        assert view.own_weights is not None
        assert view.own_gradients is not None
        run, step, worst = view.threat.run, view.step.copy(), 0.0
        least = 1e-7 if run.precision == "single" else 1e-15
        found, hidden = np.zeros(view.embeddings.shape), run.hidden if run.bottom is Side.MLP else 0
        for number, (weights, mean) in enumerate(zip(view.own_weights, view.own_gradients, strict=True)):
            where = view.rows_of(number)
            looked = bool(len(where[0])) and where[0].max() < _EPOCHS
            sent = unmixed(view.features[where[1]], weights, mean, hidden, view.threat.width) if looked else None
            if sent is None or sent[1] * least > _WORST:
                step[where] = -1
            else:
                found[where], worst = sent[0], max(worst, sent[1])
        solved = float(np.mean(step >= 0))
        shown = attrs.evolve(view, threat=_in_clear(view.threat), gradients=found, step=step)
        guess = _next(view.threat).run(shown, rng)
        return attrs.evolve(guess, evidence={**guess.evidence, "solved": solved, "condition": worst})


def _next(threat: SplitThreat) -> SplitAttack:
    return CutArgmin() if threat.run.top is Side.NONE else LinearTop()


def _in_clear(threat: SplitThreat) -> SplitThreat:
    return attrs.evolve(threat, run=attrs.evolve(threat.run, encrypted=False))


def on_a_line(gradients: Floats) -> Floats | None:
    """Return which gradients of a step lie on one line, three or more, where nearly all others repeat nobody's."""
    lines = unit(gradients)
    some = lines[:: -(-len(lines) // _LOOKED)]
    repeats = 1 - np.square(some @ some.T) < _REPEATS
    most = repeats.sum(axis=1).argmax()
    alone = (repeats[most] | (repeats.sum(axis=1) == 1)).mean() > 0.9
    line = 1 - np.square(lines @ some[most]) < _REPEATS
    return np.asarray(line) if alone and 3 <= line.sum() < len(line) else None


@attrs.frozen(kw_only=True)
class NoiseSubspace(SplitAttack):
    """Parts every step into gradients on a line and off it, through Marvell's noise.

    Its optimum puts spherical noise on one class and leaves the other in the span of the clean gradients, **exactly**
    where that is smaller than the cut. Where it is not, energy off the leading directions tells them apart on average.
    """

    def lacking(self, threat: SplitThreat) -> str:
        """It tells two classes apart."""
        if threat.n_classes != 2 or threat.width < 2:
            return "needs two classes and a cut of two entries or more"
        return super().lacking(threat)

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess; which class has the noise may change from step to step."""
        scores, sent, parted = np.zeros(view.step.shape), view.sent, 0
        for step in range(view.n_steps):
            where = view.rows_of(step)
            if len(where[0]) > _LEADING:
                line = on_a_line(sent[where])
                parted += line is not None
                score = _energy(sent[where]) if line is None else np.where(line, -1.0, 1.0)
                scores[where] = score - score.mean()
        total, exact = scores.sum(axis=0), 2 * parted > view.n_steps
        for _ in range(_TURNS if exact else 0):  # steps are turned round as the records' votes say
            agreed = np.bincount(view.step.ravel(), (scores * total).ravel(), minlength=view.n_steps)
            total = unit((scores * agreed[view.step]).sum(axis=0))
        middle, means = (total.min() + total.max()) / 2 if exact else np.median(total), view.of_class(total)
        labels = ((total > middle) == (means[1] > means[0])).astype(np.intp)
        return view.guess(labels, np.abs(total - middle), steps_parted=parted / view.n_steps)


def _energy(gradients: Floats) -> Floats:
    """Return the logarithm of what lies off the leading directions, of spread one."""
    _, _, rows = np.linalg.svd(gradients, full_matrices=False)
    off = gradients - gradients @ rows[:_LEADING].T @ rows[:_LEADING]
    energy = np.log(np.maximum(np.square(off).sum(axis=1), 1e-300))
    return np.asarray(energy / max(float(energy.std()), 1e-300))
