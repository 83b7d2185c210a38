"""Video: frames in and out, and segmentation with labels that persist from frame to frame."""

from meanshiftpp.video.frames import Frames, read_frames, write_frames
from meanshiftpp.video.segmenter import VideoSegmenter, fade

__all__ = ["Frames", "VideoSegmenter", "fade", "read_frames", "write_frames"]
