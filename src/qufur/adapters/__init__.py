"""Adapters of `Learner` to scikit-learn, river and scikit-activeml, each imported by its module name."""
