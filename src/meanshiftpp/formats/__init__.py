"""The files that points come from and labels go to, one module for each kind."""
