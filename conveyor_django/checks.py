"""System checks."""


def register() -> None:
    pass
