"""`conveyor_django.testing`, as a project's tests use it."""
