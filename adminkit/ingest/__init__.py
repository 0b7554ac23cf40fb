"""From text to rows: the sources (sacct windows, files, SWF) and the driver of adminkit-ingest."""
