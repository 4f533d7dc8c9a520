"""The former name of `qufur.adapters`, for one release."""
