"""Profiles of the property tests: `deep` (make test-deep) looks at forty times as many examples."""

import os

from hypothesis import settings

settings.register_profile("standard", deadline=None, max_examples=50)
settings.register_profile("deep", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "standard"))
