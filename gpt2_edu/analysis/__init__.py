"""Looking into a model: what it gets right, what its heads do, where it differs from another."""
