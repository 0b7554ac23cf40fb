"""What a number of GPUs buys: measured curves of time and energy, read from files, and a model of them."""
