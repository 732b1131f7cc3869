"""The HTTP API, for programs without Django: ``path("conveyor/", include("conveyor_django.api.urls"))``.

A request passes `gate.py` (its size and kind, and every error as problem+json), `access.py` (who asks, and what for)
and then one of the views: `enqueuing.py`, `jobs.py`, `queues.py`, `health.py`. `inputs.py` and `outputs.py` have what
goes in and comes out, `problems.py` how it is refused, `description.py` the OpenAPI document. It needs django-ninja,
the extra ``[api]``.
"""
