"""How a user writes a component down, and how it becomes an object.

A component is written as a call, on the command line as in a suite file:

    my-defence(decimals=4)
    noisy(model=even(tau=0.01))

or as a TOML table ``{ name = "my-defence", decimals = 4 }``. A list where one value is expected is a **grid**:
``my-defence(decimals=[3, 4])`` stands for two components. Values are TOML's and Python's literals; nothing is
evaluated.

Data flow: text or table -> :class:`Spec` -> grid expansion -> component, with every fault named by its place.

Example:
    >>> print(parse("noisy(model=even(tau=0.010))", "example"))
    noisy(model=even(tau=0.01))
"""

from labelinf_core.specs.build import Builder, Parameter
from labelinf_core.specs.faults import faults, strict_converter
from labelinf_core.specs.text import Spec, parse, stages

__all__ = ["Builder", "Parameter", "Spec", "faults", "parse", "stages", "strict_converter"]
