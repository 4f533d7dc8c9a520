"""Estimates of the error over all examples, labelled or not, and detection of shifts."""
