"""Labels from gradients of a linear top, and cuts that are solved for, behind encryption and Marvell (V3 to V7, V10).

*Solved*: the label party has no features, and one top and one labelling explain the gradients of a step to rounding.
*Known top*: ``g = W'q`` gives ``q``, whose one negative entry is the label's. *Sides*: of two classes the gradients of
a step lie on one line, on either side of 0, which their direction says (V3). Only what is solved is certified: sides
are the labels' if labels are hard, which sides cannot show. Nothing below rounding counts.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import ABSTAIN, Guess
from labelinf_split.attacks.logits import CutArgmin, single, votes
from labelinf_split.attacks.published import CutDirection
from labelinf_split.game.view import Floats, Labels, Side, SplitAttack, SplitThreat, SplitView
from labelinf_split.recovery import Solved, TopFit, names_of, solve_step, unit

__all__ = ["SURE", "CutParameters", "LinearTop", "NoiseSubspace", "cone_labels", "on_a_line", "parts", "unmixed"]

SURE = 1e6  #: confidence in what is certified
_CLEAR = 100
_EPOCHS = 2  # that are looked at, at least: records have to meet again once
_WORST = 0.1  # what rounding may come to behind that, as a share of what comes out
_REPEATS = 1e-8  # what the square of a cosine may lack; random directions of two entries come so near in 1 of 10 000
_LOOKED = 1000  # gradients of a step that are compared with one another
_LEADING = 3
_TURNS = 100
_PATIENCE = 12  # steps that may be refused in a row before the road is left
_CONTRADICT = (
    "none: records that are of two classes by what is solved: {}. Check that an id is one person, with one label in "
    "all passes, and that known labels are those that were trained on"
)


def cone_labels(gradients: Floats, top: Floats, rounding: float) -> Labels:
    """Return the labels of gradients of a known linear top, ``ABSTAIN`` where rounding hides one.

    ``g = W'q`` and ``sum(q) = 0`` have one solution where the rows of W are affinely independent (V5). Entries of ``q``
    are off by ``rounding`` and what is left of ``g``, magnified by the system; a fitted record has none larger.
    """
    system = np.append(top, np.ones((len(top), 1)), axis=1)
    if np.linalg.matrix_rank(system) < len(top):
        return np.full(len(gradients), ABSTAIN)
    inverse = np.linalg.pinv(system)
    q = gradients @ inverse[:-1]
    off = np.linalg.norm(q @ top - gradients, axis=1)[:, None]
    return single(q < -np.linalg.norm(inverse, 2) * (rounding * np.linalg.norm(system, 2) + off))


@attrs.frozen(kw_only=True)
class LinearTop(SplitAttack):
    """Solves steps one after the other until every canary has a name; others by direction, if all classes have one."""

    named: ClassVar[bool] = False

    def lacking(self, threat: SplitThreat) -> str:
        """It needs a linear top, and names."""
        if threat.run.top is not Side.LINEAR:
            return "needs a linear top"
        named = threat.run.shots or threat.run.top_known
        return super().lacking(threat) or ("" if named else "needs some known labels to name classes")

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess."""
        if view.top_weights is not None:
            return _by_known_top(view, view.top_weights)
        labels, sure, said = _solved(view, rng)
        sure, certified = sure[view.targets], float(sure[view.targets].mean())
        if view.threat.drawn:
            certified, said = 0.0, f"{Solved.NONE.value}: labels may be drawn"
        named = not view.threat.nameless or view.threat.n_classes == 2  # else what most steps say, of named classes
        rest = CutDirection().run(view, rng) if named else view.guess(labels, np.zeros(len(labels)))
        return Guess(
            labels=np.where(sure, labels[view.targets], rest.labels),
            confidence=np.where(sure, SURE, np.asarray(rest.confidence)),
            evidence={"certified": certified, "certificate": said},
        )


