"""The former name of `qufur.adapters.skactiveml`."""

from qufur.adapters.skactiveml import *  # noqa: F403
