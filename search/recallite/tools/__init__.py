"""The agent's two tools: their schemas, the functions behind them, and an MCP server that offers them."""

from recallite.tools.calls import MemoryTools
from recallite.tools.schemas import Format, tool_schemas

__all__ = ["Format", "MemoryTools", "tool_schemas"]
