"""Demonstration of `qufur demo`: rotating digits, and the cheap figures of the paper with 20 seeds."""
