"""Diagnostics of a model from its labels: noise, λ and misfit."""
