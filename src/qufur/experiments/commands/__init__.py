"""Commands that run experiments: `qufur reproduce`, `qufur demo` and `qufur data`."""
