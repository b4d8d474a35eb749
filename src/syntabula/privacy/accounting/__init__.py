"""What recorded events cost."""
