"""Short clips with a known truth, drawn by code."""

from meanshiftpp.tracking.clips import CLIPS, leaving, light, lookalike, occlusion, overlap

__all__ = ["CLIPS", "leaving", "light", "lookalike", "occlusion", "overlap"]
