"""
Follow a ball through a film
============================

`Tracker` is shown an object in one frame and follows it by its colours. It says how sure it is, and
when it has lost it: in this clip, which comes with the package, the ball leaves and comes back.
"""

import matplotlib.pyplot as plt
import numpy as np

from meanshiftpp import Tracker
from meanshiftpp.clips import leaving
from meanshiftpp.tracking.marks import tracked

frames, truth = zip(*leaving(), strict=True)
tracker = Tracker()
tracker.init(frames[0], truth[0])

scores, oks, drawn = [1.0], [True], [tracked(frames[0], truth[0], True)]
for frame in frames[1:]:
    ok, window = tracker.update(frame)
    oks.append(ok)
    scores.append(tracker.score)
    drawn.append(tracked(frame, window, ok))

# %%
# Frames from before, during and after its absence; below, what the tracker believed.

SHOWN = [0, 25, 60, 90, 110]
fig = plt.figure(figsize=(12, 4.8), layout="constrained")
above, below = fig.subfigures(2, 1, height_ratios=[1.15, 1])
for panel, at in zip(above.subplots(1, len(SHOWN)), SHOWN, strict=True):
    panel.imshow(drawn[at])
    panel.set_title(f"frame {at}: {'followed' if oks[at] else 'lost'}", loc="left", fontsize=10)
    panel.axis("off")

curve = below.subplots()
gone = np.array([window is None for window in truth])
time = np.arange(len(frames))
curve.fill_between(time, 0, 1, where=gone, color="#E8E8E4", step="mid", label="out of sight")
curve.axhline(0.35, color="#999999", linewidth=1, linestyle="--", label="lost below")
curve.plot(time, scores, color="#0072B2", linewidth=2, label="score")
curve.plot(SHOWN, np.array(scores)[SHOWN], "o", color="#0072B2")
curve.set(xlim=(0, len(frames) - 1), ylim=(0, 1.05), xlabel="frame")
curve.legend(frameon=False, ncols=3, loc="lower left")
curve.spines[["top", "right"]].set_visible(False)
plt.show()
