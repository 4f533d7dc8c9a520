"""Training methods of linear classifiers."""
