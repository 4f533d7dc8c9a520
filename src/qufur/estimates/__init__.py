"""What is known about the error: of examples whose labels came, and of those whose labels never will."""
