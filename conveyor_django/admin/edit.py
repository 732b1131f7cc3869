"""The form for a job's other arguments: JSON, checked as an enqueue checks a call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput

from ..compat import InvalidTask
from ..errors import InvalidArguments, UnknownTask
from ..operate.again import MOST, job_again

if TYPE_CHECKING:
    from ..models import Job


class JSONText(forms.JSONField):
    """JSON to edit: indented, and refused with a reason also where it is nested too deeply to be read."""

    widget = forms.Textarea(attrs={"rows": 12, "cols": 80, "class": "vLargeTextField", "spellcheck": "false"})

    def bound_data(self, data: Any, initial: Any) -> Any:  # noqa: ARG002
        """Keep what was typed as it was."""
        return InvalidJSONInput(data or "")

    def prepare_value(self, value: Any) -> Any:
        """Return the value as text."""
        if isinstance(value, InvalidJSONInput):
            return value
        return json.dumps(value, indent=2, ensure_ascii=False)

    def to_python(self, value: Any) -> Any:
        """Return the data. Raises ValidationError."""
        try:
            return super().to_python(value)
        except RecursionError as error:
            raise ValidationError("It is nested too deeply to be read. Make it flatter.") from error
        except ValueError as error:
            # Python reads no number of thousands of digits.
            raise ValidationError(f"It cannot be read: {error}.") from error


class EditForm(forms.Form):
    """Other arguments for a job like `job`, the `number`th that is made from it."""

    args = JSONText(label="Positional arguments", required=False, help_text="A list.")
    kwargs = JSONText(label="Named arguments", required=False, help_text="An object.")
    number = forms.IntegerField(min_value=1, max_value=MOST, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, job: Job, number: int) -> None:
        super().__init__(data, initial={"args": job.payload.args, "kwargs": job.payload.kwargs, "number": number})
        self.job = job

    def clean_args(self) -> Any:
        """Take nothing for no arguments; refuse what is no list."""
        args = self.cleaned_data["args"]
        return _of_type(list, [] if args is None else args, 'It must be a list, such as [1, "a"].')

    def clean_kwargs(self) -> Any:
        """Take nothing for no arguments; refuse what is no object."""
        kwargs = self.cleaned_data["kwargs"]
        return _of_type(dict, {} if kwargs is None else kwargs, 'It must be an object, such as {"a": 1}.')

    def clean(self) -> dict[str, Any]:
        """Refuse what could not be enqueued."""
        given: dict[str, Any] = self.cleaned_data
        if "args" in given and "kwargs" in given:
            try:
                job_again(self.job, given["args"], given["kwargs"])
            except UnknownTask as error:
                self.add_error(None, f"The task {error.path} is not in this code: {error.reason}.")
            except InvalidTask as error:
                self.add_error(None, str(error))
            except InvalidArguments as error:
                self.add_error("args", str(error))
        return given


def _of_type(kind: type, value: Any, refusal: str) -> Any:
    if not isinstance(value, kind):
        raise ValidationError(refusal)
    return value
