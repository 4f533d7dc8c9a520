"""The learner under the interfaces of other libraries, each of which comes with an extra of its own."""
