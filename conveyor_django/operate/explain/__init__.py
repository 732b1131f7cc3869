"""Why is this job not running? One answer for the command, the admin and the API.

`explain.py` finds the job and asks by its state: `ended.py`, `running.py`, `scheduled.py`, `blocked.py`, `ready.py`,
each for a list of reasons, the most important first; `limits.py`, `workers.py` and `locks.py` know what keeps a ready
job from being claimed. `scene.py` is what is known of the job, `answer.py` the answer; `error.py` has the traceback.
"""

from .answer import Code, Explanation, Reason
from .error import LastError, last_error
from .explain import explain

__all__ = ["Code", "Explanation", "LastError", "Reason", "explain", "last_error"]
