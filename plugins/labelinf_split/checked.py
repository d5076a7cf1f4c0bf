"""``labelinf check`` of a recorded run of split learning: what stands at the label party is seen from the gradients.

No label is looked at to choose the attack that counts: without a top ``p - e_y`` sums to 0 with one negative entry, and
gradients of a linear top have rank ``K - 1`` at most in every step.
"""

from __future__ import annotations

import functools
import zipfile

import numpy as np

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.checked import Checked, CheckQuestion
from labelinf_core.contracts.components import of_channel
from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_split.audit.judged import audited
from labelinf_split.audit.reading import read_run
from labelinf_split.commands import COUNTED, lines, proved
from labelinf_split.game.view import Side, SplitAttack, SplitView

__all__ = ["SplitCheck", "seen_top"]

_ROWS = "columns id and label; and known, 1 for a few labels of every class that the feature party knows, else 0"


class SplitCheck:
    """What :class:`labelinf_split.recorder.CutRecorder` writes, with the table of the labels that were planted."""

    uses = frozenset({"table", "column"})

    def takes(self, asked: CheckQuestion) -> bool:
        """Whether it is an archive of embeddings and gradients, and no client's."""
        if "model" in asked.given or not zipfile.is_zipfile(asked.thing):
            return False
        with zipfile.ZipFile(asked.thing) as archive:
            return {"embeddings.npy", "gradients.npy"} <= set(archive.namelist())

    def check(self, asked: CheckQuestion) -> Checked:
        """Audit the run on what was planted.

        Raises:
            InputError: The table is missing, no label is known, or something cannot be used.
        """
        run, table = asked.thing, asked.table
        if not table or asked.column not in ("", "label"):
            raise InputError(f"{run} is a recorded run: name the table of its planted labels after it ({_ROWS}).")
        read = functools.partial(read_run, run=run, canaries=table, known=None, label_features=False, defended=False)
        top = seen_top(read(top=Side.MLP.value)[0])
        view, labels = read(top=top.value)
        if top is not Side.NONE and not view.shots.size:
            raise InputError(f"{table}: nothing tells which class is which; it needs {_ROWS}.")
        name = COUNTED[top.value]
        attack = of_channel(asked.builder.build(Kind.ATTACK, name, "attack"), SplitAttack, "attack", "split")
        found = audited(view, labels, name, attack, claim=None, seed=0)
        said = f"{found.correct} of {found.n_canaries} planted labels by {name} (chance {1 / found.n_classes:.0%})"
        said += "; if noise changed gradients, or labels, add --defended to what comes next" * (top is Side.MLP)
        stopped = "randomised response on labels, one draw a person, as proved; labelinf matrix split plays it"
        return Checked(
            what=f"the run in {run}; the simplest top that explains its gradients is {top.value!r}",
            decision=found,
            answer=Answer(leaks="; ".join(found.voids) or f"{said}; {proved(found)}", stopped=stopped),
            then=asked.command("labelinf", "audit", "split", run, "--canaries", table, "--top", top.value),
            lines=tuple(lines(found)),
        )


def seen_top(view: SplitView) -> Side:
    """Return what explains the gradients of every step: no top, a linear one, or else any."""
    sent, rounding, most = view.sent, view.threat.rounding, view.threat.n_classes - 1
    shown = sent[np.linalg.norm(sent, axis=2) > 100 * rounding]
    if len(shown) and (np.abs(shown.sum(axis=1)) < rounding).all() and ((shown < 0).sum(axis=1) == 1).all():
        return Side.NONE
    sizes = [np.linalg.svd(sent[view.rows_of(step)], compute_uv=False) for step in range(view.n_steps)]
    ranked = [each[most] <= rounding * each[0] for each in sizes if len(each) > most]  # else any top has such a rank
    return Side.LINEAR if ranked and all(ranked) else Side.MLP
