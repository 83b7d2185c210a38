"""Video: frames in and out, and segments that keep their label from frame to frame."""

from meanshiftpp.video.frames import Frames, read_frames, write_frames
from meanshiftpp.video.segmenter import VideoSegmenter

__all__ = ["Frames", "VideoSegmenter", "read_frames", "write_frames"]
