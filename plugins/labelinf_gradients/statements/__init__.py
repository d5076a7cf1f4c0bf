"""The statements of the gradient channel: the paper's, and our own that replace or bound them.

One registry, beside the code. ``labelinf theorems`` and the documentation are generated from it, and a test fails when
a statement names code or a test that does not exist.
"""

from labelinf_gradients.statements.iclr import STATEMENTS as ICLR
from labelinf_gradients.statements.iclr_errata import STATEMENTS as ERRATA
from labelinf_gradients.statements.ours import STATEMENTS as OURS

__all__ = ["STATEMENTS"]

STATEMENTS = (*ICLR, *ERRATA, *OURS)  #: G1 to G10 and E1 to E11 of the paper, G11 to G25 our own
