"""``labelinf check`` of a model's predictions: audited where labels were planted, else how to plant them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.audited import AuditDecision, AuditWord
from labelinf_core.contracts.checked import Checked, CheckQuestion
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.outputs import audit_outputs
from labelinf_outputs.audit.planted import read_sealed
from labelinf_outputs.audit.seal import read_seal
from labelinf_outputs.audit.words import answer, lines
from labelinf_outputs.game.view import Outputs, View

__all__ = ["PredictionsCheck"]

_FILES = (".csv", ".npy", ".npz", ".parquet")
_SHOWN = {"probabilities", "logits"}  # arrays of an archive that holds predictions


def _arrays(path: Path) -> set[str]:
    """Return the names of an archive's arrays; none of what is no archive."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return set(archive.files)
    except (OSError, ValueError, zipfile.BadZipFile):
        return set()


class PredictionsCheck:
    """A file of a model's predictions, one row a record."""

    uses = frozenset({"seal"})

    def takes(self, asked: CheckQuestion) -> bool:
        """Whether it is such a file, and no other option says that it is something else."""
        if asked.path.suffix not in _FILES or not asked.path.is_file() or {"scores", "model"} & set(asked.given):
            return False
        return asked.path.suffix != ".npz" or bool(_SHOWN & _arrays(asked.path))

    def check(self, asked: CheckQuestion) -> Checked:
        """Audit the predictions on what was planted; without a seal nothing can be shown.

        Raises:
            InputError: A file cannot be used.
        """
        seal = asked.given.get("seal", "")
        if not seal:
            return _unplanted(asked)
        view = View(outputs=Outputs.PROBABILITIES)
        planted = read_sealed(asked.thing, read_seal(seal, ""), (), view=view, pool=0, features=None)
        found = audit_outputs(
            planted,
            asked.builder,
            claim=PrivacyClaim(),
            rng=np.random.default_rng(0),
            progress=asked.progress,
        )
        return Checked(
            what=f"predictions in {asked.thing}",
            decision=found.decision,
            answer=answer(found.decision),
            then=f"labelinf audit outputs {asked.thing} --seal {seal} --owner owner.html",
            lines=(*lines(found, str(view)),),
        )


class _Unplanted(AuditDecision):
    """A finished model of whose training labels none were planted: nothing can be proved of it."""

    @property
    def word(self) -> AuditWord:
        """Nothing is shown."""
        return AuditWord.UNSHOWN


def _unplanted(asked: CheckQuestion) -> Checked:
    return Checked(
        what=f"predictions in {asked.thing}",
        decision=_Unplanted(),
        answer=Answer(
            leaks="predictions alone do not show it: a good model and one that knows labels by heart look alike. "
            "Labels planted before training tell them apart; without, labelinf audit finished observes, no more",
            stopped="not known before it is tested",
        ),
        then="labelinf plant training.csv --column LABEL --out plan; train on plan's file; "
        f"labelinf check {asked.thing} --seal plan/sealed.json",
    )
