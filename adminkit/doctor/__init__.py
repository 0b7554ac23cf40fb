"""What `adminkit doctor` looks at, one file per subject."""
