"""The API as a whole, and its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError, ValidationErrorContext

from .. import __version__
from ..conf import MAX_KEY_LENGTH
from . import enqueuing, health, jobs, queues
from .access import WAYS
from .bodies import StrictParser
from .headers import KEY
from .outputs import ProblemDetails
from .problems import MAX_ERRORS, MEDIA_TYPE, refused
from .routing import router

TITLE: Final = "Conveyor"
# Their views are on the router once they are imported.
VIEWS: Final = (enqueuing, jobs, queues)
_TEXT: Final = (
    "Enqueue jobs, look at them, cancel and retry them, pause their queues. Every call but those of /health needs a "
    "token (`Authorization: Bearer …`) or a Django session; every error is application/problem+json (RFC 9457)."
)
# What any call may be refused with; any that needs a caller; any with POST; and single ones.
_ANY: Final = (500, 503)
_CALLER: Final = (401, 403, 429)
_POST: Final = (400, 413, 415)
_OWN: Final[dict[str, tuple[int, ...]]] = {
    "enqueueJob": (409, 422),
    "enqueueJobs": (409, 422),
    "listJobs": (400, 422),
    "getJob": (404,),
    "explainJob": (404,),
    "cancelJob": (404, 409),
    "retryJob": (404, 409),
    "pauseQueue": (404,),
    "resumeQueue": (404,),
}
_KEY_HEADER: Final = {
    "name": KEY,
    "in": "header",
    "required": False,
    "description": "Names this piece of work in its queue: a request that is sent again gives the same job back.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": r"^[!#-~][!-~]*$"},
    "example": "order-A-17",
}
_TRACE_HEADERS: Final = [
    {
        "name": name, "in": "header", "required": False, "schema": {"type": "string"},
        "description": "W3C Trace Context, kept with the job; ignored where it is malformed, as W3C asks.",
        "example": example,
    }
    for name, example in (
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), ("tracestate", "vendor=value"),
    )
]  # fmt: skip
_HEADERS: Final = {"enqueueJob": [_KEY_HEADER, *_TRACE_HEADERS], "enqueueJobs": _TRACE_HEADERS}


class ConveyorAPI(NinjaAPI):
    """Conveyor's API; the description also says how its calls are refused."""

    def get_openapi_schema(self, **options: Any) -> Any:
        """Return the OpenAPI document."""
        document = super().get_openapi_schema(**options)
        document["components"]["schemas"]["ProblemDetails"] = ProblemDetails.model_json_schema(
            ref_template="#/components/schemas/{model}"
        )
        document["components"]["schemas"] |= document["components"]["schemas"]["ProblemDetails"].pop("$defs")
        for method, operation in _operations(document):
            operation["parameters"] += _HEADERS.get(operation["operationId"], [])
            operation["responses"] |= {str(status): _refusal(status) for status in _refusals(method, operation)}
        return document

    def validation_error_from_error_contexts(
        self, error_contexts: list[ValidationErrorContext[Any]]
    ) -> ValidationError:
        """Return what is wrong with a request, unless it is so much that only counting is cheap."""
        for context in error_contexts:
            if context.pydantic_validation_error.error_count() > MAX_ERRORS:
                source = context.model.__ninja_param_source__
                return ValidationError(
                    [{"loc": (source, ""), "msg": f"more than {MAX_ERRORS} things are wrong with it"}]
                )
        return super().validation_error_from_error_contexts(error_contexts)


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in document["paths"].values():
        yield from path.items()


def _refusals(method: str, operation: dict[str, Any]) -> set[int]:
    with_caller = _CALLER if "security" in operation else ()
    with_body = _POST if method == "post" else ()
    return {*_ANY, *with_caller, *with_body, *_OWN.get(operation["operationId"], ())}


def _refusal(status: int) -> dict[str, Any]:
    return {
        "description": HTTPStatus(status).phrase,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
    }


def make_api() -> ConveyorAPI:
    """Return the API with all of its views."""
    made = ConveyorAPI(
        title=TITLE, version=__version__, description=_TEXT, urls_namespace="conveyor-api", openapi_url=None,
        docs_url=None, parser=StrictParser(),
    )  # fmt: skip
    for kind in (Exception, Http404, HttpError, ValidationError):
        made.add_exception_handler(kind, refused)
    made.add_router("", router, auth=WAYS)
    made.add_router("", health.router, auth=None)
    return made


@router.get("/openapi.json", include_in_schema=False)
def openapi(request: HttpRequest) -> HttpResponse:
    """Return the OpenAPI document."""
    return JsonResponse(api.get_openapi_schema(path_prefix=request.path.removesuffix("openapi.json")))


api = make_api()
