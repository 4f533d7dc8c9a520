"""How the weights of classifiers are trained."""
