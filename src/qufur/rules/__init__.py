"""Query rules, one per file. To register a new rule, add it to `RULES`."""

from qufur.rules.base import Rule
from qufur.rules.domain_oracle import DomainOracle
from qufur.rules.fixed_budget import FixedBudget
from qufur.rules.greedy import Greedy
from qufur.rules.paced import Paced
from qufur.rules.qufur import QuFUR
from qufur.rules.steady import Steady
from qufur.rules.threshold import Threshold
from qufur.rules.uniform import Uniform

RULES: tuple[type[Rule], ...] = (
    QuFUR,
    Paced,
    Steady,
    FixedBudget,
    Uniform,
    Greedy,
    Threshold,
    DomainOracle,
)

__all__ = [
    "RULES",
    "DomainOracle",
    "FixedBudget",
    "Greedy",
    "Paced",
    "QuFUR",
    "Rule",
    "Steady",
    "Threshold",
    "Uniform",
]
__dir__ = __all__.copy
