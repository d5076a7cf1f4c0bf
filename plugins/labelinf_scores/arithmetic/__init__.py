"""Number formats that a curator may compute in, behind one small interface, so that a loss is written once.

============  =====================================================================================
``exact``     real numbers to a precision chosen per query (gmpy2); an exact path has no float in it
``float64``   IEEE doubles with NumPy's pairwise mean, as scikit-learn computes
``float32``   the same in single precision
``bfloat16``  8 significant bits, every operation rounded to nearest (gmpy2 context)
``float16``   IEEE half precision (11 bits, subnormals), every operation rounded to nearest
``fpa:PHI``   the papers' FPA(phi): *fixed* point with (phi - 1) / 2 fraction bits (erratum I-2)
============  =====================================================================================
"""

from labelinf_scores.arithmetic.base import Arithmetic
from labelinf_scores.arithmetic.names import make_arithmetic

__all__ = ["Arithmetic", "make_arithmetic"]
