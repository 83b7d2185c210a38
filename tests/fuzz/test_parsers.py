"""Each parser with its corpus and some mutations; `make fuzz` runs them for longer."""

import random

import pytest
from tests.fuzz.engine import CORPUS, read_corpus, run_once
from tests.fuzz.parsers import TARGETS

RUNS = 150


@pytest.mark.parametrize("name", TARGETS)
def test_a_damaged_input_raises_an_error_of_this_package(name):
    target, rng = TARGETS[name], random.Random(0)
    inputs = [*target.seeds(), *read_corpus(CORPUS / f"{name}.hex")]
    for data in inputs:
        run_once(target, data)
    for _ in range(RUNS):
        inputs.append(target.mutate(rng.choice(inputs), rng))
        run_once(target, inputs[-1])
