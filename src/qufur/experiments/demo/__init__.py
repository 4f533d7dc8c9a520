"""What `qufur demo` shows in a minute: digits that turn, and the cheap figures of the paper at 20 seeds."""
