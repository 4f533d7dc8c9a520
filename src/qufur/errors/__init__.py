"""One wording for every complaint: what, where, what is allowed, what came, and the remedy."""


class InvalidError(ValueError):
    """Something that cannot be accepted: nothing was changed."""


def invalid(parameter: str, owner: str, allowed: str, received: object, remedy: str = "") -> InvalidError:
    """Build the error for a parameter outside its range.

    >>> print(invalid("alpha", "QuFUR", "a finite number above 0", -1))
    alpha of QuFUR must be a finite number above 0, got -1.
    """
    message = f"{parameter} of {owner} must be {allowed}, got {received}. {remedy}"
    return InvalidError(" ".join(message.splitlines()).strip())  # one line, whatever came


def missing_extra(package: str, extra: str, purpose: str) -> ImportError:
    """Build the `ImportError` for an optional dependency that is not installed."""
    from qufur.errors.installation import command_for

    return ImportError(f"{purpose} needs {package}: install it with  {command_for(extra)}")


class DeviceWarning(UserWarning):
    """Blocks cannot be decided on the device that was asked for; the learner goes on with the CPU."""


class FailedFitWarning(UserWarning):
    """An estimator could not be fitted; the learner goes on without it for a while."""


class OtherVersionWarning(UserWarning):
    """What a file names is fitted again by another version of scikit-learn, and may say other things."""


class OutlierWarning(UserWarning):
    """A label lies so far outside the range of the others that it may be a mistake."""
