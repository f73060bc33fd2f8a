"""`app` for tools that want one by name: `celery -A recallite_worker.entry flower`, `… inspect ping`."""

from __future__ import annotations

from recallite.config import load_settings
from recallite.errors import ConfigError
from recallite.work.connect import broker_url
from recallite.work.messages import BROKER_VARIABLE
from recallite.work.namespace import namespace_of
from recallite_worker.app import make_app

_broker = broker_url()
if _broker is None:
    raise ConfigError(None, [f"{BROKER_VARIABLE} is not set: redis://HOST:6379/0"])
app = make_app(_broker, namespace=namespace_of(load_settings().state_dir))
