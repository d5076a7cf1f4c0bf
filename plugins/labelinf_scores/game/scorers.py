"""What computes the curator's score: the loss itself in a chosen arithmetic, or somebody's real scorer."""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Unknown
from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_core.contracts.gate import named
from labelinf_core.plugin.worker import Aside
from labelinf_core.specs.own_code import FILES, PROGRAMS, own_function, parts_of
from labelinf_scores.arithmetic import Arithmetic, make_arithmetic
from labelinf_scores.arithmetic.exact import LEAST_BITS
from labelinf_scores.arithmetic.formats import NAMES, format_named
from labelinf_scores.game.begun import Begun, loaded_anew
from labelinf_scores.game.command_scorer import CommandScorer
from labelinf_scores.game.host_files import HostError
from labelinf_scores.game.host_formats import HostFunction, as_called, one_of
from labelinf_scores.game.host_programs import program_of_files
from labelinf_scores.game.scoring import Query, Scorer, ScorerFacts
from labelinf_scores.game.signatures import METHODS, ArgumentForm
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings import ScoredMetric
from labelinf_scores.simulation.simulator import as_vector

__all__ = ["ImportedScorer", "LossScorer", "MetricScorer", "SklearnScorer", "is_own", "make_scorer", "metric_scorer"]

_WHOLE = "everything"  # that an answer shows, and not one number of it


def _assumed(scorer: str) -> ScorerFacts:
    """Return what an attack supposes of a scorer of which nothing is known."""
    return ScorerFacts(
        arithmetic="float64",
        clip=float(np.finfo(np.float64).eps),
        summation="unknown",
        input_format="float64",
        effects=(Unknown(stage=scorer),),
    )


@attrs.frozen(kw_only=True)
class LossScorer:
    """The loss itself, computed in one arithmetic."""

    loss: AdditiveLoss
    numbers: Arithmetic

    @property
    def facts(self) -> ScorerFacts:
        """What is public about it: it never clips."""
        name = self.numbers.name
        return ScorerFacts(arithmetic=name, clip=0.0, summation=self.numbers.summation, input_format=name)

    def score(self, labels: NDArray[np.intp], query: Query) -> Any:
        """Return the mean loss, rounded as the arithmetic rounds.

        Raises:
            QueryRefusedError: A number is beyond the range of the arithmetic.
        """
        asked = query.precision
        # Who is answered in three bits is not answered in the score: a certificate would have to count its errors.
        numbers = self.numbers.at_precision(None if asked is None else max(asked, LEAST_BITS))
        with suppress(InputError), numbers.context():
            return numbers.release(self.loss.score(labels, query.predictions, numbers))
        # Which number that was is a fact about the labels, and a caught exception would keep it.
        raise QueryRefusedError(f"a prediction or a cost is beyond the range of {numbers.name}.")


@attrs.frozen(kw_only=True)
class SklearnScorer:
    """``sklearn.metrics.log_loss`` itself.

    Attributes:
        n_classes: K; passed as ``labels=`` so that an absent class is no error (the error would itself be a leak).
        dtype: The curator converts predictions to this type first.
    """

    n_classes: int
    dtype: str = "float64"

    @property
    def facts(self) -> ScorerFacts:
        """What is public about it: scikit-learn clips at the machine epsilon of the predictions' type."""
        return ScorerFacts(
            arithmetic=_sklearn_arithmetic(self.dtype),
            clip=float(np.finfo(self.dtype).eps),
            summation="numpy",
            input_format=self.dtype,
        )

    def score(self, labels: NDArray[np.intp], query: Query) -> Any:
        """Return scikit-learn's score; its warning about rows that do not sum to one is not repeated."""
        from sklearn.metrics import log_loss

        predictions = make_arithmetic(self.dtype).convert(query.predictions)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return log_loss(labels, predictions, labels=np.arange(self.n_classes))


