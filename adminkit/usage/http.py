"""One request to a service of the site. Follows no redirect, uses no proxy, reads no more than it must."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from adminkit.errors import AdminkitError

#: Bytes of an answer: 60 000 GPUs with all their numbers.
MOST: Final = 1 << 28


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def post(base: str, path: str, form: Mapping[str, str], seconds: float) -> str:
    """The body of the answer, also of one that says what is wrong with the request. AdminkitError: the service is away,
    or did not answer in time.
    """
    data = urllib.parse.urlencode(form).encode("ascii")
    url = base.rstrip("/") + path
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    try:
        with opener.open(urllib.request.Request(url, data), timeout=seconds) as answer:
            return _body(answer, base)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 400 or error.code == 422:
                return _body(error, base)
            raise AdminkitError(f"{base} answered with {error.code}", "is [usage] prometheus right?") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        why = getattr(error, "reason", None) or error
        raise AdminkitError(f"couldn't ask {base}: {why}", "is [usage] prometheus right, and the service up?") from None


def _body(answer: Any, base: str) -> str:
    body: bytes = answer.read(MOST + 1)
    if len(body) > MOST:
        raise AdminkitError(f"{base} answered with more than {MOST >> 20} MiB")
    return body.decode("utf-8", "replace")
