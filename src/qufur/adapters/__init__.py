"""The learner as other libraries know estimators; each face is a module to import by its name."""