@functools.cache
def _sklearn_arithmetic(dtype: str) -> str:
    """Return the arithmetic in which scikit-learn adds up the losses of predictions of type ``dtype``.

    Before version 1.9 it multiplies the logarithms by integer indicators, which turns single precision into double.
    Asking it settles the matter for any version; doubles stay doubles in all of them.
    """
    if dtype == "float64":
        return dtype
    from sklearn.metrics import log_loss

    answer = log_loss([0, 1], np.array([0.1, 0.3], dtype=dtype))
    return "float32" if float(np.float32(answer)) == answer else "float64"


@attrs.frozen(kw_only=True)
class MetricScorer:
    """The library's own function of a metric that is no mean of a loss.

    Attributes:
        metric: What is scored.
        values: What every class stands for, where the metric scores numbers; empty: 0, 1, ..., K - 1.
    """

    metric: ScoredMetric
    values: tuple[float, ...] = ()

    @property
    def facts(self) -> ScorerFacts:
        """What is public about it: doubles; the error of its arithmetic is a part of the metric."""
        return ScorerFacts(arithmetic="float64", clip=0.0, summation="numpy", input_format="float64")

    def score(self, labels: NDArray[np.intp], query: Query) -> Any:
        """Return the library's score.

        Raises:
            InputError: It raises, or there is no score of such labels.
        """
        predictions = np.asarray(query.predictions, dtype=np.float64)
        name = type(self.metric).__name__
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = float(self.metric.score(valued(labels, self.metric, self.values), predictions))
        except Exception as error:  # its text may hold labels
            raise InputError(f"the metric {name} raised {named(error)}.") from None
        if not math.isfinite(value):
            raise InputError(f"the metric {name} has no value on these labels.")
        return value


