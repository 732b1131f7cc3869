"""The protocol as TLA+ modules, and what runs TLC over them."""
