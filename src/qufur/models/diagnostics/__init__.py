"""What labels say about the model: noise, λ, and whether it fits."""
