"""Where summaries and the state of sessions are kept: one file a kind of store, one protocol."""

from turnfold.stores.memory import MemoryStore
from turnfold.stores.owner import Owner, this_process
from turnfold.stores.protocol import LEASE_SECONDS, Store
from turnfold.stores.redis import RedisStore
from turnfold.stores.sqlite import SQLiteStore

__all__ = ["LEASE_SECONDS", "MemoryStore", "Owner", "RedisStore", "SQLiteStore", "Store", "this_process"]
