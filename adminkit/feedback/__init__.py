"""Letters: what one says, who is due one, and how it gets there. The only place that opens SMTP."""
