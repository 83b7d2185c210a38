"""Video: frames in and out, and segmentation with labels that persist from frame to frame."""

from meanshiftpp.video.frames import Frames, read_frames, write_frames
from meanshiftpp.video.segmenter import VideoSegmenter

__all__ = ["Frames", "VideoSegmenter", "read_frames", "write_frames"]
