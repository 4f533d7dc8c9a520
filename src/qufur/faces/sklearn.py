"""The former name of `qufur.adapters.sklearn`."""

from qufur.adapters.sklearn import *  # noqa: F403
