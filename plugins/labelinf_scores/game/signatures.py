"""What a scorer takes: which argument is which, and in what form, told by the names of its parameters.

Hosts and libraries hand over the same two things, labels and predictions, in either order, as arrays, data frames,
files or tensors, to functions, to objects with ``compute``, or by an estimator that predicts. One table of names says
which is which. Where names do not say, both orders are tried on made labels, and the one that alone is accepted is
taken; else the labels come first. What is refused as arrays is tried as lists.

Example:
    >>> signature = signature_of(lambda preds, target: 0.5)
    >>> signature.how
    'called as (preds: predictions, target: labels), by the names of its parameters'
"""

from __future__ import annotations

import copy
import enum
import functools
import inspect
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.game.estimators import as_estimator
from labelinf_scores.game.host_files import HostError, write_table
from labelinf_scores.simulation.simulator import as_vector

__all__ = ["METHODS", "ArgumentForm", "ArgumentRole", "Signature", "roles_of", "signature_of"]

METHODS = ("compute", "_compute", "update")  #: of an object that scores, the likeliest first


class ArgumentRole(enum.Enum):
    """What an argument is."""

    LABELS = "labels"
    PREDICTIONS = "predictions"
    KEY = "the column that names the rows"
    PHASE = "a phase"
    ESTIMATOR = "an estimator that predicts"
    FEATURES = "features"


class ArgumentForm(enum.Enum):
    """In what form labels and predictions are handed over."""

    ARRAYS = ""
    LISTS = " as lists"
    FRAMES = " as data frames"
    FILES = " as files"
    TENSORS = " as tensors"


class _Reason(enum.Enum):
    """Why an order was taken."""

    NAMES = "by the names of its parameters"
    TRIED = "the one order that it accepts"
    ORDER = "labels first: neither names nor a trial say otherwise"


_NAMES = {
    ArgumentRole.LABELS: "y y_true y_test label labels target targets reference references solution answer answers "
    "truth ground_truth true gold gt actual actuals expected test_annotation_file",
    ArgumentRole.PREDICTIONS: "p y_pred y_score y_prob y_proba y_hat pred preds prediction predictions predicted prob "
    "probs proba probas probabilities score scores submission submitted guess guesses output outputs "
    "user_submission_file",
    ArgumentRole.KEY: "row_id_column_name",
    ArgumentRole.PHASE: "phase_codename",
    ArgumentRole.ESTIMATOR: "estimator",
    ArgumentRole.FEATURES: "x",
}
_ROLES = {name.replace("_", ""): role for role, names in _NAMES.items() for name in names.split()}
_FRAMES = ("solution", "submission", "answers")  # names that hosts give to tables
_PAIR = (ArgumentRole.LABELS, ArgumentRole.PREDICTIONS)


def roles_of(names: tuple[str, ...]) -> dict[str, ArgumentRole]:
    """Return what parameters of such names are, the first of a role only; of two, one may tell what the other is.

    >>> [role.name for role in roles_of(("outputs", "y")).values()]
    ['PREDICTIONS', 'LABELS']
    """
    found: dict[str, ArgumentRole] = {}
    for name in names:
        role = _ROLES.get(name.lower().replace("_", ""))
        if role is not None and role not in found.values():
            found[name] = role
    lacking = [role for role in _PAIR if role not in found.values()]
    rest = [name for name in names if name not in found]
    if len(lacking) == len(rest) == 1 and len(names) == 2 and ArgumentRole.ESTIMATOR not in found.values():
        found[rest[0]] = lacking[0]
    return {name: found[name] for name in names if name in found}


