"""What recorded events cost, and how costs convert to (epsilon, delta)."""
