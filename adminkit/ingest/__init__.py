"""From sources to rows: sync, imports, the audit, and the driver of adminkit-ingest."""
