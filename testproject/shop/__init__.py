"""A shop: 500 orders come in, and a job for each moves its money, exactly once."""
