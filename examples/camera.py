"""
A camera, several objects
=========================

This is the loop for a camera with OpenCV: ``CAMERA = 0`` reads the first camera. Frames of OpenCV
are BGR, so each tracker is a ``Tracker(channels="bgr")``. Several objects are a list of trackers.
Here the "camera" is a film of two fish, which is written first.
"""

import tempfile
from pathlib import Path

import cv2
import matplotlib.pyplot as plt
import numpy as np

from meanshiftpp import Tracker
from meanshiftpp.video import write_frames

CAMERA = str(Path(tempfile.mkdtemp()) / "fish.mp4")
WINDOWS = [(30, 50, 48, 28), (250, 150, 48, 28)]  # x, y, width, height in the first frame
WATER = np.random.default_rng(0).normal((60, 110, 130), 9, (240, 320, 3)).clip(0, 255)


def fish(number: int) -> np.ndarray:
    """Draw a frame."""
    picture = np.ascontiguousarray(WATER.astype(np.uint8))
    wave = round(12 * np.sin(number / 6))
    cv2.ellipse(picture, (54 + 3 * number, 64 + wave), (24, 13), 0, 0, 360, (240, 130, 40), -1)
    cv2.ellipse(picture, (274 - 3 * number, 164 - wave), (24, 13), 0, 0, 360, (235, 220, 90), -1)
    return picture


with write_frames(CAMERA, 25, (320, 240)) as write:
    for number in range(60):
        write(fish(number))

# %%
# The loop: read a frame, update every tracker, draw, show. With a window on a screen, replace the
# list by ``cv2.imshow("tracked", frame)`` and stop at a key with ``cv2.waitKey(1)``.

capture = cv2.VideoCapture(CAMERA)
trackers, shown = [], []
while True:
    there, frame = capture.read()
    if not there:
        break
    if not trackers:  # the first frame
        trackers = [Tracker(channels="bgr") for _ in WINDOWS]
        for tracker, window in zip(trackers, WINDOWS, strict=True):
            tracker.init(frame, window)
        results = [(True, tracker.window) for tracker in trackers]
    else:
        results = [tracker.update(frame) for tracker in trackers]
    frame = frame.copy()  # a tracker keeps the frame for its mask
    for k, (ok, (x, y, width, height)) in enumerate(results):
        colour = (233, 180, 86) if ok else (0, 150, 240)  # BGR
        cv2.rectangle(frame, (x, y), (x + width, y + height), colour, 2)
        cv2.putText(frame, f"{k}", (x, y - 5), cv2.FONT_HERSHEY_SIMPLEX, 0.6, colour, 2)
    shown.append(frame)
capture.release()

fig, axes = plt.subplots(1, 4, figsize=(12, 2.6), layout="constrained")
for ax, number in zip(axes, (0, 20, 40, 59), strict=True):
    ax.imshow(shown[number][..., ::-1])  # matplotlib draws RGB
    ax.set_title(f"frame {number}", loc="left", fontsize=10)
    ax.axis("off")
plt.show()
