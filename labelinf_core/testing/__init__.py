"""What every component must satisfy, as named checks that a plugin author runs on their own.

From the command line::

    labelinf plugins check my-plugin

or under pytest, in the plugin's own tests::

    import pytest
    from labelinf_core.testing import Check, checks_of

    @pytest.mark.parametrize("check", checks_of("my-plugin"), ids=str)
    def test_contract(check: Check) -> None:
        check.run()

Each check tries one rule on one component. A check that does not apply is reported as skipped with its reason, never
dropped.
"""

from labelinf_core.testing.checks import Check, CheckOutcome, Result, checks_of, run_checks
from labelinf_core.testing.imports import discovery_imports

__all__ = ["Check", "CheckOutcome", "Result", "checks_of", "discovery_imports", "run_checks"]
