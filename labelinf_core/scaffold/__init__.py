"""A new plugin, ready to install: ``labelinf plugins new`` writes it, its author fills in one method.

Each template is a whole, working component that keeps the contract; ``plugin.py`` announces it.
"""

from labelinf_core.scaffold.project import SHARED, Project, write_project

__all__ = ["SHARED", "Project", "write_project"]
