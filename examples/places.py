"""
Where a phone has been
======================

A phone records its position every two minutes for months. The places where its owner spends time
are the modes of these fixes. The bandwidth is given in metres: `geo.degrees` converts it to degrees
of longitude and latitude, so the data needs no projection.

The fixes are synthetic, with the difficulties of real ones: errors of tens of metres, worse
indoors, and trips between the places.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from meanshiftpp import MeanShiftPP, geo
from meanshiftpp.plot import PALETTE

rng = np.random.default_rng(4)
METRE = geo.degrees(1.0, latitude=47.4)  # in degrees of longitude and latitude
MIDDLE = np.array([8.54, 47.37])
# metres east, metres north, first hour, last hour, error in metres
PLACES = {
    "home": (-1900, 1100, 19.0, 31.5, 22),
    "work": (2100, 300, 8.5, 17.5, 28),
    "canteen": (1800, 640, 12.0, 13.0, 18),
    "gym": (-300, 1700, 17.5, 19.0, 25),
    "parents": (700, -1900, 11.0, 18.0, 30),
    "library": (-900, -700, 9.5, 13.5, 35),
    "park": (-2300, -900, 14.0, 17.0, 60),
}


def stops(day: int) -> list[str]:
    """Return the places that the owner visits on a day."""
    weekday = day % 7
    if weekday < 5:
        return ["home", "work", "canteen", "work", *(["gym"] if weekday in (1, 3) else []), "home"]
    return ["home", "library", "park", "home"] if weekday == 5 else ["home", "parents", "home"]


def scatter(error: float, n: int) -> np.ndarray:
    """Draw errors in all directions, most of them small and some large."""
    angle, distance = rng.uniform(0, 2 * np.pi, n), error * np.abs(rng.standard_t(3, n))
    return np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])


def fixes(days: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the fixes of some days: metres east and north, and the hour of each fix."""
    positions, hours = [], []
    for day in range(days):
        for here, there in pairwise(stops(day)):
            x, y, start, end, error = PLACES[here]
            if here == "home":
                start, end = 0.0, 7.8
            n = int((end - start) * 30)
            positions.append(scatter(error, n) + np.array([x, y]))
            hours.append(rng.uniform(start, end, n))
            bend = np.array([PLACES[here][0], PLACES[there][1]]) * 0.9  # streets, not a line
            n = int(np.hypot(*np.subtract(PLACES[there][:2], [x, y])) / 150)
            t = rng.random((n, 1))
            path = (1 - t) ** 2 * [x, y] + 2 * t * (1 - t) * bend + t**2 * PLACES[there][:2]
            positions.append(path + 12 * rng.normal(size=path.shape))
            hours.append(np.full(n, end + 0.2))
        x, y, start, _, error = PLACES["home"]
        positions.append(scatter(error, 150) + np.array([x, y]))
        hours.append(rng.uniform(start, 24, 150))
    return np.concatenate(positions), np.concatenate(hours)


metres, hours = fixes(days=180)
lonlat = MIDDLE + metres * METRE

# %%
# A place needs at least a day in total, at 30 fixes an hour. All other fixes are on the way.

model = MeanShiftPP(geo.degrees(80, latitude=47.4), resolution=4, min_cluster_size=24 * 30)
labels = model.fit_predict(lonlat)
k = len(model.cluster_weights_)
print(f"{len(lonlat):,} fixes, {k} places")

fig, (map_, clock) = plt.subplots(
    1, 2, figsize=(12, 6.2), width_ratios=[1.5, 1], layout="constrained"
)
colours = np.array([*PALETTE, *PALETTE][:k])
on_the_way = labels < 0
map_.scatter(*lonlat[on_the_way].T, s=1.2, color="#9AA0A6", linewidths=0)
for i, (lon, lat) in enumerate(model.cluster_centers_):
    map_.scatter(*lonlat[labels == i].T, s=1.5, color=colours[i], alpha=0.25, linewidths=0)
    map_.annotate(
        str(i),
        (lon, lat),
        ha="center",
        va="center",
        color="white",
        weight="bold",
        fontsize=9,
        bbox={"boxstyle": "circle", "facecolor": colours[i], "edgecolor": "white"},
    )
map_.set(aspect=METRE[0] / METRE[1], xlabel="longitude", ylabel="latitude")
map_.set(xlim=MIDDLE[0] + np.array([-3200, 3000]) * METRE[0])
map_.set(ylim=MIDDLE[1] + np.array([-2500, 2400]) * METRE[1])
map_.ticklabel_format(useOffset=False)
map_.set_title(f"{len(lonlat):,} fixes, {k} places", loc="left")

for i in range(k):
    count, edges = np.histogram(hours[labels == i], bins=96, range=(0, 24))
    clock.fill_between(
        edges[:-1], -i, -i + 0.85 * count / count.max(), color=colours[i], step="post"
    )
clock.set(xlim=(0, 24), xticks=range(0, 25, 6), xlabel="hour of the day")
clock.set_yticks([-i + 0.3 for i in range(k)], [f"{i}" for i in range(k)])
clock.set_title("when the phone is there", loc="left")
for panel in (map_, clock):
    panel.spines[["top", "right"]].set_visible(False)
clock.spines["left"].set_visible(False)
clock.tick_params(axis="y", length=0)
plt.show()
