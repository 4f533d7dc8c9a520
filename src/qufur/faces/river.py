"""The former name of `qufur.adapters.river`."""

from qufur.adapters.river import *  # noqa: F403