@attrs.frozen(kw_only=True)
class Signature:
    """A scorer as one function of labels and predictions.

    Attributes:
        function: The host's.
        roles: What its parameters are, by name; those that have no name for us by their places.
        keywords: Whether it takes them by name alone.
        form: What it takes.
        reason: Why labels and predictions are taken for what they are.
        lacking: Parameters that it needs and that nothing here is for.
    """

    function: Callable[..., Any] = attrs.field(repr=False)
    roles: Mapping[str, ArgumentRole]
    keywords: bool = False
    form: ArgumentForm = ArgumentForm.ARRAYS
    reason: _Reason = _Reason.NAMES
    lacking: tuple[str, ...] = ()

    @property
    def how(self) -> str:
        """How it is called, in a clause."""
        pair = [
            f"{name}: {role.value}" for name, role in self.roles.items() if role in (*_PAIR, ArgumentRole.ESTIMATOR)
        ]
        return f"called as ({', '.join(pair)}){self.form.value}, {self.reason.value}"

    @property
    def plain(self) -> bool:
        """Whether it takes arrays of labels and predictions in this order, and names them so."""
        return (tuple(self.roles.values()), self.form, self.reason) == (_PAIR, ArgumentForm.ARRAYS, _Reason.NAMES)

    @property
    def takes_key(self) -> bool:
        """Whether it is told which column names the rows."""
        return ArgumentRole.KEY in self.roles.values()

    def __call__(self, labels: Any, predictions: Any, key: str = "") -> Any:
        """Return its answer.

        Args:
            labels: An array, or a table by columns where it takes data frames or files.
            predictions: The same.
            key: The column that names the rows.

        Raises:
            HostError: It wants what is not installed, or what nobody has.
            Exception: Whatever it raises.
        """
        if self.lacking:
            raise HostError(
                f"needs more than labels and predictions ({', '.join(self.lacking)}); "
                f"name a function of these two that gives it the rest."
            )
        given: dict[ArgumentRole, Any] = {ArgumentRole.KEY: key, ArgumentRole.PHASE: "test"}
        if ArgumentRole.ESTIMATOR in self.roles.values():
            given |= {
                ArgumentRole.ESTIMATOR: as_estimator(labels, predictions),
                ArgumentRole.FEATURES: np.zeros((len(labels), 1)),
            }
        if self.form is ArgumentForm.FILES:
            with tempfile.TemporaryDirectory() as folder:
                paths = Path(folder, "annotations.csv"), Path(folder, "submission.csv")
                for path, table in zip(paths, (labels, predictions), strict=True):
                    write_table(path, table)
                return self._called(given | dict(zip(_PAIR, map(str, paths), strict=True)))
        formed: Callable[[Any], Any] = _FORMED.get(self.form, lambda given: given)
        answer = self._called(
            given | {ArgumentRole.LABELS: formed(labels), ArgumentRole.PREDICTIONS: formed(predictions)}
        )
        return _numbers(answer) if self.form is ArgumentForm.TENSORS else answer

    def _called(self, given: Mapping[ArgumentRole, Any]) -> Any:
        if self.keywords:
            return self.function(**{name: given[role] for name, role in self.roles.items()})
        return self.function(*(given[role] for role in self.roles.values()))

    def settled(self, accepts: Callable[[Signature], bool]) -> Signature:
        """Return it as it is accepted: as lists where not as arrays, in the one order where names do not say which."""
        ways = [self]
        if self.reason is _Reason.ORDER:
            ways += [attrs.evolve(self, roles=dict(zip(self.roles, [*self.roles.values()][::-1], strict=True)))]
        for form in (ArgumentForm.ARRAYS, ArgumentForm.LISTS) if self.form is ArgumentForm.ARRAYS else (self.form,):
            taken = [way for each in ways if accepts(way := attrs.evolve(each, form=form))]
            if taken:
                alone = len(taken) < len(ways)
                return attrs.evolve(taken[0], reason=_Reason.TRIED) if alone else taken[0]
        return self

    def accepts_made(self) -> bool:
        """Whether it has a finite answer about some made labels."""
        rng, n = np.random.default_rng(0), 24
        for k in (1, 2, 3):
            rows = rng.uniform(0.05, 0.95, n) if k == 1 else rng.dirichlet(np.ones(k), n)
            try:
                answer = as_vector(self(rng.permutation(n) % max(2, k), rows))
            except Exception:  # that it refuses is what is asked
                continue
            if answer.size and np.isfinite(answer).all():
                return True
        return False


