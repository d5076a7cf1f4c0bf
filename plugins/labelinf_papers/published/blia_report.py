"""What ``labelinf reproduce blia-tables`` shows: :mod:`labelinf_papers.published.blia` as tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from labelinf_core.contracts.pictures import Picture, Series
from labelinf_core.plugin.comparisons import Compared, Measured, Origin, PaperClaim
from labelinf_core.plugin.reproductions import Absent, Remark, Reproduced, Table
from labelinf_papers.published.blia import SuccessRate, entries, loss_identity, rows, threshold_fit, train_fit
from labelinf_privacy.label_noise.resampled_response import effective_epsilon

__all__ = ["ABSENT", "LEVEL", "blia_tables"]

ABSENT = (
    Absent(
        item="Census, IMDB, FashionMNIST, CIFAR-10, CIFAR-100 and Big-Vul, and models trained on them",
        loader="labelinf plant FILE.csv, then labelinf audit outputs on your model's predictions,",
    ),
)  #: the paper's data

LEVEL = 0.01  #: of significance


def blia_tables() -> Reproduced:
    """Compute the published tables again."""
    found = entries()
    return Reproduced(
        title="Khan et al., BLIA, 2025: 84 success rates, from the printed figures",
        tables=(_all_entries(found), _above_ceiling(found), _identity(), _fits(), _budgets()),
        remarks=tuple(_remarks(found)),
        pictures=(_drawn(found),),
        compared=tuple(_compared(found)),
        absent=ABSENT,
    )


def _drawn(found: tuple[SuccessRate, ...]) -> Picture:
    limited = [item for item in found if math.isfinite(item.row.epsilon) and item.attack == "delta-margin"]
    ceilings = sorted({(item.row.epsilon, item.ceiling) for item in limited})
    return Picture(
        title="Printed rates of Delta-Margin, and what label-DP allows to any attack",
        x="epsilon",
        y="success rate",
        log=True,
        series=(
            *(
                Series(name=name, points=tuple((i.row.epsilon, i.rate) for i in limited if i.row.benchmark == name))
                for name in dict.fromkeys(item.row.benchmark for item in limited)
            ),
            Series(name="ceiling", points=tuple(ceilings), bound=True),
        ),
    )


def _compared(found: tuple[SuccessRate, ...]) -> Iterator[Compared]:
    limited = [item for item in found if math.isfinite(item.row.epsilon)]
    above = sum(item.p_chance <= LEVEL for item in found)
    surely = sum(item.p_chance_holm <= LEVEL for item in found)
    beyond = sum(item.p_ceiling_holm <= LEVEL for item in limited)
    yield Compared(
        quantity="success rates above one half, at the 1 % level",
        paper="consistently exceeding 50 %: all of them",
        ours=(_rates(above, "each by itself", found), _rates(surely, "after Holm's correction", found)),
        claim=PaperClaim.EQUAL,
        printed=(len(found),),
        why="so many canaries show nothing smaller, and the paper tests nothing",
    )
    yield Compared(
        quantity="success rates above what label-DP allows to any attack, at the 1 % level",
        paper="lowered by it",
        ours=(_rates(beyond, "after Holm's correction", limited),),
        why="not measured against the protected label, or given its loss, or another mechanism than stated",
    )
    big = [item for item in found if (item.row.benchmark, item.attack) == ("Big-Vul", "delta-margin")]
    table8 = next(item for item in big if math.isinf(item.row.epsilon))
    yield Compared(
        quantity="Big-Vul without label-DP, Delta-Margin",
        paper="52.08 in Table 2",
        ours=(Measured(value=round(100 * table8.rate, 2), unit="%", of="Table 8", played=_printed([table8])),),
        claim=PaperClaim.EQUAL,
        printed=(52.08,),
        why="one is rounded, the other cut off",
    )


def _rates(count: int, of: str, items: Sequence[SuccessRate]) -> Measured:
    return Measured(value=count, unit=f"of {len(items)}", of=of, played=_printed(items))


def _printed(items: Sequence[SuccessRate]) -> Origin:
    canaries = [item.row.canaries for item in items]
    game = "success rates of Tables 3 to 8 as printed, N canaries in all"
    return Origin(game=game, n=sum(canaries), queries=len(items), per_query=max(canaries), seen="rates")


def _all_entries(found: tuple[SuccessRate, ...]) -> Table:
    return Table(
        title="Success rates against one half",
        columns=("benchmark", "epsilon", "attack", "correct", "canaries", "rate", "p", "p (Holm)"),
        rows=tuple(
            (
                item.row.benchmark,
                item.row.epsilon,
                item.attack,
                item.correct,
                item.row.canaries,
                item.rate,
                item.p_chance,
                item.p_chance_holm,
            )
            for item in found
        ),
    )


def _above_ceiling(found: tuple[SuccessRate, ...]) -> Table:
    return Table(
        title="Entries above what epsilon-label-DP allows to any attack (1 %)",
        columns=("benchmark", "epsilon", "attack", "rate", "ceiling", "p", "p (Holm)"),
        rows=tuple(
            (
                item.row.benchmark,
                item.row.epsilon,
                item.attack,
                item.rate,
                item.ceiling,
                item.p_ceiling,
                item.p_ceiling_holm,
            )
            for item in found
            if item.p_ceiling <= LEVEL
        ),
    )


def _identity() -> Table:
    identity = loss_identity()
    epsilons = [row.epsilon for row in rows() if row.benchmark == "IMDB"]
    return Table(
        title="IMDB: Delta-Margin against (1 + threshold) / 2",
        columns=("epsilon", "published", "predicted"),
        rows=tuple(zip(epsilons, identity.published, identity.predicted, strict=True)),
    )


def _fits() -> Table:
    benchmarks = dict.fromkeys(row.benchmark for row in rows())
    return Table(
        title="Train accuracy: root mean square residual of two mechanisms",
        columns=("benchmark", "randomised response", "resampling"),
        rows=tuple(
            (name, train_fit(name, resampling=False).rms, train_fit(name, resampling=True).rms) for name in benchmarks
        ),
    )


def _budgets() -> Table:
    epsilons = dict.fromkeys(row.epsilon for row in rows() if math.isfinite(row.epsilon))
    return Table(
        title="What a budget is worth if labels were resampled: ln(1 + 2 e^eps)",
        columns=("nominal", "effective"),
        rows=tuple((epsilon, effective_epsilon(epsilon, 2)) for epsilon in epsilons),
    )


def _remarks(found: tuple[SuccessRate, ...]) -> Iterator[Remark]:
    limited = [item for item in found if math.isfinite(item.row.epsilon)]
    counts = {
        "entries": len(found),
        "above one half at 1 %": sum(item.p_chance <= LEVEL for item in found),
        "above one half at 1 %, Holm": sum(item.p_chance_holm <= LEVEL for item in found),
        "not above one half as printed": sum(item.rate <= 0.5 for item in found),
        "with a finite budget": len(limited),
        "above the label-DP ceiling at 1 %": sum(item.p_ceiling <= LEVEL for item in limited),
        "above the label-DP ceiling at 1 %, Holm": sum(item.p_ceiling_holm <= LEVEL for item in limited),
        "settings in which Delta-Margin is below the threshold attack": sum(
            row.delta_margin < row.threshold for row in rows()
        ),
    }
    yield from (Remark(says=says, value=value) for says, value in counts.items())
    yield Remark(says="IMDB, (1 + threshold) / 2: p-value of the fit", value=loss_identity().p_value)
    for resampling, name in ((False, "randomised response"), (True, "resampling")):
        fit = threshold_fit("IMDB", resampling=resampling)
        yield Remark(says=f"IMDB thresholds under {name}: p-value of the fit", value=fit.p_value)
