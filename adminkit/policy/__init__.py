"""Rules at submission: policy.toml, checked, written as Lua tables, tried, replayed and installed."""
