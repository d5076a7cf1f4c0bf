"""Audits a kind of model: plants labels in a data set, trains it and reference models, and hands over what they say.

For whoever asks whether a library's model keeps the epsilon that it states. A model that takes ``epsilon`` is given the
claimed one. What is tested is what it tells of labels: a claim about whole *records* says more than that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_outputs.audit.plant import Planting, drawn, training
from labelinf_outputs.audit.planted import Planted, sealed_of
from labelinf_outputs.audit.predictions import Predictions
from labelinf_outputs.game.training import Recipe, TrainingTask, one_hot
from labelinf_outputs.game.victims import make_victim
from labelinf_outputs.game.view import View

__all__ = ["trained"]

_HOW = Planting(share=0.4, references=4)
_TEST = 0.1  # of the records are kept to see what the model is good for


def trained(victim: str, data: LabelSet, claim: PrivacyClaim, seed: int) -> tuple[Planted, float]:
    """Return what there is to audit, and the share of unseen records that the model gets right.

    Args:
        victim: As a suite names it.
        data: Records with features.
        claim: What is tested.
        seed: Everything random follows from it.

    Raises:
        InputError: There are no features, too few records, or the victim cannot be trained.
    """
    if data.features is None:
        raise InputError(f"labels {data.title!r} come without features; a model is trained on features.")
    rng, model = np.random.default_rng(seed), make_victim(victim)
    test, kept = np.split(rng.permutation(data.n_records), [max(int(_TEST * data.n_records), 1)])
    ids, texts = [str(row) for row in kept], [data.class_names[k] for k in data.labels[kept]]
    seal, _ = drawn(ids, texts, _HOW, rng, data.title)
    place = {name: k for k, name in enumerate(seal.classes)}
    recipe = Recipe(epsilon=claim.epsilon if math.isfinite(claim.epsilon) else None)
    said, right = [], []
    for number, planted in enumerate((seal.labels, *seal.references), 1):  # 0 would be the stream of the labels
        rows, mixed = training(seal, planted, ids, texts, _HOW.copies)
        targets = one_hot(np.array([place[mixed[row]] for row in rows], dtype=np.intp), len(place))
        task = gate.seal(TrainingTask(features=data.features[kept[rows]], targets=targets, recipe=recipe))
        made = model.train(task, np.random.default_rng([seed, number])).model
        shown = np.exp(made.log_probabilities(data.features[kept]))
        logs = np.log(np.maximum(shown, View().smallest))
        known: dict[str, Any] = {"class_names": seal.classes, "records": np.array(ids)}
        said.append((f"model {number}", Predictions(probabilities=shown, log_probabilities=logs, **known)))
        guesses = made.log_probabilities(data.features[test]).argmax(axis=1)
        right.append(np.mean([place.get(data.class_names[k]) for k in data.labels[test]] == guesses))
    return sealed_of(said, seal, view=View()), float(right[0])
