"""The plugin for napari: regions of an image layer as a labels layer.

`layers` computes the labels and knows neither napari nor a toolkit; `widget` has the controls.
"""
