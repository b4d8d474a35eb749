"""What must hold within a row: columns that follow from others, orders, and impossible combinations."""
