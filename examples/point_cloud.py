"""
Objects in a point cloud
========================

A stereo camera recorded a motorcycle in a garage. The disparity of each pixel between the left and
the right image gives its distance, and so a cloud of a third of a million points in metres. The
modes of the cloud are objects that are separated in space, independent of their colour.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from skimage import data
from sklearn.linear_model import RANSACRegressor

from meanshiftpp import MeanShiftPP
from meanshiftpp.plot import PALETTE

left, _, disparity = data.stereo_motorcycle()
rows, columns = np.nonzero(np.isfinite(disparity))
# The camera's calibration: focal length and centre in pixels, distance of the lenses in metres.
depth = 0.193001 * 994.978 / (disparity[rows, columns] + 31.086)
across = (columns - 311.193) * depth / 994.978
up = -(rows - 254.877) * depth / 994.978
cloud = np.column_stack([across, up, depth])

# The floor connects all objects, so remove it: it is the plane of most points in the lower half.
low = np.flatnonzero(rows > 330)[::25]
plane = RANSACRegressor(residual_threshold=0.01, random_state=0).fit(cloud[low][:, [0, 2]], up[low])
above_floor = up - plane.predict(cloud[:, [0, 2]]) > 0.035
cloud, rows, columns = cloud[above_floor], rows[above_floor], columns[above_floor]

# %%
# Cells are narrow in width and depth and tall in height, because standing objects are tall.

model = MeanShiftPP(bandwidth=[0.28, 0.8, 0.22], resolution=4, min_cluster_size=1500).fit(cloud)
labels = np.full(disparity.shape, -1)
labels[rows, columns] = model.labels_

# %%
# The view of the camera, and the view from above. The floor and small clusters are grey.

k = len(model.cluster_weights_)
paint = np.array([to_rgb(PALETTE[i % len(PALETTE)]) for i in range(k)] + [(0.6, 0.6, 0.6)])
shown = 0.4 * left / 255 + 0.6 * paint[labels]  # label -1 selects the last colour

fig, axes = plt.subplot_mosaic("ac;bc", figsize=(12, 5.8), layout="constrained")
axes["a"].imshow(left)
axes["a"].set_title("the left image", loc="left")
axes["b"].imshow(shown)
axes["b"].set_title(f"{k} objects", loc="left")
order = np.random.default_rng(0).permutation(len(cloud))[:120_000]
style = {"c": paint[model.labels_[order]], "s": 0.6, "linewidths": 0}
axes["c"].scatter(cloud[order, 0], cloud[order, 2], **style)
axes["c"].set(xlabel="metres to the right", ylabel="metres away", aspect="equal")
axes["c"].spines[["top", "right"]].set_visible(False)
axes["c"].set_title("from above", loc="left")
for name in "ab":
    axes[name].axis("off")
plt.show()
