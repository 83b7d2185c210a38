"""Settings of all property tests: they assert no time, so no example has a deadline."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
