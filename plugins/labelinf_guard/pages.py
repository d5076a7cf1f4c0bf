"""The pages of a board that is served: HTML without scripts, made of what was told and of nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from labelinf_core.contracts.pictures import Picture, Series
from labelinf_guard.plan import PolicyRow

__all__ = ["STYLE", "host_page", "plan_page", "public_page"]

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
body { color: #222; background: #fff; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #ccc; }
td.n { font-variant-numeric: tabular-nums; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818; } }
"""  #: the style sheet of both pages
_WIDE = "body { max-width: 80rem; } pre { overflow-x: auto; white-space: pre; } svg { max-width: 44rem; }"


def public_page(
    title: str,
    about: Mapping[str, str],
    standing: Sequence[tuple[str, str]],
    final: Sequence[tuple[str, str, str]],
    certificate: Iterable[str],
    head: str,
) -> str:
    """Return the page for everybody: what is scored, who stands where, the certificate, how to submit, the head."""
    told = [(str(place), team, score) for place, (team, score) in enumerate(standing, 1)]
    sealed = f"<h2>Final, by the sealed rows</h2>{_teams(final, 'Score')}" if final else ""
    known = "".join(
        f"<tr><th scope=row>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in about.items()
    )
    return _page(
        title,
        f"<table>{known}</table>{sealed}<h2>Teams</h2>{_teams(told, 'Best answer')}"
        f"{_section('What this board proves', certificate)}"
        "<h2>Submit</h2><pre>curl -u TEAM:TOKEN --data-binary @submission.csv ADDRESS/submissions</pre>"
        "<p>The answer comes at the next beat. The host gives each team its token.</p>"
        f"<h2>Chain head</h2><pre>{escape(head)}</pre>",
    )


def host_page(title: str, sections: Mapping[str, Iterable[str]]) -> str:
    """Return the page for the host: what ``labelinf guard status`` says."""
    return _page(f"{title}: for the host", "".join(_section(name, lines) for name, lines in sections.items()))


def _teams(rows: Sequence[tuple[str, str, str]], score: str) -> str:
    listed = "".join(
        f'<tr><td class="n">{place}</td><td>{escape(team)}</td><td class="n">{escape(text)}</td></tr>'
        for place, team, text in rows
    )
    return (
        f"<table><thead><tr><th scope=col>#</th><th scope=col>Team</th><th scope=col>{score}</th></tr></thead>"
        f"<tbody>{listed or '<tr><td colspan=3>No answer has been told yet.</td></tr>'}</tbody></table>"
    )


def _section(name: str, lines: Iterable[str]) -> str:
    return f"<h2>{escape(name)}</h2>" + "".join(f"<p>{escape(line)}</p>" for line in lines)


def plan_page(title: str, rows: Sequence[PolicyRow], lines: Sequence[str]) -> str:
    """Return the table of policies as a page of its own: what each proves and costs, drawn and in words."""
    from labelinf_core.report.svg import as_svg

    names = tuple(str(place) for place in range(1, len(rows) + 1))
    void = tuple(f"{place} void" if row.proves is None else place for place, row in zip(names, rows, strict=True))
    proved = Series(name="proved, all teams together", points=_points(row.proves for row in rows), line=False)
    attacked = Series(
        name="best known attack, on fair coins", points=_points(row.attack for row in rows), line=False, bound=False
    )
    kept = Series(
        name="rank correlation of honest teams",
        points=_points((row.kendall.mean if row.kendall else None for row in rows), 1),
        line=False,
    )
    pictures = [
        Picture(title="Points over a perfect model", x="policy", y="points", series=(proved, attacked), names=void),
        Picture(title="What honest teams keep", x="policy", y="Kendall's tau", series=(kept,), names=names),
    ]
    drawn = "".join(
        f"<h2>{escape(item.title)}</h2>{as_svg(item, name=f'p{at}')}"
        for at, item in enumerate(pictures)
        if all(series.points for series in item.series)
    )
    listed = "".join(f"<li>{escape(row.policy)}{_aside(row)}</li>" for row in rows)
    table = escape(chr(10).join(lines))
    return _page(
        title, f"{drawn}<ol>{listed}</ol><h2>In numbers</h2><pre>{table}</pre>", style=f"<style>{STYLE}{_WIDE}</style>"
    )


def _aside(row: PolicyRow) -> str:
    return " (recommended)" if row.recommended else " (void: nothing is proved)" if row.proves is None else ""


def _points(values: Iterable[float | None], times: float = 100.0) -> tuple[tuple[float, float], ...]:
    return tuple((float(at), times * value) for at, value in enumerate(values) if value is not None)


def _page(title: str, body: str, *, style: str = '<link rel="stylesheet" href="/style.css">') -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title>{style}</head>"
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>\n"
    )
