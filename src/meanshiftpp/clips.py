"""Short clips with a known truth, to test trackers."""

from meanshiftpp.tracking.clips import CLIPS, leaving, light, lookalike, occlusion
from meanshiftpp.tracking.windows import overlap

__all__ = ["CLIPS", "leaving", "light", "lookalike", "occlusion", "overlap"]
