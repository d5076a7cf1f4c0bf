"""The labelinf core: the game of label inference, the hooks that plugins implement and the host that loads them.

Importing this package imports no numerical library, so that ``labelinf plugins`` stays fast and keeps working when a
numerical dependency is broken.
"""

from labelinf_core.plugin.catalogue import Catalogue
from labelinf_core.plugin.descriptors import Descriptor, Kind, Reference
from labelinf_core.plugin.markers import CONTRACT, hookimpl
from labelinf_core.plugin.statements import Statement, Status

__all__ = ["CONTRACT", "Catalogue", "Descriptor", "Kind", "Reference", "Statement", "Status", "hookimpl"]
