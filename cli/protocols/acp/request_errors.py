"""Errors of a request as the protocol has them: a code, one line that says what happened and what to do."""

from __future__ import annotations

from acp import RequestError
from pydantic import ValidationError

from sandbox.errors import Fault, UserError
from sandbox.secrets.child_environment import redact

MOST_PROBLEMS = 5
"""Problems of one request that are told."""

_CODES = {Fault.CREDENTIALS: -32000, Fault.USAGE: -32602}
"""Codes of the protocol by fault: authentication is required; the parameters are wrong. Others are internal errors."""


def convert_user_error(error: UserError) -> RequestError:
    """Return a user's mistake as an error of the protocol."""
    return make_request_error(error.fault, error.message, error.hint)


def make_request_error(fault: str, message: str, hint: str = "") -> RequestError:
    """Return an error of the protocol with a message, and the way to mend it."""
    code = next((code for each, code in _CODES.items() if each == fault), -32603)
    text = redact(f"{message.rstrip('.')}. {hint}".strip() if hint else message)
    return RequestError(code, text, {"fault": str(fault)})


def convert_validation_error(method: str, error: ValidationError) -> RequestError:
    """Return what is wrong with the parameters of a request, without the values that were sent."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    problems = [
        f"{'.'.join(map(str, each['loc']))[:100] or 'params'}: {each['msg'][:200]}"
        for each in found[:MOST_PROBLEMS]
    ]
    return RequestError(-32602, f"Invalid params of {method}: {'; '.join(problems)}", {"problems": problems})


def make_no_session_error(session_id: str) -> RequestError:
    """Return the error for a session that there is not, or that is not open."""
    name = session_id[:100]
    return RequestError(
        -32002, f"no session {name!r}: open it with session/new, session/load or session/resume"
    )
