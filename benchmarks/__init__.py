"""Benchmarks of speed and accuracy, with their required limits: `python -m benchmarks`."""