@attrs.frozen(kw_only=True)
class ImportedScorer:
    """A function the user names, called as ``function(labels, predictions)``, or as a competition's host calls it.

    Attributes:
        target: ``module:function``, with ``@column`` for what a host's tables call labels and predictions, and
            ``#name`` for one of several numbers that it returns by name.
        function: The function itself.
        facts: What is taken for granted of it: nothing is known of a user's own function.
    """

    target: str
    function: Callable[..., Any] = attrs.field(repr=False)
    facts: ScorerFacts
    _names: list[str] = attrs.field(factory=list, init=False, repr=False, eq=False)
    _aside: Aside = attrs.field(init=False, repr=False, eq=False)

    @_aside.default
    def _asked_aside(self) -> Aside:
        return Aside(name=f"scorer {self.target}", function=self._called)

    @property
    def among(self) -> str:
        """Which of several numbers is scored, and how another is named, in a clause; empty where there is but one."""
        if not self._names:
            return ""
        name = parts_of(self.target)[2]
        whole = self.target.removesuffix(f"#{name}")
        name = name or self._names[0]
        other = next(other for other in self._names if other != name)
        return f"{name!r} of the numbers it returns ({', '.join(self._names)}; {whole}#{other} is another)"

    @property
    def called(self) -> str:
        """How it is called, in a clause; empty of a program."""
        return self.function.signature.how if isinstance(self.function, HostFunction) else ""

    @property
    def plain(self) -> bool:
        """Whether it is called with arrays of labels and predictions in this order, and its parameters are named so."""
        return not isinstance(self.function, HostFunction) or self.function.signature.plain

    @property
    def unnamed(self) -> tuple[str, ...]:
        """How each of several numbers is asked for; empty where there is but one, or one was asked for."""
        return () if parts_of(self.target)[2] else tuple(f"{self.target}#{name}" for name in self._names)

    @classmethod
    def load(cls, target: str) -> ImportedScorer:
        """Import ``module:function``.

        Raises:
            InputError: It cannot be imported or is not callable.
        """
        return cls(target=target, function=_own(target), facts=_assumed(target))

    def score(self, labels: NDArray[np.intp], query: Query) -> Any:
        """Return the function's answer.

        Raises:
            InputError: It raises, or returns something else than one finite number.
            ComponentError: It ended the program, or was lost before: it hung, or took its process with it.
        """
        predictions = np.asarray(query.predictions)
        predictions = predictions if predictions.dtype.kind in "Ui" else predictions.astype(np.float64)
        value, names = self._aside(labels.copy(), predictions.copy())
        if not self._names:  # of made labels: names may say what private ones are
            self._names[:] = names
        return value

    def whole(self, labels: NDArray[Any], predictions: NDArray[Any]) -> NDArray[np.float64]:
        """Return all that the function shows, as numbers.

        Raises:
            InputError: It raises.
            ComponentError: It ended the program, or was lost before.
        """
        return np.array(self._aside(labels.copy(), predictions.copy(), _WHOLE))

    def begun(self) -> Begun:
        """Return the function as :meth:`whole` has it, on its first day."""
        return Begun(name=f"scorer {self.target}", load=self._begun)

    def _begun(self) -> Callable[..., Any]:
        name, column, _ = parts_of(self.target)
        module, _, path = name.partition(":")
        if not isinstance(self.function, HostFunction):  # a program, which is started for every answer
            return functools.partial(self._called, shown=_WHOLE)
        fresh = as_called(loaded_anew(module, path), column)
        signature = attrs.evolve(self.function.signature, function=fresh.signature.function)
        scorer = attrs.evolve(self, function=attrs.evolve(fresh, signature=signature))
        return functools.partial(scorer._called, shown=_WHOLE)

    def _called(self, labels: NDArray[np.intp], predictions: NDArray[Any], shown: str = "") -> Any:
        if shown == _WHOLE:
            return as_vector(self._answered(labels, predictions)).tolist()
        return self._one(self._answered(labels, predictions))

    def _answered(self, labels: NDArray[np.intp], predictions: NDArray[Any]) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = self.function(labels, predictions)
            if inspect.isawaitable(answer) or inspect.isgenerator(answer):
                raise HostError(
                    f"returned a {type(answer).__name__}, expected numbers; name a function that returns them."
                )
            return answer
        except HostError as error:
            raise InputError(f"scorer {self.target!r} {error}") from None
        except Exception as error:
            raise InputError(
                f"scorer {self.target!r} raised {named(error)}. What it says may hold labels and is not shown; "
                f"it was given {self._given(labels, predictions)}."
            ) from error

    def _given(self, labels: NDArray[Any], predictions: NDArray[Any]) -> str:
        """Say what it was called with."""
        form = self.function.signature.form if isinstance(self.function, HostFunction) else ArgumentForm.ARRAYS
        of = {"i": ", classes counted from 0", "U": ", texts"}.get(labels.dtype.kind, ", numbers")
        kind = " in CSV files" if form is ArgumentForm.FILES else form.value
        shape = " x ".join(map(str, predictions.shape))
        return f"{len(labels)} labels{of}, and predictions of shape {shape}{kind}"

    def _one(self, answer: Any) -> tuple[float, tuple[str, ...]]:
        name = parts_of(self.target)[2]
        try:
            answer, names = one_of(answer, name)
        except KeyError as error:
            which = f"no number {name!r}; it has {error.args[0] or 'none'}" if name else "no number"
            raise InputError(f"scorer {self.target!r} returned {which}.") from error
        try:
            value = float(answer)
        except Exception as error:  # whatever was answered converts itself
            several = isinstance(answer, (tuple, list)) or np.ndim(answer) > 0
            hint = "; give a function that returns one of them, and audit one after the other" if several else ""
            raise InputError(
                f"scorer {self.target!r} returned {type(answer).__name__}, expected one number{hint}."
            ) from error
        if not math.isfinite(value):
            raise InputError(f"scorer {self.target!r} returned a number that is not finite.")
        return value, names


def _own(target: str) -> HostFunction:
    """Import a user's scorer, however it is called; one whose names do not say how is tried aside.

    Raises:
        InputError: It cannot be imported, or is not callable.
    """
    name, column, _ = parts_of(target)
    try:
        found = as_called(own_function(name, "scorer", METHODS), column)
    except HostError as error:
        raise InputError(f"scorer {target!r} {error}") from None
    accepts = lambda signature: bool(Aside(name=f"scorer {target}", function=signature.accepts_made)())  # noqa: E731
    return attrs.evolve(found, signature=found.signature.settled(accepts))


