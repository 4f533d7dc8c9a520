"""The paper's theorems as functions: bounds, domain-aware rates, effective and eluder dimension.

Functions named `…_bounds` include every constant and logarithm of the proofs. Their results hold as stated,
and are large. Functions named `…_order` return the expression inside the Õ: it shows how a quantity scales,
not how large it is.
"""

from qufur.rules.domain_oracle import domain_rates
from qufur.theory.baselines import oracle_alpha, oracle_bounds, oracle_order, oracle_threshold, uniform_bounds
from qufur.theory.batch import batch_bound, batch_horizon, batch_order, online_to_batch
from qufur.theory.concentration import error_factor, log_det_bound
from qufur.theory.cost import cost_bound, cost_lower_bound, cost_order, cost_ratio_range
from qufur.theory.eluder import eluder_dimension, finite_eluder_bound, glm_eluder_bound, linear_eluder_bound
from qufur.theory.fixed_budget import fixed_budget_bounds, fixed_budget_order, largest_budget
from qufur.theory.kernel import effective_dimension, kernel_bounds
from qufur.theory.lower import bayes_lower_bound, bayes_risk, regret_lower_bound, unstructured_lower_bound
from qufur.theory.nonlinear import (
    confidence_radius,
    domain_complexity,
    finite_log_covering,
    linear_log_covering,
    nonlinear_bounds,
    nonlinear_budget_bounds,
    nonlinear_budget_order,
)
from qufur.theory.structure import Bounds, Structure
from qufur.theory.upper import alpha_range, qufur_bounds, qufur_order, subsequence_bounds

__all__ = [
    "Bounds",
    "Structure",
    "alpha_range",
    "batch_bound",
    "batch_horizon",
    "batch_order",
    "bayes_lower_bound",
    "bayes_risk",
    "confidence_radius",
    "cost_bound",
    "cost_lower_bound",
    "cost_order",
    "cost_ratio_range",
    "domain_complexity",
    "domain_rates",
    "effective_dimension",
    "eluder_dimension",
    "error_factor",
    "finite_eluder_bound",
    "finite_log_covering",
    "fixed_budget_bounds",
    "fixed_budget_order",
    "glm_eluder_bound",
    "kernel_bounds",
    "largest_budget",
    "linear_eluder_bound",
    "linear_log_covering",
    "log_det_bound",
    "nonlinear_bounds",
    "nonlinear_budget_bounds",
    "nonlinear_budget_order",
    "online_to_batch",
    "oracle_alpha",
    "oracle_bounds",
    "oracle_order",
    "oracle_threshold",
    "qufur_bounds",
    "qufur_order",
    "regret_lower_bound",
    "subsequence_bounds",
    "uniform_bounds",
    "unstructured_lower_bound",
]
__dir__ = __all__.copy
