"""The description of the API against generated requests: whatever is sent, the answer is one that was described."""

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from lopsided.web.app import ServerSettings, create_app
from lopsided.web.limits import Limits

# No job ever begins here: the queue fills, and what follows is refused with a described answer.
APP = create_app(ServerSettings(limits=Limits(jobs_running=0, jobs_waiting=3, classes=12), spare_worker=False))
SCHEMA = schemathesis.openapi.from_asgi("/api/openapi.json", APP, headers={"Host": "localhost"})
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@SCHEMA.parametrize()
@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_answers_are_as_described(case) -> None:
    if case.path.endswith("/events") or case.path == "/api/claims":
        return  # a stream has no end while a job waits; the register takes no parameters and a second
    case.call_and_validate(checks=CHECKS, headers={"Host": "localhost"})
