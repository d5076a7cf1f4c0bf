"""What the model-output channel's paper states, what became of it, and what labelinf holds instead.

One registry, beside the code: ``labelinf theorems`` and the documentation are generated from it, and a test fails when
a statement names code or a test that does not exist.
"""

from labelinf_outputs.statements.blia import STATEMENTS as BLIA
from labelinf_outputs.statements.ours import STATEMENTS as OURS

__all__ = ["STATEMENTS"]

STATEMENTS = (*BLIA, *OURS)  #: E12 to E19 and T9 to T12
