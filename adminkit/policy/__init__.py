"""The language of rules: policy.toml, validated, explained, compared, compiled, tried and replayed."""
