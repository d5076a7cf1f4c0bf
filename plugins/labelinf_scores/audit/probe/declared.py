"""What a host says of her own scorer, in a small TOML file; tried out like everything else.

Every entry may be left out::

    metric = "log-loss"     # or roc-auc, accuracy, ...; labelinf plugins lists them
    direction = "lower"     # what is better
    decimals = 5            # "full" where no digit is cut
    clip = 1e-15            # probabilities are clipped there; 0: not at all
    public = "public.csv"   # one line a record, with 1 where it is scored (or a list)
    weights = "weights.csv" # one number a line (or a list): what every record weighs

What the probe finds to be otherwise is the file's mistake, and nothing is played on it.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_data.table import read_rows
from labelinf_scores.audit.probe.picture import Picture
from labelinf_scores.metrics.readings import ScoredMetric
from labelinf_scores.metrics.readings.weighted import WeightedLogLoss

__all__ = ["Declared"]

_FULL = "full"
_WORDS = ("higher", "lower")
_OFF = 1e-3  # relative error of a weight, or of a clip, beyond what was measured


@attrs.frozen(kw_only=True, eq=False)
class Declared:
    """What is declared; None: nothing is said of it.

    Attributes:
        where: The file.
        metric: Name of the metric.
        direction: ``"higher"`` or ``"lower"``: what is better.
        decimals: Decimals of the answers, or ``"full"``.
        clip: Probabilities are clipped to ``[clip, 1 - clip]``; 0: not.
        public: Which records are scored, shape ``(n_records,)``.
        weights: What every record weighs, shape ``(n_records,)``.
    """

    where: str
    metric: str | None = None
    direction: str | None = None
    decimals: int | str | None = None
    clip: float | None = None
    public: NDArray[np.bool_] | None = None
    weights: NDArray[np.float64] | None = None

    @classmethod
    def read(cls, path: str, n_records: int) -> Declared:
        """Read a declaration.

        Raises:
            InputError: It cannot be read, or says what cannot be meant.
        """
        try:
            told = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"--declare {path} cannot be read ({type(error).__name__}).") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path} is no TOML: {error}.") from error
        names = [field.name for field in attrs.fields(cls) if field.name != "where"]
        if unknown := sorted(set(told) - set(names)):
            raise InputError(f"{path}: unknown entry {unknown[0]!r}; choose {', '.join(names)}.")
        _check(path, told)
        folder = Path(path).parent
        public, weights = (_column(path, name, told.get(name), folder, n_records) for name in ("public", "weights"))
        return cls(
            where=path,
            metric=told.get("metric"),
            direction=told.get("direction"),
            decimals=told.get("decimals"),
            clip=told.get("clip"),
            public=None if public is None else public != 0,
            weights=weights,
        )

    @property
    def named(self) -> tuple[str, ...]:
        """What is declared."""
        fields = (field.name for field in attrs.fields(Declared) if field.name != "where")
        return tuple(name for name in fields if getattr(self, name) is not None)

    def among(self, metrics: Mapping[str, ScoredMetric]) -> Mapping[str, ScoredMetric]:
        """Return the metrics that may be meant.

        Raises:
            InputError: None of that name can be read here.
        """
        if self.metric is None:
            return metrics
        name = self.metric.replace("_", "-")
        if name not in metrics:
            raise InputError(
                f"{self.where}: metric = {self.metric!r} is none that can be read here; choose {', '.join(metrics)}."
            )
        return {name: metrics[name]}

    def checked(self, picture: Picture) -> Picture:
        """Return the picture with what was declared and found to be so.

        Raises:
            InputError: Something was found to be otherwise.
        """
        for wrong in (self._direction(picture), self._decimals(picture), self._clip(picture), *self._records(picture)):
            if wrong:
                raise InputError(f"{self.where} declares {wrong}")
        return attrs.evolve(picture, declared=self.named, where=self.where)

    def _direction(self, picture: Picture) -> str:
        fit = picture.found.fit
        probe = np.array([0.4, 0.6])
        rises = bool(np.diff(fit.forward(probe))[0] > 0)
        found = _WORDS[0] if rises == picture.metric.higher else _WORDS[1]
        if self.direction in (None, found):
            return ""
        return f"that {self.direction} is better, and of better predictions the score is {found}."

    def _decimals(self, picture: Picture) -> str:
        if self.decimals is None:
            return ""
        step = picture.found.fit.level.step
        if picture.found.fit.level.digits:
            return f"decimals = {self.decimals}, and answers have {picture.digits}."
        if self.decimals == _FULL:
            return f"all digits, and answers come in steps of {step:.6g}." if step else ""
        answers = picture.found.panel.answers
        decimals = int(self.decimals)
        if np.abs(np.round(answers, decimals) - answers).max() > 4 * np.spacing(np.abs(answers).max()):
            return f"{decimals} decimals, and an answer had more."
        coarse = step > 10.0**-decimals * (1 + 1e-9)
        return f"{decimals} decimals, and all answers come in steps of {step:.6g}." if coarse else ""

    def _clip(self, picture: Picture) -> str:
        if self.clip is None or not picture.mean:
            return ""
        limits = picture.limits
        error = max(limits.error, _OFF) * limits.clip
        if limits.refused:
            return f"a clip, and predictions beyond {limits.clip:.2g} are refused."
        if abs(self.clip - limits.clip) <= error:
            return ""
        found = f"certainty is charged as if clipped at {limits.clip:.4g}" if limits.clip else "no clip shows"
        return f"clip = {self.clip:g}, and {found}."

    def _records(self, picture: Picture) -> tuple[str, ...]:
        metric, found = picture.metric, []
        measured = picture.scored.astype(float)
        if isinstance(metric, WeightedLogLoss):
            measured[picture.scored] = metric.weights
        if self.public is not None and not np.array_equal(self.public, measured != 0):
            found.append(f"{int(self.public.sum())} public records, and other labels move the score.")
        if self.weights is not None:
            ours = np.abs(measured) / np.abs(measured).sum()
            theirs = np.abs(self.weights) / np.abs(self.weights).sum()
            error = metric.error / np.abs(measured).sum() if isinstance(metric, WeightedLogLoss) else 0.0
            if np.abs(ours - theirs).max() > 2 * error + _OFF * theirs.max():
                found.append("weights that are not those by which labels move the score.")
        return tuple(found)


def _check(path: str, told: Mapping[str, Any]) -> None:
    """Refuse entries of a wrong type or range."""
    decimals, clip = told.get("decimals"), told.get("clip")
    whole = isinstance(decimals, int) and not isinstance(decimals, bool) and 0 <= decimals <= 12
    number = isinstance(clip, int | float) and not isinstance(clip, bool) and 0 <= clip < 0.5
    if not isinstance(told.get("metric", ""), str):
        raise InputError(f"{path}: metric must be a name, such as 'log-loss'.")
    if told.get("direction", "lower") not in _WORDS:
        raise InputError(f"{path}: direction must be 'higher' or 'lower'.")
    if decimals is not None and decimals != _FULL and not whole:
        raise InputError(f"{path}: decimals must be a number from 0 to 12, or 'full'.")
    if clip is not None and not number:
        raise InputError(f"{path}: clip must be a number from 0 to 0.5.")


def _column(path: str, name: str, told: Any, folder: Path, n_records: int) -> NDArray[np.float64] | None:
    """Return one number a record, from a list or from the last column of a file."""
    if told is None:
        return None
    if isinstance(told, str):
        cells = [row[-1] for _, row in read_rows(str(folder / told))]
        told = cells[1:] if not _number(cells[0]) else cells
    try:
        values = np.array([float(item) for item in told])
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: {name} must be numbers, one a record, or a file of them.") from error
    if values.shape != (n_records,) or not np.isfinite(values).all() or values.min() < 0 or not values.any():
        raise InputError(f"{path}: {name} must be {n_records} numbers that are not negative, one a record.")
    return values


def _number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
