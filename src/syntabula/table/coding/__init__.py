"""From values to codes and back."""
