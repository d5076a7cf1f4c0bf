"""Sphinx configuration."""

from __future__ import annotations

from sphinx.ext.napoleon import GoogleDocstring

# Napoleon reads "What it is: more of it" below an attribute as a type and its description. Here it is a sentence.
GoogleDocstring._parse_attribute_docstring = lambda self: self._consume_to_end()

project = "labelinf"
author = "the labelinf authors"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
]
_EXAMPLES = (  # modules whose examples stand in the reference without an import of their own
    "labelinf_core.plugin.descriptors",
    "labelinf_core.specs",
    "labelinf_core.contracts.guarantees",
    "labelinf_core.contracts.images",
    "labelinf_gradients.certificates",
    "labelinf_gradients.finite_pool",
    "labelinf_papers.mutnet",
    "labelinf_scores.game.models",
    "labelinf_scores.game.networks",
)
doctest_global_setup = "\n".join(f"from {module} import *" for module in _EXAMPLES)
html_theme = "furo"
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_raise_on_error = True
nb_execution_timeout = 180  # seconds of a cell
nb_output_stderr = "remove"
autodoc_typehints = "description"
autodoc_member_order = "bysource"
# Every reference to something of ours is checked. What others define has no inventory here: nothing is fetched to build.
_OTHERS = r"(np|numpy|scipy|collections|contextlib|fractions|subprocess|pluggy|cattrs|click|attrs|pathlib)\..+"
_ALIASES = r"(.*\.)?(Gallery|MutNet|NDArray|Floats|Integers|Labels|Query|Answer|ActiveDefence|ScoredMetric|A|T|F)"
# What a function of labelinf returns is wrapped around these; their modules are named where they are explained.
_WITHIN = r"(Path|ArrayLike|Figure|pd\..+|Picture|Results|CellResult|Plan|Implied|Advice|AuditDecision|AuditWord|Exit|SplitChannel|(.*\.)?(Recovery|RecoveryStatus|Seal))"
nitpick_ignore_regex = [("py:.*", _OTHERS), ("py:.*", _ALIASES), ("py:.*", _WITHIN)]
