"""What would happen if: the site's own scheduler, simulated on the site's own jobs."""
