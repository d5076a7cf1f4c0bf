"""One probe of a host's scorer, for the audit and for every game that is played on it."""

from labelinf_scores.audit.probe.picture import Picture, Seen
from labelinf_scores.audit.probe.probe import pictured, probe
from labelinf_scores.audit.probe.unexplained import Unexplained

__all__ = ["Picture", "Seen", "Unexplained", "pictured", "probe"]
