"""The engines that models are checked with: the explorer of this project, and two of other people's, TLC and SPIN.

Three programs by different authors, given the same model in three languages, must find the same number of distinct
states. What agrees is then not only this project's explorer but the reading of the model's language.
"""

from groupspec.conformance.engines.result import EngineRun, Outcome
from groupspec.conformance.engines.running import ENGINES, run_engine

__all__ = ["ENGINES", "EngineRun", "Outcome", "run_engine"]
