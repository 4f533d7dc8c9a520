"""Speed and accuracy of `qufur`, measured beside what they are held to: `python -m benchmarks`."""
