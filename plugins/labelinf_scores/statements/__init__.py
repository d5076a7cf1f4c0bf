"""Every statement of the two score papers: what it says, whether it is true, its code and its test.

One registry, beside the code. ``labelinf theorems`` and the documentation are generated from it, and a test fails when
a statement names code or a test that does not exist.
"""

from labelinf_scores.statements.aistats import STATEMENTS as AISTATS
from labelinf_scores.statements.icml import STATEMENTS as ICML

__all__ = ["STATEMENTS"]

STATEMENTS = (*ICML, *AISTATS)  #: S1 to S27 and S30 to S52