def _solved(view: SplitView, rng: np.random.Generator) -> tuple[Labels, NDArray[np.bool_], str]:
    """Return what most steps say, what of it is certified, twice where records meet again, and what that is worth."""
    threat, sent, steps, n = view.threat, view.sent, view.n_steps, len(view.features)
    groups, worst, refused, near = list[Labels](), Solved.PROVED, 0, None
    of_pass = max(steps // len(view.step), 1)
    labels, sure, contradict = np.full(n, ABSTAIN), np.zeros(n, dtype=bool), 0
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
            groups.append(np.stack([where[1], fit.labels])[:, fit.sure])
        if (step + 1) % of_pass == 0 or step == steps - 1:
            labels, sure, contradict = names_of(groups, view.shots, n, threat.n_classes, min(_EPOCHS, len(view.step)))
            if contradict or sure[view.targets].all():
                break
    said = f"{worst.value}, names by known labels" if sure[view.targets].any() else Solved.NONE.value
    said = _CONTRADICT.format(contradict) if contradict else said
    return labels, sure, said


def _by_known_top(view: SplitView, tops: Floats) -> Guess:
    labels, sent = np.full(view.step.shape, ABSTAIN), view.sent
    for step, top in enumerate(tops.astype(np.float64)):
        where = view.rows_of(step)
        labels[where] = cone_labels(sent[where], top, view.threat.rounding)
    said = "none: conditional on hard labels"
    return view.nearest(votes(labels, view.threat.n_classes), certified=0.0, certificate=said)


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
        if not threat.run.encrypted or threat.run.top not in _NEXT:
            return "needs mean gradients of its own weights (encrypted=true), and a linear top or none"
        return _NEXT[threat.run.top].unsupported_reason(_in_clear(threat))

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess."""
        assert view.own is not None
        run, step, worst = view.threat.run, view.step.copy(), 0.0
        least = 1e-7 if run.precision == "single" else 1e-15
        found, hidden = np.zeros(view.embeddings.shape), run.hidden if run.bottom is Side.MLP else 0
        for number, (weights, mean) in enumerate(view.own):
            where = view.rows_of(number)
            looked = bool(len(where[0])) and where[0].max() < _EPOCHS
            sent = unmixed(view.features[where[1]], weights, mean, hidden, view.threat.width) if looked else None
            if sent is None or sent[1] * least > _WORST:
                step[where] = -1
            else:
                found[where], worst = sent[0], max(worst, sent[1])
        solved = float(np.mean(step >= 0))
        shown = attrs.evolve(view, threat=_in_clear(view.threat), gradients=found, step=step)
        guess = _NEXT[run.top].run(shown, rng)
        return attrs.evolve(guess, evidence={**guess.evidence, "solved": solved, "condition": worst})


_NEXT: dict[Side, SplitAttack] = {Side.NONE: CutArgmin(), Side.LINEAR: LinearTop()}


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


def parts(view: SplitView) -> bool:
    """Return whether most steps fall into gradients on a line and off it, which is seen without any label."""
    sent = view.sent
    lines = [on_a_line(sent[view.rows_of(step)]) for step in range(view.n_steps)]
    return 2 * sum(line is not None for line in lines) > len(lines)


@attrs.frozen(kw_only=True)
class NoiseSubspace(SplitAttack):
    """Parts every step into gradients on a line and off it, through Marvell's noise.

    Its optimum puts spherical noise on one class and leaves the other in the span of the clean gradients, **exactly**
    where that is smaller than the cut. Where it is not, energy off the leading directions tells them apart on average,
    and records that meet again tell which class has the noise in a step.
    """

    def lacking(self, threat: SplitThreat) -> str:
        """It tells two classes apart."""
        if threat.n_classes != 2 or threat.width < 2:
            return "needs two classes and a cut of two entries or more"
        return super().lacking(threat)

    def run(self, view: SplitView, rng: np.random.Generator) -> Guess:
        """Guess; which class has the noise may change from step to step."""
        scores, sent = np.zeros(view.step.shape), view.sent
        for step in range(view.n_steps):
            where = view.rows_of(step)
            if len(where[0]) > _LEADING:
                line = on_a_line(sent[where])
                score = _energy(sent[where]) if line is None else np.where(line, -1.0, 1.0)
                scores[where] = score - score.mean()
        total, steps = scores.sum(axis=0), np.maximum(view.step, 0)  # of what was left out the score is 0
        for _ in range(_TURNS):  # steps are turned round as the records' votes say
            agreed = np.bincount(steps.ravel(), (scores * total).ravel(), minlength=view.n_steps)
            total = unit((scores * agreed[steps]).sum(axis=0))
        means = view.of_class(total)
        labels = ((total > 0) == (means[1] > means[0])).astype(np.intp)
        return view.guess(labels, np.abs(total))


def _energy(gradients: Floats) -> Floats:
    """Return the logarithm of what lies off the leading directions, of spread one."""
    _, _, rows = np.linalg.svd(gradients, full_matrices=False)
    off = gradients - gradients @ rows[:_LEADING].T @ rows[:_LEADING]
    energy = np.log(np.maximum(np.square(off).sum(axis=1), 1e-300))
    return np.asarray(energy / max(float(energy.std()), 1e-300))
