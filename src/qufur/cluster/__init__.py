"""Tables of any size on a Ray cluster: rows are encoded everywhere and decided in one place."""

from qufur.cluster.asking import ask

__all__ = ["ask"]
