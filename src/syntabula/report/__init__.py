"""Pictures and HTML reports of results."""