def is_own(name: str) -> bool:
    """Whether a scorer is a user's own function or program."""
    return name.startswith(PROGRAMS) or (
        ":" in name and not name.startswith("sklearn:") and not format_named(name).known
    )


def _program(name: str) -> Scorer | None:
    """Return the scorer that is a program; None where the name is another's."""
    if name.startswith("cmd:"):
        return CommandScorer(command=name.removeprefix("cmd:"), facts=_assumed(name))
    if name.startswith(FILES):
        command, columns, _ = parts_of(name)
        run = program_of_files(command.partition(":")[2], columns)
        return ImportedScorer(target=name, function=run, facts=_assumed(name))
    return None


def make_scorer(name: str, loss: AdditiveLoss, n_classes: int) -> Scorer:
    """Return the scorer that a suite names.

    Args:
        name: ``sklearn``, ``sklearn:float32``, ``module:function``, ``cmd:PROGRAM ARGUMENT ...``,
            ``files:PROGRAM`` (or ``codabench:PROGRAM``) or the name of an arithmetic.
        loss: What it must compute.
        n_classes: K.

    Raises:
        InputError: There is no such scorer, or it computes another loss.
    """
    if name in ("sklearn", "sklearn:float32"):
        if type(loss) is not LogLoss:  # what derives from it may compute anything
            raise InputError(
                f"scorer {name!r} computes the log-loss, not {type(loss).__name__}; use float64, float32, exact, "
                f"fpa:PHI or your own module:function."
            )
        return SklearnScorer(n_classes=n_classes, dtype="float32" if name.endswith("32") else "float64")
    if own := _program(name):
        return own
    if is_own(name):
        return ImportedScorer.load(name)
    try:
        numbers = make_arithmetic(name)
    except InputError as error:
        raise InputError(
            f"there is no scorer {name!r}; choose sklearn, sklearn:float32, an arithmetic ({', '.join(NAMES)}), "
            f"your own module:function or cmd:PROGRAM."
        ) from error
    _need_classes(loss, numbers, n_classes)
    return LossScorer(loss=loss, numbers=numbers)


def _need_classes(loss: AdditiveLoss, numbers: Arithmetic, n_classes: int) -> None:
    """Refuse a loss of two classes where there are more.

    Raises:
        InputError: It has no cost for every class.
    """
    if n_classes == 2:
        return
    row = np.full((1, n_classes), 1 / n_classes)
    try:
        with numbers.context():
            costs = np.shape(loss.costs(numbers.convert(row), numbers))
    except Exception:  # somebody's own may want other rows
        costs = (1, 2) if loss.fault(row, 1, n_classes) else (1, n_classes)
    if costs != (1, n_classes):
        raise InputError(f"the loss {type(loss).__name__} is for two classes, and there are {n_classes}.")


def valued(labels: NDArray[np.intp], metric: ScoredMetric, values: tuple[float, ...]) -> NDArray[Any]:
    """Return labels as a metric scores them: what their classes stand for, where it scores numbers."""
    return np.array(values)[labels] if metric.of_values and values else labels


def metric_scorer(name: str, metric: ScoredMetric, values: tuple[float, ...] = ()) -> Scorer:
    """Return what computes a metric that is no mean of a loss: the library's function, or a user's own.

    Args:
        name: ``sklearn``, ``module:function`` or ``cmd:PROGRAM``; of the last two, nothing is known.
        metric: What is scored.
        values: What every class stands for.

    Raises:
        InputError: ``name`` is something that averages a loss.
    """
    if name == "sklearn":
        return MetricScorer(metric=metric, values=values if metric.of_values else ())
    if own := _program(name):
        return own
    if is_own(name):
        return ImportedScorer.load(name)
    raise InputError(
        f"scorer {name!r} averages a loss; the metric {type(metric).__name__} is computed by sklearn, or by your own "
        f"module:function or cmd:PROGRAM."
    )
