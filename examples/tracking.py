"""
Follow a ball through a film
============================

`Tracker` follows an object by its colours, starting from a window in one frame. It reports its
confidence and when it has lost the object: in this clip, which comes with the package, the ball
leaves and comes back.
"""

import matplotlib.pyplot as plt
import numpy as np

from meanshiftpp import Tracker
from meanshiftpp.clips import leaving

frames, truth = zip(*leaving(), strict=True)
tracker = Tracker()
tracker.init(frames[0], truth[0])

scores, oks, windows = [1.0], [True], [truth[0]]
for frame in frames[1:]:
    ok, window = tracker.update(frame)
    oks.append(ok)
    windows.append(window)
    scores.append(tracker.score)

# %%
# The frames are from before, during and after the absence of the ball. The curve is the confidence
# of the tracker.

SHOWN = [0, 25, 60, 90, 110]
fig = plt.figure(figsize=(12, 4.8), layout="constrained")
above, below = fig.subfigures(2, 1, height_ratios=[1.15, 1])
for panel, i in zip(above.subplots(1, len(SHOWN)), SHOWN, strict=True):
    x, y, width, height = windows[i]
    style = {"edgecolor": "#56B4E9"} if oks[i] else {"edgecolor": "#F09600", "linestyle": "--"}
    panel.imshow(frames[i])
    panel.add_patch(plt.Rectangle((x, y), width, height, fill=False, linewidth=2, **style))
    panel.set_title(f"frame {i}: {'followed' if oks[i] else 'lost'}", loc="left", fontsize=10)
    panel.axis("off")

curve = below.subplots()
gone = np.array([window is None for window in truth])
time = np.arange(len(frames))
curve.fill_between(time, 0, 1, where=gone, color="#E8E8E4", step="mid", label="not visible")
curve.axhline(0.35, color="#999999", linewidth=1, linestyle="--", label="lost below 0.35")
curve.plot(time, scores, color="#0072B2", linewidth=2, label="score")
curve.plot(SHOWN, np.array(scores)[SHOWN], "o", color="#0072B2")
curve.set(xlim=(0, len(frames) - 1), ylim=(0, 1.05), xlabel="frame")
curve.legend(frameon=False, ncols=3, loc="lower left")
curve.spines[["top", "right"]].set_visible(False)
plt.show()
