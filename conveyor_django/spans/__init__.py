"""OpenTelemetry's spans: one for an enqueue, one for each run, and below that for each step and effect.

`switch.py` says whether spans are wanted: only where the project has imported OpenTelemetry is `otel.py` imported, the
one module that knows it. `names.py` has what spans and attributes are called, `send.py` what an enqueue does,
`parts.py` what a step does; `worker/runspan.py` what a run does. `guard.py` says what becomes of an error in all this:
it is logged, and neither job nor enqueue feels it.
"""
