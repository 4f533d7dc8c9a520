"""Regularised Gram matrix M of least squares, in several forms: fast or numerically safe."""
