"""The bandwidth: sweeps over many, and an automatic choice."""
