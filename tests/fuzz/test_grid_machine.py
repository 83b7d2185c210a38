"""A short run of the stateful test; `make fuzz` runs it for longer."""

from hypothesis import settings
from tests.fuzz.grid_machine import GridMachine

TestGrid = GridMachine.TestCase
TestGrid.settings = settings(max_examples=40, stateful_step_count=20)
