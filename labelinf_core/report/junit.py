"""Results as JUnit XML, so that a continuous-integration server shows a leak as it shows a failed test.

A test case is an attack on a pipeline of defences. It *fails* when the labels come out, is an *error* when observation
and proof contradict each other, when the result is void or shows nothing, or when it could not be played to the end,
and is *skipped* when the attack does not apply.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from labelinf_core.contracts.guarantees import Verdict
from labelinf_core.evaluator.records import Status
from labelinf_core.evaluator.results import CellResult, Results
from labelinf_core.report import words
from labelinf_core.report.boards import boards, columns
from labelinf_core.report.published import published

__all__ = ["as_junit"]

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # in XML 1.0, even escaped
_BROKEN = {Verdict.BROKEN_CERTIFIED, Verdict.BROKEN_OBSERVED}
_WRONG = {Verdict.CONTRADICTION, Verdict.LEAKY, Verdict.VIEW_REVEALS}


def as_junit(results: Results, *, full: bool = False) -> str:
    """Return the results as JUnit XML; no durations, so that the same cells give the same bytes."""
    results = results if full else published(results)
    root = ET.Element("testsuites", name=f"labelinf {results.plan.title}")
    for board in boards(results):
        for pipeline, cells in columns(board).items():
            suite = ET.SubElement(root, "testsuite", name=f"{board[0].cell.shown.channel}: {pipeline}")
            for result in cells:
                suite.append(_case(result))
            suite.set("tests", str(len(cells)))
            for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    ET.indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{_FORBIDDEN.sub('�', ET.tostring(root, encoding='unicode'))}\n"


def _case(result: CellResult) -> ET.Element:
    case = ET.Element("testcase", classname=result.cell.shown.pipeline, name=result.cell.shown.attack)
    if result.failure and result.failure[0] in (Status.REFUSED, Status.PENDING):
        ET.SubElement(case, "skipped", message=result.failure[1] or result.failure[0].value)
    elif result.failure or result.doubt or result.verdict in _WRONG:
        told = words.trouble(result) or result.doubt or words.contradiction(result)
        ET.SubElement(case, "error", type=result.verdict.value, message=told or result.verdict.value)
    elif result.verdict in _BROKEN and result.accuracy:
        told = f"{words.told(result.accuracy)} of the labels recovered ({result.verdict.value})"
        ET.SubElement(case, "failure", type=result.verdict.value, message=told)
    return case
