.PHONY: demo check test