def signature_of(scorer: Any) -> Signature:
    """Return how a scorer is called: a function, an object that scores, or a class of such objects.

    Raises:
        HostError: It is a class that makes no object without arguments.
    """
    if isinstance(scorer, type):
        try:
            scorer = scorer()
        except Exception as error:
            raise HostError(
                f"is a class, and raised {type(error).__name__} when it was called for an object."
            ) from error
    for name in METHODS if not inspect.isroutine(scorer) else ():
        method = getattr(scorer, name, None)
        if callable(method) and (told := _told(method)).reason is _Reason.NAMES:
            whole = callable(getattr(scorer, "compute", None)) and name == "update"
            return attrs.evolve(told, function=functools.partial(_updated, scorer)) if whole else told
    return _told(scorer)


def _told(function: Callable[..., Any]) -> Signature:
    """Return what the names of a function's parameters tell."""
    try:
        every = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # it does not tell
        every = ()  # type: ignore[assignment]
    listed = [each for each in every if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    needed = [each for each in listed if each.default is each.empty] or listed
    roles = roles_of(tuple(each.name for each in needed))
    if not set(_PAIR) <= set(roles.values()) and not {ArgumentRole.ESTIMATOR, ArgumentRole.LABELS} <= set(
        roles.values()
    ):
        first = tuple(each.name for each in needed[:2]) if len(needed) > 1 else ("first", "second")
        lacking = tuple(each.name for each in needed[2:] if each.default is each.empty)
        roles = dict(zip(first, _PAIR, strict=True))
        return Signature(function=function, roles=roles, reason=_Reason.ORDER, lacking=lacking)
    taken = [each for each in needed if each.name in roles]
    skipped = [each.name for each in listed[: listed.index(taken[-1])] if each.name not in roles]
    keywords = bool(skipped) or any(each.kind is each.KEYWORD_ONLY for each in taken)
    lacking = tuple(each.name for each in needed if each.name not in roles and each.default is each.empty)
    return Signature(function=function, roles=roles, keywords=keywords, form=_form(taken), lacking=lacking)


def _form(parameters: list[inspect.Parameter]) -> ArgumentForm:
    """Return in what form parameters want labels and predictions: what annotations say, else what names do."""
    noted = " ".join(str(each.annotation) for each in parameters if each.annotation is not each.empty)
    for word, form in (
        ("Tensor", ArgumentForm.TENSORS),
        ("DataFrame", ArgumentForm.FRAMES),
        ("ndarray", ArgumentForm.ARRAYS),
        ("list", ArgumentForm.LISTS),
        ("List", ArgumentForm.LISTS),
    ):
        if word in noted:
            return form
    names = {each.name for each in parameters}
    if any(name.endswith("_file") for name in names):
        return ArgumentForm.FILES
    return ArgumentForm.FRAMES if names & set(_FRAMES) else ArgumentForm.ARRAYS


def _updated(metric: Any, *given: Any, **named: Any) -> Any:
    """Return what an object that accumulates says of these alone: it is the object as it was named, every time."""
    metric = copy.deepcopy(metric)
    if hasattr(metric, "reset"):
        metric.reset()
    metric.update(*given, **named)
    return metric.compute()


def _frame(table: Any) -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise HostError("takes data frames, and pandas is not installed: pip install 'labelinf[frame]'.") from None
    return pd.DataFrame(table)


def _tensor(array: NDArray[Any]) -> Any:
    try:
        import torch
    except ImportError:
        raise HostError("takes tensors, and torch is not installed: pip install 'labelinf[torch]'.") from None
    return torch.from_numpy(np.ascontiguousarray(array))


def _numbers(answer: Any) -> Any:
    """Return tensors as numbers."""
    if isinstance(answer, Mapping):
        return {name: _numbers(value) for name, value in answer.items()}
    return answer.tolist() if hasattr(answer, "tolist") else answer


_FORMED: Mapping[ArgumentForm, Callable[[Any], Any]] = {
    ArgumentForm.LISTS: lambda given: given.tolist(),
    ArgumentForm.FRAMES: _frame,
    ArgumentForm.TENSORS: _tensor,
}
