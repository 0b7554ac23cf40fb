"""A small site in containers: what `make cluster-up RELEASE=…` starts."""
